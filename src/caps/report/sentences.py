"""The words of a report: the summary, and how figures are written."""

from collections.abc import Sequence

import numpy as np

from caps.plots import Timeline
from caps.report.content import EventCard, Report
from caps.scoring import carrying

KINDS = {
    "point": "sudden values that stand out alone",
    "periodic": "the rhythm is not the usual one",
    "trend": "level or slope moved away",
}
_DIRECTIONS = {"up": "above normal", "down": "below normal", "both": "above and below normal"}


def summary(report: Report, timeline: Timeline) -> str:
    """What happened, in one or two sentences."""
    first = report.training_end if report.training_end < len(report) else 0
    span = timeline.lasting(first, len(report))
    during = [event for event in report.events if event.start >= first]
    earlier = len(report.events) - len(during)
    more = " more" if during else ""
    in_training = f" The training part holds {earlier:,}{more}." if earlier else ""
    if not during:
        return f"No events in {span}. {_highest(report, timeline, first)}{in_training}"
    strongest = max(during, key=lambda event: event.score)
    count = "1 event" if len(during) == 1 else f"{len(during):,} events"
    return f"{count} in {span}; {_which(strongest, timeline, len(during))}.{in_training}"


def _which(event: EventCard, timeline: Timeline, events: int) -> str:
    subject = "it" if events == 1 else f"the strongest (number {event.number})"
    where = f" in {carriers(event, most=1)}" if event.channels else ""
    aside = f", a {event.kind} anomaly{where}," if event.kind else where
    began = f"{timeline.moment(event.start)} {timeline.clock}".strip()
    lasting = timeline.lasting(event.start, event.end)
    return f"{subject}{aside} began at {began} and lasted {lasting}"


def _highest(report: Report, timeline: Timeline, first: int) -> str:
    scores = report.scores[first:]
    if np.isnan(scores).all():
        return "No row could be scored."
    row = first + int(np.nanargmax(scores))
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


def carriers(event: EventCard, most: int = 3) -> str:
    """The channels that carry an event, as every other output names them."""
    return listed(carrying(event.contributions), most)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a row, the rest counted."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
