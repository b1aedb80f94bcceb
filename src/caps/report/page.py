"""From a `Report` to one HTML file that needs nothing else: text, tables and charts."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from caps.artifacts import write_text
from caps.plots import Timeline, plotly_script, render_page
from caps.report import sentences
from caps.report.charts import MOST_BANDS, band, overview_chart, panel_chart, shown_channels
from caps.report.content import EventCard, Report
from caps.series import duration

MOST_PANELS = 40  # charts of single events: the strongest
MOST_ROWS = 1_000  # of the table of events: the strongest


def write_report(report: Report, path: str | Path) -> None:
    """Write the report to `path` as a whole or not at all."""
    write_text(Path(path), render_report(report))


def render_report(report: Report) -> str:
    """The report as one HTML page that opens offline.

    >>> from caps.report import Channel
    >>> values = np.array([1.0, 2.0, 9.0, 2.0])
    >>> page = render_report(Report("pump 4", (Channel("flow", values),), values / 10, 0.95))
    >>> "No events in 4 rows." in page
    True
    """
    timeline = report.timeline
    ranked = sorted(report.events, key=lambda event: -event.score)
    listed = sorted(ranked[:MOST_ROWS], key=lambda event: event.start)
    detailed = sorted(ranked[:MOST_PANELS], key=lambda event: event.start)
    rows = [_event_row(event, timeline) for event in listed]
    return render_page(
        "report/report.html.j2",
        title=report.title,
        kind="CAPS report",
        lead=sentences.summary(report, timeline),
        facts=_facts(report, timeline),
        parts={
            "overview": "Overview",
            "events": "Events",
            "alarms": "Alarm budget" if report.budgets else "",
            "quality": "Data quality",
            "facts": "Model and run" if report.model or report.run else "",
        },
        report=report,
        rows=rows,
        details=[row for row in rows if row["event"] in detailed],
        hidden_channels=len(report.channels) - len(shown_channels(report)),
        charts=htmlsafe_json_dumps(
            _charts(report, detailed, timeline), default=_encoded, allow_nan=False
        ),
        plotly=Markup(plotly_script()),
        figure=sentences.figure,
        alarms=sentences.alarms,
        kinds=sentences.KINDS,
    )


def _event_row(event: EventCard, timeline: Timeline) -> dict[str, Any]:
    """An event in the words of the page."""
    return {
        "event": event,
        "start": timeline.moment(event.start),
        "last": timeline.moment(event.end - 1),
        "peak": timeline.moment(event.peak),
        "lasting": timeline.lasting(event.start, event.end),
        "score": sentences.figure(event.score),
        "rarity": sentences.rarity(event.p_value),
        "effect": sentences.effect(event),
        "carriers": sentences.carriers(event),
        "kinds": sorted(event.kind_scores.items(), key=lambda item: -item[1]),
    }


def _facts(report: Report, timeline: Timeline) -> dict[str, str]:
    """The few facts at the top of the page."""
    step = timeline.sampling.step
    facts = {}
    if timeline.time is not None:
        facts["From"] = f"{timeline.moment(0)} {timeline.clock}"
        facts["To"] = f"{timeline.moment(len(report) - 1)} {timeline.clock}"
    facts["Rows"] = f"{len(report):,}" + ("" if step is None else f", one every {duration(step)}")
    facts["Channels"] = sentences.listed([channel.name for channel in report.channels])
    if 0 < report.training_end < len(report):
        facts["Trained on"] = f"the first {timeline.lasting(0, report.training_end)}"
    above = f"score above {sentences.figure(report.threshold)}"
    current = next((each for each in report.budgets if each.name == report.budget), None)
    if current is None:
        return facts | {"Alarm": above}
    expected = sentences.alarms(current.expected)
    return facts | {
        "Alarm budget": f"{current.name}: {above}, about {expected} false alarms expected"
    }


def _charts(report: Report, detailed: list[EventCard], timeline: Timeline) -> dict[str, Any]:
    """What the script draws."""
    panels = {
        f"event-{event.number}": panel_chart(event, event.panel, timeline)
        for event in detailed
        if event.panel is not None
    }
    spans = {str(event.number): timeline.extent(event.start, event.end) for event in report.events}
    budgets = [
        {
            "name": budget.name,
            "threshold": budget.threshold,
            "found": budget.found,
            "bands": [band(timeline.extent(*span)) for span in budget.spans[:MOST_BANDS]],
        }
        for budget in report.budgets
    ]
    return {
        "dated": timeline.dated,
        "charts": {"overview": overview_chart(report, timeline), **panels},
        "events": spans,
        "budgets": budgets,
    }


def _encoded(array: object) -> dict[str, str]:
    """An array as plotly reads it: its bytes in base64."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{type(array).__name__} cannot be drawn")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    dtype = {4: "f4", 8: "f8"}[array.dtype.itemsize]
    return {"dtype": dtype, "bdata": base64.b64encode(little.tobytes()).decode("ascii")}
