"""The overview as a plotly figure, for notebooks."""

from typing import TYPE_CHECKING

import numpy as np

from caps.plots import DARK, LIGHT, painted
from caps.report.charts import overview_chart
from caps.report.content import Report

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def overview_figure(report: Report, *, dark: bool = False) -> "Figure":
    """The chart at the top of the report.

    >>> from caps.report import Channel
    >>> values = np.array([1.0, 2.0, 9.0, 2.0])
    >>> figure = overview_figure(Report("pump 4", (Channel("flow", values),), values / 10, 0.5))
    >>> [trace.name for trace in figure.data]
    ['flow', 'score']
    """
    from plotly.graph_objects import Figure  # a tenth of a second that the page does not pay

    timeline = report.timeline
    chart = painted(overview_chart(report, timeline), DARK if dark else LIGHT)
    if timeline.dated:
        layout = chart["layout"]
        layout["xaxis"]["range"] = [_date(edge) for edge in layout["xaxis"]["range"]]
        for trace in chart["data"]:
            trace["x"] = _dates(trace["x"])
        for part in [*layout["shapes"], *layout["annotations"]]:
            if part.get("xref") != "paper":
                part |= {name: _date(part[name]) for name in ("x", "x0", "x1") if name in part}
    return Figure(chart)


def _dates(positions: np.ndarray) -> np.ndarray:
    return (positions * 1000).round().astype("datetime64[us]")


def _date(position: float) -> str:
    return str(_dates(np.array(position)))
