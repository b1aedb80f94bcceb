"""From a `Report` to one HTML file that needs nothing else: its words, tables and charts."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from caps.artifacts import write_text
from caps.plots import Timeline, plotly_script, render_page
from caps.report.charts import MOST_BANDS, band, overview_chart, panel_chart, shown_channels
from caps.report.content import EventCard, Report
from caps.scoring import carrying
from caps.series import duration
from caps.wording import listed

MOST_PANELS = 40  # charts of single events: the strongest
MOST_ROWS = 1_000  # of the table of events: the strongest
KINDS = {
    "point": "sudden values that stand out alone",
    "periodic": "the rhythm is not the usual one",
    "trend": "level or slope moved away",
}
_DIRECTIONS = {"up": "above normal", "down": "below normal", "both": "above and below normal"}


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
    tabled = sorted(ranked[:MOST_ROWS], key=lambda event: event.start)
    detailed = sorted(ranked[:MOST_PANELS], key=lambda event: event.start)
    return render_page(
        "report/report.html.j2",
        title=report.title,
        kind="CAPS report",
        lead=summary(report, timeline),
        facts=_facts(report, timeline),
        parts={
            "overview": "Overview",
            "events": "Events",
            "alarms": "Alarm budget" if report.budgets else "",
            "quality": "Data quality",
            "facts": "Model and run" if report.model or report.run else "",
        },
        report=report,
        events=tabled,
        details=detailed,
        timeline=timeline,
        hidden_channels=len(report.channels) - len(shown_channels(report)),
        charts=htmlsafe_json_dumps(
            _charts(report, detailed, timeline), default=_encoded, allow_nan=False
        ),
        plotly=Markup(plotly_script()),
        effects=any(effect(event) for event in tabled),
        silenced=any(not event.alarm for event in report.events),
        kinds=KINDS,
        **{word.__name__: word for word in (figure, alarms, rarity, effect, carriers, quiet)},
    )


def _facts(report: Report, timeline: Timeline) -> dict[str, str]:
    """The few facts at the top of the page."""
    step = timeline.sampling.step
    facts = {}
    if timeline.time is not None:
        facts["From"] = f"{timeline.moment(0)} {timeline.clock}"
        facts["To"] = f"{timeline.moment(len(report) - 1)} {timeline.clock}"
    facts["Rows"] = f"{len(report):,}" + ("" if step is None else f", one every {duration(step)}")
    facts["Channels"] = listed([channel.name for channel in report.channels])
    if report.trained_on:
        facts["Trained on"] = report.trained_on
    elif 0 < report.training_end < len(report):
        facts["Trained on"] = f"the first {timeline.lasting(0, report.training_end)}"
    above = f"score above {figure(report.threshold)}"
    current = next((each for each in report.budgets if each.name == report.budget), None)
    if current is None:
        return facts | {"Alarm": above}
    expected = alarms(current.expected)
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
    encoded = {"dtype": dtype, "bdata": base64.b64encode(little.tobytes()).decode("ascii")}
    return encoded if array.ndim == 1 else encoded | {"shape": ", ".join(map(str, array.shape))}


def summary(report: Report, timeline: Timeline) -> str:
    """What happened, in one or two sentences."""
    trained = report.training_start, report.training_end
    first = trained[1] if trained[1] < len(report) else 0
    span = timeline.lasting(first, len(report))
    if first and trained[0]:  # rows on either side
        span = f"{len(report) - trained[1] + trained[0]:,} rows beside the training part"
    learned = range(*trained) if first else ()
    during = [event for event in report.events if event.start not in learned]
    earlier = len(report.events) - len(during)
    more = " more" if during else ""
    in_training = f" The training part holds {earlier:,}{more}." if earlier else ""
    if not during:
        return f"No events in {span}. {_highest(report, timeline)}{in_training}"
    alarming = [event for event in during if event.alarm] or during
    strongest = max(alarming, key=lambda event: event.score)
    count = "1 event" if len(during) == 1 else f"{len(during):,} events"
    which = _which(strongest, timeline, len(during))
    return f"{count} in {span}; {which}.{_no_alarms(report)}{in_training}"


def _no_alarms(report: Report) -> str:
    """How many events are no alarms, and why."""
    why = [event.silence.why for event in report.events if event.silence is not None]
    words = (("planned", "planned"), ("feedback", "like others that were dismissed"))
    told = [f"{why.count(each)} {text}" for each, text in words if each in why]
    return f" {' and '.join(told)}: no alarms." if told else ""


def _which(event: EventCard, timeline: Timeline, events: int) -> str:
    subject = "it" if events == 1 else f"the strongest (number {event.number})"
    where = f" in {carriers(event, most=1)}" if event.channels else ""
    aside = f", a {event.kind} anomaly{where}," if event.kind else where
    began = f"{timeline.moment(event.start)} {timeline.clock}".strip()
    lasting = timeline.lasting(event.start, event.end)
    return f"{subject}{aside} began at {began} and lasted {lasting}"


def _highest(report: Report, timeline: Timeline) -> str:
    scores = report.scores.copy()
    if report.training_end < len(report):
        scores[report.training_start : report.training_end] = np.nan
    if np.isnan(scores).all():
        return "No row could be scored."
    row = int(np.nanargmax(scores))
    return (
        f"The highest score is {figure(report.scores[row])} at {timeline.moment(row)}, "
        f"the threshold {figure(report.threshold)}."
    )


def rarity(p_value: float | None) -> str:
    """How often normal data have an event as strong.

    >>> rarity(0.00031), rarity(0.24), rarity(0.0), rarity(None)
    ('once in 3,200 rows', 'once in 4 rows', 'less than once in a million rows', 'unknown')
    """
    if p_value is None or np.isnan(p_value):
        return "unknown"
    if p_value < 1e-6:
        return "less than once in a million rows"
    return f"once in {int(float(f'{1 / p_value:.2g}')):,} rows"


def effect(event: EventCard) -> str:
    """Direction and size: `above normal by 6.2 standard deviations`."""
    words = _DIRECTIONS.get(event.direction or "", "")
    if event.size is None or np.isnan(event.size):
        return words
    return f"{words or 'off normal'} by {event.size:.2g} standard deviations"


def figure(value: float) -> str:
    """A score with three decimals, never rounded up to certainty.

    >>> figure(0.51234), figure(0.99999), figure(1.0)
    ('0.512', '0.999', '1.000')
    """
    return f"{np.floor(value * 1000) / 1000:.3f}"


def alarms(expected: float) -> str:
    """An expected number of alarms.

    >>> alarms(18.04), alarms(2.57), alarms(0.004)
    ('18', '2.6', 'under 0.01')
    """
    if expected < 0.01:
        return "under 0.01"
    return f"{expected:.0f}" if expected >= 9.95 else f"{expected:.2g}"


def quiet(event: EventCard) -> str:
    """Whether an event is an alarm, and if not, what keeps it from being one."""
    if event.silence is None:
        return "yes"
    planned = event.silence.why == "planned"
    return f"no: {'planned, ' if planned else 'feedback '}{event.silence.name}"


def carriers(event: EventCard, most: int = 3) -> str:
    """The channels that carry an event, as every other output names them."""
    return listed(carrying(event.contributions), most)
