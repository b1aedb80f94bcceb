"""Variants side by side on the same series: means, paired differences, the paper's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from caps.bench.bootstrap import COVERAGE, interval, over_series
from caps.bench.cells import read_cell
from caps.bench.datasets import SeriesFile
from caps.bench.published import paper_studies
from caps.bench.rendering import Entry, Number, Table, figure
from caps.bench.runner import planned, run as run_cells
from caps.bench.studies.drawing import draw_differences
from caps.bench.studies.study import StudyRun
from caps.bench.summary import METRICS, cell_frame, overall, summarize
from caps.bench.tables import ORACLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLEAR = 2.0  # standard errors beyond which a difference is taken as real
PROTOCOL = (
    "Scored: the test part of each series; in percent, mean over series, then over datasets. "
    "Affiliation-F, F1_T and Standard-F1 are oracle values, with the best threshold in hindsight; "
    "VUS-PR needs none. Difference: of VUS-PR to the row compared with, mean over series (each the "
    f"mean of its seeds) ± its standard error [{COVERAGE} % bootstrap interval]. All rows of CAPS "
    "use the small detector of `caps-small` unless it is said, not the paper's network, without "
    "memory and levels.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A variant in a table."""

    label: str  # as the paper names it, where it does
    method: str
    against: str | None = None  # label of the row it is compared with
    paper: str | None = None  # its name among the paper's figures; None = its label


