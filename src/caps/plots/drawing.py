"""A picture of an analysis: channels, score and events."""

from typing import TYPE_CHECKING, Any

import numpy as np

from caps.plots.style import LIGHT, blank_figure, name_left, tidy
from caps.plots.timeline import Timeline, thin_line, thin_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from caps.events import Analysis

MOST_CHANNELS = 12  # panels beyond this many would be too small to read
MOST_PAST = 40  # events, the strongest, with the nearest subsequence of training beside them
MOST_POINTS = 4000  # of a line: twice what a screen is wide


def draw(analysis: "Analysis") -> "Figure":
    """One panel for each channel, one for the score with its threshold; events are shaded.

    Under each channel lies the range that counts as normal. A thin line beside an event is the
    subsequence of training that comes nearest to it.
    """
    figure, panels = draw_lines(analysis)
    across = _across(Timeline.of(analysis.series))
    look: Any = {"fc": LIGHT["--band"], "ec": LIGHT["--band-edge"], "lw": 0.8, "zorder": 0}
    for panel in panels:
        for event in analysis.events:
            panel.axvspan(across[event.start], across[event.end - 1], **look)
    by_channel = dict(zip(analysis.fitted.names, panels[:-1], strict=False))
    strongest = sorted(range(len(analysis.spans)), key=lambda at: -analysis.spans[at].score)
    for at in strongest[:MOST_PAST]:
        nearest = analysis.nearest(at + 1)
        if nearest is not None and nearest.channel in by_channel:
            by_channel[nearest.channel].plot(
                across[nearest.rows], nearest.values, color=LIGHT["--past"], lw=0.8
            )
    return figure


def draw_lines(analysis: "Analysis") -> "tuple[Figure, list[Axes]]":
    """A panel with the line of each channel, and one of the score with its threshold."""
    names = analysis.fitted.names[:MOST_CHANNELS]
    figure = blank_figure(11, 1.3 * (len(names) + 1) + 0.7)
    panels = list(figure.subplots(len(names) + 1, 1, sharex=True, squeeze=False)[:, 0])
    timeline = Timeline.of(analysis.series)
    band = analysis.band
    for column, (panel, name) in enumerate(zip(panels, names, strict=False)):
        edges = thin_range(band.lower[:, column], band.upper[:, column], MOST_POINTS // 2, timeline)
        across = _across(timeline)[edges.rows]
        panel.fill_between(across, edges.lower, edges.upper, color=LIGHT["--range"], lw=0)
        _line(panel, name, analysis.series.values[:, column], timeline, LIGHT["--series"])
    _line(panels[-1], "score", analysis.score, timeline, LIGHT["--score"])
    panels[-1].axhline(analysis.threshold, color=LIGHT["--event"], lw=0.9, ls="--")
    panels[-1].set_ylim(0, 1.02)
    figure.align_ylabels()
    return figure, panels


def _line(panel: "Axes", name: str, values: Any, timeline: Timeline, ink: str) -> None:
    line = thin_line(values, MOST_POINTS, timeline)
    across = _across(timeline)[line.rows]
    panel.plot(across, line.values, color=ink, lw=0.8)
    panel.plot(across[line.lonely], line.values[line.lonely], ".", color=ink, ms=2)
    panel.margins(x=0)
    name_left(panel, name)
    tidy(panel)


def _across(timeline: Timeline) -> Any:
    return np.arange(timeline.rows) if timeline.time is None else timeline.time
