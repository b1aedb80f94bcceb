"""The charts as plain data for plotly: positions and values in arrays, colours by role."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.plots import DARK, LIGHT, Timeline, painted, thin_line, thin_range
from caps.report.content import Channel, EventCard, Panel, Report

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from caps.scoring import Band

Chart = dict[str, Any]

# The size of the page: all lines of the overview share a number of points, and none has fewer than
# a chart of this width can show.
OVERVIEW_POINTS = 30_000
MOST_POINTS, FEWEST_POINTS = 12_000, 2_000
PANEL_POINTS = 600
SILENCED = {
    "name": "silenced",
    "fillcolor": "--quiet",
    "line": {"color": "--quiet-edge", "width": 1},
}
MOST_CHANNELS = 12  # of the overview: those that carry the events
PANEL_CHANNELS = 3
MOST_LABELS = 40  # numbers above event bands; of those that would overlap, the page leaves some out
MOST_BANDS = 400

# Pixels; a few channels share a height that many would need anyway.
CHANNELS_HEIGHT, CHANNEL_HEIGHT, SCORE_HEIGHT, PANEL_HEIGHT, BETWEEN = 240, 84, 104, 132, 26
TOP, LABELS, BOTTOM = 24, 20, 34  # the overview has labels above its lines
MEASURED: Chart = {"color": "--series", "width": 1.3}
COUNTERPART: Chart = {"color": "--normal", "width": 2.2, "dash": "dot"}
EXPECTED: Chart = {"color": "--expected", "width": 1}
PAST: Chart = {"color": "--past", "width": 1.1}
SCORE: Chart = {"color": "--score", "width": 1.3}
DAY = 86_400_000
TICKS: list[Chart] = [  # the second line is written where it changes
    {"dtickrange": [None, 1000], "value": "%H:%M:%S.%L\n%b %-d"},
    {"dtickrange": [1000, 60_000], "value": "%H:%M:%S\n%b %-d"},
    {"dtickrange": [60_000, DAY - 1], "value": "%H:%M\n%b %-d"},
    {"dtickrange": [DAY, "M1"], "value": "%b %-d\n%Y"},
]
STYLE: Chart = {
    "paper_bgcolor": "--card",
    "plot_bgcolor": "--card",
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": "--soft"},
    "showlegend": False,
    "dragmode": "zoom",
    "hovermode": "x unified",
    "hoversubplots": "axis",
    "hoverlabel": {
        "bgcolor": "--hover",
        "bordercolor": "--line",
        "font": {"color": "--ink"},
        "namelength": -1,
    },
}
TIME_AXIS: Chart = {
    "gridcolor": "--grid",
    "zeroline": False,
    "tickangle": 0,
    "ticklabelstandoff": 5,  # clear of the lowest value beside the first one
    "automargin": True,
    "showspikes": True,
    "spikemode": "across",
    "spikethickness": 1,
    "spikedash": "solid",
    "spikecolor": "--soft",
}


def shown_channels(report: Report) -> list[Channel]:
    """The channels of the overview, in the order given."""
    weight: Counter[str] = Counter()
    for event in report.events:
        weight.update(event.contributions)  # shares add up, too
    chosen = sorted(report.channels, key=lambda channel: -weight[channel.name])[:MOST_CHANNELS]
    return [channel for channel in report.channels if channel in chosen]


def overview_chart(report: Report, timeline: Timeline) -> Chart:
    """Every channel above the score, on one axis of time, with the events as bands."""
    channels = shown_channels(report)
    last = len(channels)
    points = min(MOST_POINTS, max(FEWEST_POINTS, OVERVIEW_POINTS // (last + 1)))
    height = max(CHANNEL_HEIGHT, CHANNELS_HEIGHT // last)
    data: list[Chart] = []
    for index, channel in enumerate(channels):
        if channel.band is not None:
            # Half as many points: nobody looks for a spike of what was expected.
            data += _range(channel.name, channel.band, index, points // 2, timeline)
        data += _line(channel.name, channel.values, index, points, timeline)
    score = _line("score", report.scores, last, points, timeline, line=SCORE)
    score[-1] |= {"fill": "tozeroy", "fillcolor": "--score-fill"}
    panels = [(channel.name, height) for channel in channels] + [("score", SCORE_HEIGHT)]
    layout = _layout(panels, timeline, timeline.extent(0, len(report)))
    layout[f"yaxis{last + 1}"] |= {
        "range": [0, 1.04],
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0", "0.5", "1"],
        "hoverformat": ".3f",
    }
    layout["height"] += LABELS
    layout["margin"]["t"] += LABELS
    layout["xaxis"]["title"] = {"text": _escaped(timeline.label), "standoff": 4}
    shapes, labels = _marks(report, timeline, last)
    layout["shapes"] += shapes
    layout["annotations"] += labels
    return {"data": [*data, *score], "layout": layout}


def overview_figure(report: Report, *, dark: bool = False) -> "Figure":
    """The chart at the top of the report as a plotly figure, for notebooks.

    >>> values = np.array([1.0, 2.0, 9.0, 2.0])
    >>> figure = overview_figure(Report("pump 4", (Channel("flow", values),), values / 10, 0.5))
    >>> [trace.name for trace in figure.data]
    ['flow', 'score']
    """
    from plotly.graph_objects import Figure  # a tenth of a second that the page does not pay

    def date(position: float) -> str:
        return str(_dates(np.array(position)))

    timeline = report.timeline
    chart = painted(overview_chart(report, timeline), DARK if dark else LIGHT)
    if timeline.dated:
        layout = chart["layout"]
        layout["xaxis"]["range"] = [date(edge) for edge in layout["xaxis"]["range"]]
        for trace in chart["data"]:
            trace["x"] = _dates(trace["x"])
        for part in [*layout["shapes"], *layout["annotations"]]:
            if part.get("xref") != "paper":
                part |= {name: date(part[name]) for name in ("x", "x0", "x1") if name in part}
    return Figure(chart)


def _dates(positions: np.ndarray) -> np.ndarray:
    return (positions * 1000).round().astype("datetime64[us]")


def panel_chart(event: EventCard, panel: Panel, timeline: Timeline) -> Chart:
    """An event in its context: counterpart and nearest past lie under what was measured."""
    ranked = sorted(panel.channels, key=lambda name: -event.contributions.get(name, 0.0))
    names = [name for name in panel.channels if name in ranked[:PANEL_CHANNELS]]
    data: list[Chart] = []
    for index, name in enumerate(names):
        column = panel.channels.index(name)
        for title, values, line in (
            (f"{name}, normal", panel.counterpart, COUNTERPART),
            (f"{name}, nearest past", panel.nearest, PAST),
            (name, panel.values, MEASURED),
        ):
            if values is not None and (line != PAST or np.isfinite(values[:, column]).any()):
                own = values[:, column]
                data += _line(title, own, index, PANEL_POINTS, timeline, panel.start, line)
    panels = [(name, PANEL_HEIGHT) for name in names]
    layout = _layout(panels, timeline, timeline.extent(panel.start, panel.end))
    layout["shapes"].append(band(timeline.extent(event.start, event.end)))
    return {"data": data, "layout": layout}


def band(extent: tuple[float, float]) -> Chart:
    """A span of time over the whole height; its edge keeps one-row events visible."""
    return {
        "type": "rect",
        "name": "event",
        "x0": extent[0],
        "x1": extent[1],
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "fillcolor": "--band",
        "line": {"color": "--band-edge", "width": 1},
    }


def _layout(
    panels: Sequence[tuple[str, int]], timeline: Timeline, extent: tuple[float, float]
) -> Chart:
    """Everything but the lines: panels by name and height, above each other on one time axis."""
    total = sum(height for _, height in panels) + BETWEEN * (len(panels) - 1)
    axes, names, top = {}, [], total
    for index, (name, height) in enumerate(panels):
        axes[f"yaxis{_suffix(index)}"] = {
            "domain": [(top - height) / total, top / total],
            "fixedrange": True,
            "gridcolor": "--grid",
            "zeroline": False,
            "nticks": 4,
            "automargin": True,
            "hoverformat": ".5~g",
        }
        names.append(  # above its lines rather than sideways
            {
                "text": f"<b>{_escaped(name)}</b>",
                "xref": "paper",
                "x": 0,
                "xanchor": "left",
                "yref": "paper",
                "y": top / total,
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"color": "--soft", "size": 12},
            }
        )
        top -= height + BETWEEN
    kind = {"type": "date", "tickformatstops": TICKS} if timeline.dated else {"type": "linear"}
    anchor = f"y{_suffix(len(panels) - 1)}"
    return {
        **STYLE,
        "height": total + TOP + BOTTOM,
        "margin": {"l": 52, "r": 12, "t": TOP, "b": BOTTOM},
        "xaxis": {
            **TIME_AXIS,
            **kind,
            "hoverformat": timeline.hover,
            "anchor": anchor,
            "range": list(extent),
        },
        **axes,
        "shapes": [],
        "annotations": names,
    }


def _line(
    name: str,
    values: FloatArray,
    index: int,
    points: int,
    timeline: Timeline,
    start: int = 0,
    line: Chart = MEASURED,
) -> list[Chart]:
    """A line, and under it dots for its points without a neighbour."""
    thin = thin_line(values, points, timeline, start)
    x, y, lonely = timeline.positions(thin.rows), thin.values, thin.lonely
    trace = {"type": "scatter", "xaxis": "x", "yaxis": f"y{_suffix(index)}", "name": _escaped(name)}
    # The value alone: points of thinned lines lie beside each other by less than can be seen.
    value = {"hovertemplate": "%{y}"}
    lines = {**trace, **value, "mode": "lines", "x": x, "y": _compact(y), "line": line}
    if not lonely.any():
        return [lines]
    dots = {
        **trace,
        "mode": "markers",
        "hoverinfo": "skip",
        "x": x[lonely],
        "y": _compact(y[lonely]),
        "marker": {"color": line["color"], "size": 3},
    }
    return [dots, lines]


def _range(name: str, band: "Band", index: int, points: int, timeline: Timeline) -> list[Chart]:
    """The range that counts as normal, and a line of what was expected; both lie under values."""
    outline = thin_range(band.lower, band.upper, points, timeline).outline
    middle = thin_line(band.expected, points, timeline)
    trace = {"type": "scatter", "mode": "lines", "xaxis": "x", "yaxis": f"y{_suffix(index)}"}
    edges = np.column_stack([band.lower[middle.rows], band.upper[middle.rows]])
    return [
        {
            **trace,
            "name": _escaped(f"{name}, range"),
            "x": timeline.positions(outline.rows),
            "y": _compact(outline.values),
            "fill": "toself",
            "fillcolor": "--range",
            "line": {"width": 0},
            "hoverinfo": "skip",
        },
        {
            **trace,
            "name": _escaped(f"{name}, expected"),
            "x": timeline.positions(middle.rows),
            "y": _compact(middle.values),
            "line": EXPECTED,
            "customdata": _compact(edges),
            "hovertemplate": "%{y} (%{customdata[0]:.5~g} to %{customdata[1]:.5~g})",
        },
    ]


def _marks(report: Report, timeline: Timeline, score: int) -> tuple[list[Chart], list[Chart]]:
    """Bands of the training part and the strongest events, their numbers above, the threshold."""
    above = {
        "name": "event",
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": 18,
        "showarrow": False,
    }
    shapes, labels = [], []
    if report.training_end:
        look = {"name": "training", "fillcolor": "--training", "line": {"width": 0}}
        extent = timeline.extent(report.training_start, report.training_end)
        shapes.append(band(extent) | look)
    strongest = sorted(report.events, key=lambda event: -event.score)[:MOST_BANDS]
    for rank, event in enumerate(strongest):
        extent, font = timeline.extent(event.start, event.end), {"color": "--event", "size": 12}
        look = {} if event.alarm else SILENCED
        shapes.append(band(extent) | look)
        if rank < MOST_LABELS:
            middle = float(np.mean(extent))
            labels.append(above | {"text": f"<b>{event.number}</b>", "x": middle, "font": font})
    threshold = {
        "type": "line",
        "name": "threshold",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": f"y{score + 1}",
        "y0": report.threshold,
        "y1": report.threshold,
        "line": {"color": "--event", "width": 1.3, "dash": "dash"},
    }
    return [*shapes, threshold], labels


def _escaped(text: str) -> str:
    """Text of the user, safe from plotly's own markup."""
    return escape(text, quote=False)


def _suffix(index: int) -> str:
    """Plotly's first axis has no number."""
    return "" if index == 0 else str(index + 1)


def _compact(values: FloatArray) -> FloatArray | NDArray[np.float32]:
    """Single precision where nobody could see the difference: it halves the file."""
    known = values[np.isfinite(values)]
    if not known.size:
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        lost = np.abs(known.astype(np.float32) - known).max()
    return single if lost <= 1e-5 * np.ptp(known) else values
