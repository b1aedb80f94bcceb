"""What two methods say of a series where one beats the other.

Scores are shown by their rank among all rows, so that methods can be compared; labels are shaded.
"""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata

from caps.bench.datasets import LabelledSeries, SeriesFile, labelled_spans, load_series
from caps.bench.methods import make_method
from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.metrics import acf_window, evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 1_500  # rows, around the first labelled ones
# Start of the series' name, and the methods that differ on it.
RIVALS = {
    "284_NEK_id_8": ("caps-memory", "sub-pca"),
    "226_MGAB_id_2": ("caps-memory", "sub-lof"),
}


def rivals(run: StudyRun) -> Report:
    """A picture for each series that is among the data."""
    figures, rows = {}, []
    for file in run.needed() if not run.quick else run.files:
        for start, methods in RIVALS.items():
            if file.name.startswith(start) and not (run.quick and rows):
                run.say(file.name)
                picture, graded = _draw(file, methods)
                figures[f"{start}: value, and scores by rank."] = picture
                rows += graded
    header = ["series", "method", "VUS-PR, test part", "window"]
    return Report(
        "Rivals",
        ["Fitted on the training part, graded on the test part. Pictures, not evidence."],
        [Table("rivals", "Where methods differ", header, rows)],
        figures=figures,
    )


def _draw(file: SeriesFile, methods: tuple[str, ...]) -> tuple[Figure, list[list[Entry]]]:
    series = load_series(file)
    values, labels = series.values, series.labels
    shown = _shown(series)
    picture = Figure(figsize=(9, 1.7 * (len(methods) + 1)), layout="constrained")
    axes: list[Axes] = list(picture.subplots(len(methods) + 1, 1, sharex=True))
    axes[0].plot(np.arange(shown.start, shown.stop), values[shown, 0], lw=0.8, color="#333")
    axes[0].set_ylabel("value")
    window = acf_window(values[series.train :])
    rows: list[list[Entry]] = []
    for axis, method in zip(axes[1:], methods, strict=True):
        score = make_method(method, 0).fit(values[: series.train]).score(values)
        test = slice(series.train, None)
        graded = 100 * evaluate(score[test], labels[test], window=window).vus_pr
        axis.plot(np.arange(shown.start, shown.stop), rankdata(score)[shown] / len(score), lw=0.8)
        axis.set_ylabel(f"{method}\nVUS-PR {graded:.0f}")
        axis.set_ylim(0, 1.03)
        rows.append([file.name, method, figure(graded, digits=1), str(window)])
    for axis in axes:
        for start, end in labelled_spans(labels):
            if end > shown.start and start < shown.stop:
                axis.axvspan(start, end, color="#d62728", alpha=0.2, lw=0)
        axis.set_xlim(shown.start, shown.stop)
    axes[-1].set_xlabel(f"row of {file.name.removesuffix('.csv')}")
    return picture, rows


def _shown(series: LabelledSeries) -> slice:
    """Rows around the first anomaly of the test part."""
    first = labelled_spans(series.labels, series.train)[0][0]
    start = max(0, min(first - SHOWN // 2, len(series.values) - SHOWN))
    return slice(start, min(start + SHOWN, len(series.values)))
