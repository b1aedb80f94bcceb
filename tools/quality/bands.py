"""Whether the range around what was expected holds the share of normal rows that it states."""

import time
from dataclasses import replace

import numpy as np

from caps import CAPS
from caps.bench.datasets import LabelledSeries, load_series
from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.scoring import ModelConfig, ScoringConfig

SHARES = (0.99, 0.9)  # the default, and one from which a range may differ to either side
MODES = {"in hindsight": False, "live": True}
POINTS = 2.0  # that a share may be off


def bands(run: StudyRun) -> Report:
    """The share of normal rows inside, by dataset, for each stated share and mode."""
    measured = []
    for file in run.files:
        start, series = time.process_time(), load_series(file)
        measured.append(
            [_measure(series, share, causal) for share in SHARES for causal in MODES.values()]
        )
        inside = " ".join(f"{each[0]:.1f}" for each in measured[-1])
        run.say(f"{file.name}: {inside}; {time.process_time() - start:.0f} processor seconds")
    paragraph = f"Fitted on the training part of each of {len(run.files)} series."
    tables = [_table([file.dataset for file in run.files], np.array(measured))] if measured else []
    return Report("Bands", [paragraph], tables)


def _measure(series: LabelledSeries, share: float, causal: bool) -> list[float]:
    """% of normal rows inside, % of labelled rows outside, median half width, normal rows."""
    config = ModelConfig(scoring=replace(ScoringConfig(), band_share=share))
    train, test = series.values[: series.train], slice(series.train, None)
    band = CAPS(causal=causal, config=config).fit(train).analyze(series.values).band
    inside = (series.values >= band.lower) & (series.values <= band.upper)
    inside, labelled = inside[test].all(axis=1), series.labels[test] > 0
    width = np.nanmedian((band.upper - band.lower)[test]) / 2 / max(train.std(), 1e-12)
    odd = 100 * float(np.mean(~inside[labelled])) if labelled.any() else np.nan
    return [100 * float(np.mean(inside[~labelled])), odd, float(width), int((~labelled).sum())]


def _table(datasets: list[str], measured: np.ndarray) -> Table:
    """Of measures (series, share and mode, measure)."""
    inside, odd, width, rows = np.moveaxis(measured, 2, 0)
    stated = 100 * np.repeat(SHARES, len(MODES))
    within = (np.abs(inside - stated) <= POINTS).sum(axis=0)
    summed = {
        "**mean of all series**": inside.mean(axis=0),
        "all rows together": (inside * rows).sum(axis=0) / rows.sum(axis=0),
        "lowest of a series": inside.min(axis=0),
        "highest of a series": inside.max(axis=0),
    }
    lines: list[list[Entry]] = [
        [
            name,
            str(datasets.count(name)),
            *_figures(inside[np.array(datasets) == name].mean(axis=0)),
        ]
        for name in sorted(set(datasets))
    ]
    lines += [[name, str(len(datasets)), *_figures(each)] for name, each in summed.items()]
    lines += [
        ["series within two points", str(len(datasets)), *map(str, within)],
        ["labelled rows outside, mean", str(len(datasets)), *_figures(np.nanmean(odd, axis=0))],
        ["half the width in std of training, median", "", *_figures(np.median(width, axis=0), 2)],
    ]
    columns = [f"{share:.0%} stated, {mode}" for share in SHARES for mode in MODES]
    return Table(
        "bands",
        "Normal rows inside of the range",
        ["% of the rows", "series", *columns],
        lines,
        [
            "Normal are the rows of the test parts without a label; a row without a range counts "
            "as outside."
        ],
    )


def _figures(values: np.ndarray, digits: int = 1) -> list[Entry]:
    return [figure(float(value), digits) for value in values]
