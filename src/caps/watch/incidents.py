"""Events close together are one incident: one alert when it begins, one when it is over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from caps.detect.stream_events import EventChange


@dataclass(slots=True)
class Incident:
    """Events of one series, none further than the recovery window from the last."""

    number: int
    start: int  # row
    end: int  # row, exclusive
    start_time: str | None
    end_time: str | None
    score: float
    events: int


class Incidents:
    """The incidents of one series, row by row."""

    def __init__(self, recovery: int) -> None:
        self.recovery = recovery
        self.number = 0
        self.current: Incident | None = None
        self.in_event = False

    def begins(self, change: EventChange) -> bool:
        """Take in a change of an event; whether it begins a new incident.

        Call `recovered` with the row of an event that opens before.
        """
        event = change.event
        new = self.current is None
        if self.current is None:
            self.number += 1
            self.current = Incident(self.number, event.start, event.end, None, None, 0.0, 0)
        current = self.current
        current.events += change.what == "opened"
        current.end, current.score = event.end, max(current.score, event.score)
        current.start_time = current.start_time or shown(event.start_time)
        current.end_time = shown(event.end_time)
        self.in_event = change.what != "closed"
        return new

    def recovered(self, row: int) -> Incident | None:
        """The incident that is over once `row` is reached without another event."""
        current = self.current
        if current is None or self.in_event or row - current.end < self.recovery:
            return None
        self.current = None
        return current

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        current = None if self.current is None else asdict(self.current)
        return {"number": self.number, "in_event": self.in_event, "current": current}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.number, self.in_event = int(facts["number"]), bool(facts["in_event"])
        self.current = None if facts["current"] is None else Incident(**facts["current"])


def shown(time: Any) -> str | None:
    """A time as ISO text in UTC, without zeros at the end."""
    if time is None:
        return None
    text = str(time)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + "Z"