@dataclass(frozen=True)
class Comparison:
    """Finished cells of some rows."""

    study: str
    rows: Sequence[Row]
    frame: pd.DataFrame
    dataset: str | None = None  # whose figures of the paper are shown; None = mean over all

    def only(self, dataset: str) -> "Comparison":
        """The same rows on one dataset."""
        cells = self.frame[self.frame["dataset"] == dataset]
        return Comparison(self.study, self.rows, cells, dataset)

    def table(self, title: str) -> Table:
        """Means of every row, the difference to the row it is compared with, the paper's means."""
        means = overall(summarize(self.frame, "test"))
        header = ["Variant"]
        header += [f"{name} (oracle)" if key in ORACLE else name for key, name in METRICS.items()]
        header += ["Difference", "Series", "Paper: " + " / ".join(METRICS.values())]
        rows: list[list[Entry]] = []
        for row in self.rows:
            own = means.reindex([row.method])[list(METRICS)].to_numpy(np.float64)[0]
            theirs = self.paper(row)
            rows.append(
                [
                    row.label,
                    *(figure(float(value)) for value in own),
                    self._difference_figure(row),
                    str(len(self.per_series(row.method, "vus_pr"))),
                    "" if theirs is None else " / ".join(f"{value:.2f}" for value in theirs),
                ]
            )
        name = self.study if self.dataset is None else f"{self.study}_{self.dataset}"
        return Table(name, title, header, rows, self._notes())

    def verdict(self) -> list[str]:
        """Every row with a figure of the paper: does ours point the same way?"""
        pairs = [(row, other) for row in self.rows if (other := self._row(row.against))]
        figures = [(row, other, self.paper(row), self.paper(other)) for row, other in pairs]
        lines = [
            self._judged(row, other, theirs - reference)
            for row, other, theirs, reference in figures
            if theirs is not None and reference is not None
        ]
        return lines or ["The paper gives no figures to compare with."]

    def per_series(self, method: str, metric: str) -> "pd.Series[float]":
        """The metric in percent of every series with a defined result, mean over seeds."""
        done = self.frame[(self.frame["status"] == "done") & (self.frame["method"] == method)]
        values: pd.Series[float] = 100 * done.groupby("series")[f"test_{metric}"].mean()
        return values.dropna()

    def curve(self, rows: Sequence[Row]) -> list[float]:
        """The mean VUS-PR over series of each of these rows."""
        return [float(self.per_series(row.method, "vus_pr").mean()) for row in rows]

    def paper_curve(self, rows: Sequence[Row]) -> list[float]:
        """The paper's VUS-PR of these rows, where it has one."""
        theirs = [self.paper(row) for row in rows]
        index = list(METRICS).index("vus_pr")
        return [float(values[index]) for values in theirs if values is not None]

    def difference(self, row: Row, metric: str) -> tuple[float, float]:
        """Mean over series of the difference to the row compared with, and its standard error."""
        gaps = self.gaps(row, metric)
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(max(len(gaps), 1)))

    def _difference_figure(self, row: Row) -> Number:
        """The difference in VUS-PR, its standard error and its bootstrap interval over series."""
        gaps = self.gaps(row, "vus_pr")
        difference, error = self.difference(row, "vus_pr")
        if len(gaps) < 2:
            return figure(difference, deviation=error)
        drawn = over_series(np.asarray(gaps, dtype=np.float64), gaps.index.to_series())[1:]
        return figure(difference, deviation=error, interval=interval(drawn))

    def gaps(self, row: Row, metric: str) -> "pd.Series[float]":
        """The differences series by series."""
        other = self._row(row.against)
        if other is None:
            return pd.Series(dtype=float)
        own, reference = (self.per_series(each.method, metric) for each in (row, other))
        return (own - reference).dropna()

    def picture(self) -> "Figure":
        """The differences in VUS-PR of every series."""
        compared = [row for row in self.rows if row.against is not None]
        names = [f"{row.label}\nminus {row.against}" for row in compared]
        return draw_differences(names, [self.gaps(row, "vus_pr").to_numpy() for row in compared])

    def paper(self, row: Row) -> "np.ndarray | None":
        """The paper's figures of a row in the order of METRICS."""
        figures = paper_studies()
        key = (self.study, row.paper or row.label, self.dataset or "mean")
        if key not in figures.index:
            return None
        return figures.loc[key, list(METRICS)].to_numpy(np.float64)

    def _row(self, label: str | None) -> Row | None:
        return next((row for row in self.rows if row.label == label), None)

    def _judged(self, row: Row, other: Row, theirs: np.ndarray) -> str:
        parts: list[str] = []
        sure: list[str] = []  # metrics that differ beyond noise, and those against the paper
        against: list[str] = []
        for (metric, name), expected in zip(METRICS.items(), theirs, strict=True):
            mean, error = self.difference(row, metric)
            if not np.isfinite(mean):
                continue
            around = f" ± {error:.1f}" if np.isfinite(error) else " on one series"
            parts.append(f"{name} {mean:+.1f}{around} (paper {expected:+.1f})")
            if np.isfinite(error) and abs(mean) > CLEAR * error:
                sure.append(name)
            if mean * expected < 0:
                against.append(name)
        if not parts:
            return f"{row.label}: nothing could be scored."
        clear = ", ".join(name for name in against if name in sure)
        weak = ", ".join(name for name in against if name not in sure)
        if clear:
            says = f"**contradicts the paper** in {clear}"
            says += f"; points the other way, not beyond noise, in {weak}" if weak else ""
        elif weak:
            says = f"points the other way than the paper in {weak}, not beyond noise"
        else:
            count = f"{len(sure)} of {len(parts)}" if sure else "none"
            says = f"points the paper's way in every metric, beyond noise in {count}"
        return f"{row.label} against {other.label} {says}: {'; '.join(parts)}."

    def _notes(self) -> list[str]:
        failed = self.frame[self.frame["status"] != "done"]
        notes = []
        if len(failed):
            notes.append(
                f"{len(failed)} of {len(self.frame)} cells failed and count in no mean, first: "
                f"{failed.iloc[0]['method']}: {str(failed.iloc[0]['error'])[:160]}"
            )
        done = self.frame[self.frame["status"] == "done"]
        undefined = done.loc[done["test_undefined"].notna(), "series"].nunique()
        if undefined:
            notes.append(f"Left out: {undefined} series without an anomaly in the test part.")
        return notes


def compare(
    study: str, run: StudyRun, rows: Sequence[Row], series: Sequence[SeriesFile]
) -> Comparison:
    """Compute the cells that are missing, then read those of these rows and series."""
    methods = list(dict.fromkeys(row.method for row in rows))
    run.say(f"{study}: {len(methods)} variants on {len(series)} series")
    run_cells(
        series,
        methods,
        run.out,
        seeds=run.seeds,
        jobs=run.jobs,
        make=run.make,
        progress=run.progress,
    )
    tasks = planned(series, methods, run.seeds, run.make)
    records = [read_cell(task.cell.path(run.out)) for task in tasks]
    return Comparison(study, rows, cell_frame([each for each in records if each is not None]))
