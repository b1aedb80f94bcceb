"""How a cell is computed: read the series, fit, score, evaluate."""

import resource
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caps.arrays import FloatArray
from caps.bench.alarms import UCR, operator_figures
from caps.bench.cells import Cell, Record, done_record, failed_record
from caps.bench.datasets import LabelledSeries, SeriesFile, labelled_spans, load_series
from caps.errors import InputError
from caps.metrics import Protocol, acf_window, evaluate, floors, ucr_top_1

if TYPE_CHECKING:
    from caps.baselines import Method
    from caps.bench.settings import MakeMethod

Span = tuple[int, int]

KNOWN_SHARE = 0.1  # of the anomalous windows of the test part, for Diagnosis (appendix C)
KNOWN_WINDOW = 256  # the paper's windows, here side by side
# Figures of which TSB-AD has its own: by its thresholds, and with the VUS window of its newer code.
AS_TSB_AD = {
    "standard_f1": "standard_f1_tsb_ad",
    "affiliation_f": "affiliation_f_tsb_ad",
    "vus_pr": "vus_pr_2026",
    "vus_roc": "vus_roc_2026",
    "window": "window_2026",
}
_MEGABYTE = 1024.0 if sys.platform != "darwin" else 1024.0**2  # Linux counts in kB, macOS in bytes
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@dataclass(slots=True)
class Clock:
    """Wall-clock seconds of each step of a cell."""

    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def stop(self, step: str) -> None:
        """The time since the last stop was for this step."""
        now = time.perf_counter()
        self.seconds[step] = now - self.last
        self.last = now


class PeakMemory:
    """Counts from its making on, where the system can (Linux); else since the process began."""

    def __init__(self) -> None:
        self._children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        with suppress(OSError):
            _CLEAR.write_text("5")  # resets the high-water mark

    def peak(self) -> float:
        """Megabytes of this process, or of a program it ran if that took more."""
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE
        with suppress(OSError, IndexError):
            own = float(_STATUS.read_text().split("VmHWM:")[1].split()[0]) / _MEGABYTE
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        programs = children / _MEGABYTE if children > self._children else 0.0
        return round(max(own, programs), 1)


def run_cell(
    cell: Cell, file: SeriesFile, make: "MakeMethod", *, operator: bool = False
) -> tuple[Record, FloatArray | None]:
    """The record of a cell and, if nothing failed, the scores of the whole series.

    With `operator` the method is fitted once more, for its figures at an alarm budget.
    """
    clock, memory, cpu = Clock(), PeakMemory(), time.process_time()
    facts: Record = {}
    try:
        series = load_series(file)
        facts = _facts_of(series)
        clock.stop("load")
        method = make(cell.method, cell.seed)
        fit(method, series, cell.seed)
        clock.stop("fit")
        scores = checked_scores(method.score(series.values), len(series.values))
        clock.stop("score")
        for part, first in (("test", series.train), ("whole", 0)):
            facts[part] = _metrics(cell.method, scores, series, first)
        if cell.dataset == UCR and "undefined" not in facts["test"]:
            facts["test"]["top_1"] = ucr_top_1(
                scores[series.train :], series.labels[series.train :]
            )
        clock.stop("evaluate")
        # What a method costs is without the second fit for its alarms.
        facts |= {"cpu_seconds": time.process_time() - cpu, "peak_memory_mb": memory.peak()}
        if operator:
            facts["operator"] = operator_figures(
                cell.dataset,
                method,
                series,
                scores,
                fresh=lambda: make(cell.method, cell.seed),
                fit=partial(fit_and_score, seed=cell.seed),
            )
            clock.stop("operator")
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        clock.stop("failed")
        facts["seconds"] = clock.seconds
        return failed_record(cell, "error", problem, traceback.format_exc(), facts), None
    return done_record(cell, {**facts, "seconds": clock.seconds}), scores


def fit(method: "Method", series: LabelledSeries, seed: int) -> None:
    """Fit with the labels that the paper's setting gives this method: mostly none."""
    train = series.values[: series.train]
    if hasattr(method, "fit_known"):
        method.fit_known(series.values, series.train, known_spans(series, seed))
    elif hasattr(method, "fit_labelled"):
        method.fit_labelled(train, series.labels[: series.train].astype(np.bool_))
    else:
        method.fit(train)


def fit_and_score(method: "Method", series: LabelledSeries, seed: int) -> FloatArray:
    """One score for every row of the series, from a method that learns its training part."""
    fit(method, series, seed)
    return checked_scores(method.score(series.values), len(series.values))


def known_spans(series: LabelledSeries, seed: int) -> list[Span]:
    """The anomalous rows of a tenth of the anomalous windows of the test part, at least of one."""
    starts = range(series.train, len(series.labels), KNOWN_WINDOW)
    anomalous = [start for start in starts if series.labels[start : start + KNOWN_WINDOW].any()]
    if not anomalous:
        raise InputError(
            "the test part has no anomaly that could be known",
            "leave this series out for Diagnosis",
        )
    count = max(1, round(KNOWN_SHARE * len(anomalous)))
    drawn = np.random.default_rng(seed).choice(anomalous, size=count, replace=False)
    windows = [(start, start + KNOWN_WINDOW) for start in sorted(drawn.tolist())]
    return [span for window in windows for span in labelled_spans(series.labels, *window)]


def checked_scores(scores: object, rows: int) -> FloatArray:
    """The scores of a method, or an error that says what it gave instead."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"scores that are no numbers: {str(scores)[:200]!r}") from None
    if values.shape != (rows,):
        raise ValueError(f"scores of shape {values.shape} for {rows} rows")
    if not np.isfinite(values).all():
        raise ValueError(f"{int((~np.isfinite(values)).sum())} of {rows} scores are not finite")
    return values


def _facts_of(series: LabelledSeries) -> Record:
    return {
        "rows": len(series.values),
        "train_rows": series.train,
        "channels": series.channels,
        "filled_values": series.filled,
        "sha256": series.sha256,
    }


def _metrics(method: str, scores: FloatArray, series: LabelledSeries, first: int) -> Record:
    """Metrics of the rows from `first` on, with the window of their own period."""
    values, labels = series.values[first:], series.labels[first:]
    if not labels.any():
        return {"undefined": "no anomaly in this part"}
    window = acf_window(values)
    if len(values) <= window:
        return {"undefined": f"{len(values)} rows are too few for a VUS window of {window}"}

    def judged(protocol: Protocol, window: int) -> Record:
        if method == "ones":
            # Thresholds cannot tell all-ones from constant scores; the floor predicts every row.
            return floors(labels, protocol=protocol, window=window, draws=1).all_ones.as_dict()
        return evaluate(scores[first:], labels, protocol=protocol, window=window).as_dict()

    # The window of the newer rule is never longer than that of 1.5, so the rows suffice for both.
    theirs = judged("tsb-ad", acf_window(values, rule="2026"))
    ours = judged("caps", window)
    return {**ours, **{key: theirs[name] for name, key in AS_TSB_AD.items()}}
