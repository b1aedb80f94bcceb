"""A picture of an analysis: channels, score and events. Needs matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from caps.errors import InputError
from caps.events import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MARK, SHADE, PAST = "#2457a6", "#c0392b", "#f3d9a4", "#2e8b62"
MOST_CHANNELS = 12  # panels beyond this many would be too small to read
MOST_PAST = 40  # events, the strongest, with the nearest stretch of training beside them
MOST_POINTS = 4000  # of a line: twice what a screen is wide


def draw(analysis: Analysis) -> "Figure":
    """One panel for each channel, one for the score with its threshold; events are shaded.

    A thin line beside an event is the stretch of training that comes nearest to it.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "plot needs matplotlib", "install it with pip install 'caps-tsad[plots]'"
        ) from None
    names = analysis.fitted.names[:MOST_CHANNELS]
    figure = Figure(figsize=(11, 1.3 * (len(names) + 1) + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(names) + 1, 1, sharex=True, squeeze=False)[:, 0]
    for place, name in enumerate(names):
        _line(panels[place], analysis, analysis.series.values[:, place], INK, name)
    _past(dict(zip(names, panels, strict=False)), analysis)
    _line(panels[-1], analysis, analysis.score, MARK, "score")
    panels[-1].axhline(analysis.threshold, color="0.3", lw=0.8, ls="--")
    panels[-1].set_ylim(0, 1.02)
    figure.align_ylabels()
    return figure


def _line(panel: "Axes", analysis: Analysis, values: Any, colour: str, title: str) -> None:
    across = _across(analysis)
    shown = _extremes(values, MOST_POINTS)
    panel.plot(across[shown], values[shown], color=colour, lw=0.7)
    for event in analysis.events:
        panel.axvspan(across[event.start], across[event.end - 1], color=SHADE, lw=1, zorder=0)
    panel.set_ylabel(title, rotation=0, ha="right", va="center")
    panel.margins(x=0)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)


def _past(panels: "dict[str, Axes]", analysis: Analysis) -> None:
    across = _across(analysis)
    strongest = sorted(range(len(analysis.spans)), key=lambda at: -analysis.spans[at].score)
    for at in strongest[:MOST_PAST]:
        nearest = analysis.nearest(at + 1)
        if nearest is not None and nearest.channel in panels:
            panel = panels[nearest.channel]
            panel.plot(across[nearest.rows], nearest.values, color=PAST, lw=0.6, label="nearest")


def _across(analysis: Analysis) -> Any:
    time = analysis.series.time
    return np.arange(len(analysis.series)) if time is None else time


def _extremes(values: Any, most: int) -> Any:
    """Rows to draw: the lowest and the highest of every bin, so that no spike is lost."""
    if len(values) <= most:
        return np.arange(len(values))
    rows = []
    for part in np.array_split(np.arange(len(values)), most // 2):
        known = part[np.isfinite(values[part])]
        if len(known) == 0:
            rows.append(part[0])
            continue
        low, high = known[np.argmin(values[known])], known[np.argmax(values[known])]
        rows += sorted({int(low), int(high)})
    return np.array(rows)
