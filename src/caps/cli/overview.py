"""The picture of `caps demo`: metrics, incidents, score and events over the month."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caps.artifacts import replacing
from caps.series import Series
from caps.simulate.telemetry import Incident

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caps.cli.results import Run

INK, MARK, SHADE = "#2457a6", "#c0392b", "#f3d9a4"


def draw_overview(run: "Run", incidents: tuple[Incident, ...], path: Path) -> bool:
    """Draw to a PNG file; False where matplotlib is not installed."""
    try:  # it may not be installed, and takes a second
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.dates import DateFormatter
        from matplotlib.figure import Figure
    except ImportError:
        return False
    analysis, series = run.analysis, run.analysis.series
    time, day_and_month = _times(series), DateFormatter("%d %b")  # type: ignore[no-untyped-call]
    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(series.channels) + 1, 1, sharex=True)
    for panel in panels:
        panel.axvspan(time[0], time[run.train_rows], color="0.95", zorder=-1)
    for place, name in enumerate(series.channels):
        panels[place].plot(time, series.values[:, place], color=INK, lw=0.7)
        _dress(panels[place], name, [each for each in incidents if name in each.metrics])
    score = panels[-1]
    score.plot(time, analysis.score, color=MARK, lw=0.7)
    score.axhline(analysis.threshold, color="0.3", lw=0.8, ls="--")
    score.set_ylim(0, 1.15)
    for event in analysis.events:
        ends = [time[event.start], time[event.end - 1]]
        score.plot(ends, [1.08, 1.08], color=MARK, lw=5, solid_capstyle="round")
    score.xaxis.set_major_formatter(day_and_month)
    _dress(score, "CAPS score\nand events", incidents)
    _name_above(panels[0], time[: run.train_rows], incidents)
    figure.align_ylabels()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return True


def _times(series: Series) -> np.ndarray:
    assert series.time is not None  # the demo writes them itself
    return series.time


def _dress(panel: "Axes", title: str, incidents: Iterable[Incident]) -> None:
    for incident in incidents:
        panel.axvspan(incident.start, incident.end, color=SHADE, lw=0, zorder=0)  # type: ignore[arg-type]
    panel.set_ylabel(title, rotation=0, ha="right", va="center")
    panel.margins(x=0)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def _name_above(panel: "Axes", train: np.ndarray, incidents: tuple[Incident, ...]) -> None:
    """Write the training part and the incidents over the top panel."""
    spans = [
        (incident.name.replace(" ", "\n", 1), incident.start, incident.end)
        for incident in incidents
    ]
    for name, start, end in [("training part, no incidents", train[0], train[-1]), *spans]:
        panel.annotate(
            name,
            (start + (end - start) / 2, 1.04),
            xycoords=panel.get_xaxis_transform(),
            ha="center",
            fontsize=8,
            annotation_clip=False,
        )
