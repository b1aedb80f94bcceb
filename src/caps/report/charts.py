"""The charts as plain data for plotly: positions and values in arrays, colours by role."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.plots import Timeline, thin_line
from caps.report.content import Channel, EventCard, Panel, Report

Chart = dict[str, Any]

# The size of the page: all lines of the overview share a number of points, and none has fewer than
# a chart of this width can show.
OVERVIEW_POINTS = 30_000
MOST_POINTS, FEWEST_POINTS = 12_000, 2_000
PANEL_POINTS = 600
MOST_CHANNELS = 12  # of the overview: those that carry the events
PANEL_CHANNELS = 3
MOST_LABELS = 40  # numbers above event bands: more would overlap
MOST_BANDS = 400

# Pixels; a few channels share a height that many would need anyway.
CHANNELS_HEIGHT, CHANNEL_HEIGHT, SCORE_HEIGHT, PANEL_HEIGHT, BETWEEN = 240, 84, 104, 132, 26
TOP, LABELS, BOTTOM = 24, 20, 34  # the overview has labels above its lines
LINE_WIDTH = 1.3
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
    "nticks": 7,
    "automargin": True,
    "showspikes": True,
    "spikemode": "across",
    "spikethickness": 1,
    "spikedash": "solid",
    "spikecolor": "--soft",
}


def shown_channels(report: Report) -> list[Channel]:
    """The channels of the overview, in the order given."""
    if len(report.channels) <= MOST_CHANNELS:
        return list(report.channels)
    weight = {channel.name: 0.0 for channel in report.channels}
    for event in report.events:
        for name, share in event.contributions.items():
            weight[name] = weight.get(name, 0.0) + share
    ranked = sorted(report.channels, key=lambda channel: -weight[channel.name])
    chosen = {id(channel) for channel in ranked[:MOST_CHANNELS]}
    return [channel for channel in report.channels if id(channel) in chosen]


def overview_chart(report: Report, timeline: Timeline) -> Chart:
    """Every channel above the score, on one axis of time, with the events as bands."""
    channels = shown_channels(report)
    share = OVERVIEW_POINTS // (len(channels) + 1)
    points = min(MOST_POINTS, max(FEWEST_POINTS, share))
    height = max(CHANNEL_HEIGHT, CHANNELS_HEIGHT // len(channels))
    stack = _Stack([height] * len(channels) + [SCORE_HEIGHT])
    data: list[Chart] = []
    for index, channel in enumerate(channels):
        data += _line(channel.name, channel.values, index, points, timeline)
        stack.name(index, channel.name)
    score = _line("score", report.scores, len(channels), points, timeline, colour="--score")
    score[0] |= {"fill": "tozeroy", "fillcolor": "--score-fill"}
    stack.name(len(channels), "score")
    stack.axes[_axis(len(channels))] |= {
        "range": [0, 1.04],
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0", "0.5", "1"],
        "hoverformat": ".3f",
    }
    layout = stack.layout(timeline, timeline.extent(0, len(report)))
    layout["height"] += LABELS
    layout["margin"]["t"] += LABELS
    layout["xaxis"] |= {"nticks": 12, "title": {"text": _escaped(timeline.label), "standoff": 4}}
    layout["shapes"] += _backdrop(report, timeline, len(channels))
    layout["annotations"] += _labels(report, timeline)
    return {"data": [*data, *score], "layout": layout}


def panel_chart(event: EventCard, panel: Panel, timeline: Timeline) -> Chart:
    """An event in its context: counterpart and nearest past lie under what was measured."""
    ranked = sorted(panel.channels, key=lambda name: -event.contributions.get(name, 0.0))
    names = [name for name in panel.channels if name in ranked[:PANEL_CHANNELS]]
    stack = _Stack([PANEL_HEIGHT] * len(names))
    data: list[Chart] = []
    for index, name in enumerate(names):
        column = panel.channels.index(name)
        normal, values = panel.counterpart[:, column], panel.values[:, column]
        data += _line(
            f"{name}, normal", normal, index, PANEL_POINTS, timeline, panel.start, "--normal"
        )
        data[-1]["line"] = {"color": "--normal", "width": 2.2, "dash": "dot"}
        if panel.nearest is not None and np.isfinite(panel.nearest[:, column]).any():
            past = panel.nearest[:, column]
            data += _line(
                f"{name}, nearest past", past, index, PANEL_POINTS, timeline, panel.start, "--past"
            )
            data[-1]["line"] = {"color": "--past", "width": 1.1}
        data += _line(name, values, index, PANEL_POINTS, timeline, panel.start)
        stack.name(index, name)
    layout = stack.layout(timeline, timeline.extent(panel.start, panel.end))
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


class _Stack:
    """Vertical axes above each other that share one horizontal axis."""

    def __init__(self, heights: Sequence[int]) -> None:
        self.total = sum(heights) + BETWEEN * (len(heights) - 1)
        self.axes: dict[str, Chart] = {}
        self.annotations: list[Chart] = []
        top = self.total
        for index, height in enumerate(heights):
            self.axes[_axis(index)] = {
                "domain": [(top - height) / self.total, top / self.total],
                "fixedrange": True,
                "gridcolor": "--grid",
                "zeroline": False,
                "nticks": 4,
                "hoverformat": ".5~g",
            }
            top -= height + BETWEEN
        self.last = len(heights) - 1

    def name(self, index: int, text: str) -> None:
        """Write the name above its lines rather than sideways."""
        self.annotations.append(
            {
                "text": f"<b>{_escaped(text)}</b>",
                "xref": "paper",
                "x": 0,
                "xanchor": "left",
                "yref": "paper",
                "y": self.axes[_axis(index)]["domain"][1],
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"color": "--soft", "size": 12},
            }
        )

    def layout(self, timeline: Timeline, extent: tuple[float, float]) -> Chart:
        """Everything but the lines."""
        anchor = "y" if self.last == 0 else f"y{self.last + 1}"
        kind = {"type": "date", "tickformatstops": TICKS} if timeline.dated else {"type": "linear"}
        return {
            **STYLE,
            "height": self.total + TOP + BOTTOM,
            "margin": {"l": 52, "r": 12, "t": TOP, "b": BOTTOM},
            "xaxis": {**TIME_AXIS, **kind, "anchor": anchor, "range": list(extent)},
            **self.axes,
            "shapes": [],
            "annotations": self.annotations,
        }


def _line(
    name: str,
    values: FloatArray,
    index: int,
    points: int,
    timeline: Timeline,
    start: int = 0,
    colour: str = "--series",
) -> list[Chart]:
    """A line, and dots for its points without a neighbour."""
    line = thin_line(values, points, timeline, start)
    positions = timeline.positions(line.rows)
    trace = {"type": "scatter", "xaxis": "x", "yaxis": "y" if index == 0 else f"y{index + 1}"}
    lines = {
        **trace,
        "mode": "lines",
        "name": _escaped(name),
        "x": positions,
        "y": _compact(line.values),
        "line": {"color": colour, "width": LINE_WIDTH},
    }
    lonely = line.lonely
    if not lonely.any():
        return [lines]
    dots = {
        **trace,
        "mode": "markers",
        "name": _escaped(name),
        "hoverinfo": "skip",
        "x": positions[lonely],
        "y": _compact(line.values[lonely]),
        "marker": {"color": colour, "size": 3},
    }
    return [dots, lines]


def _backdrop(report: Report, timeline: Timeline, score: int) -> list[Chart]:
    """The training part, the events and the threshold."""
    shapes = []
    if report.training_end:
        training = band(timeline.extent(0, report.training_end))
        shapes.append(
            training | {"name": "training", "fillcolor": "--training", "line": {"width": 0}}
        )
    strongest = sorted(report.events, key=lambda event: -event.score)[:MOST_BANDS]
    shapes += [band(timeline.extent(event.start, event.end)) for event in strongest]
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
    return [*shapes, threshold]


def _labels(report: Report, timeline: Timeline) -> list[Chart]:
    """Numbers above the strongest events, and a word above the training part."""
    above = {"yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 18, "showarrow": False}
    labels: list[Chart] = []
    if report.training_end:
        left = timeline.extent(0, report.training_end)[0]
        font = {"color": "--soft", "size": 11}
        labels.append(above | {"text": "training part", "x": left, "xanchor": "left", "font": font})
    for event in sorted(report.events, key=lambda event: -event.score)[:MOST_LABELS]:
        middle = float(np.mean(timeline.extent(event.start, event.end)))
        font = {"color": "--event", "size": 12}
        labels.append(above | {"text": f"<b>{event.number}</b>", "x": middle, "font": font})
    return labels


def _escaped(text: str) -> str:
    """Text of the user, safe from plotly's own markup."""
    return escape(text, quote=False)


def _axis(index: int) -> str:
    return "yaxis" if index == 0 else f"yaxis{index + 1}"


def _compact(values: FloatArray) -> FloatArray | NDArray[np.float32]:
    """Single precision where nobody could see the difference: it halves the file."""
    known = values[np.isfinite(values)]
    if not known.size:
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        lost = np.abs(known.astype(np.float32) - known).max()
    return single if lost <= 1e-5 * np.ptp(known) else values
