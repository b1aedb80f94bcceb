"""Incidents of a series: one alert when one begins, and a line when it is over.

As a rule every event is an incident of its own, over once it has been quiet for as long as the
event lasted; events closer than the model's `merge_gap` are one event already. With a recovery
that the user chose, events closer than that are one incident, unless another channel leads.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from caps.series import write_moment
from caps.stream import EventChange

LONGEST = 256  # rows of quiet that end any incident, unless the user wants more
COUNTS = ("number", "open", "silent", "silenced")


@dataclass(slots=True)
class Incident:
    """Events of one series that belong together."""

    number: int
    start: int  # row
    end: int = 0  # row, exclusive
    start_time: str | None = None
    end_time: str | None = None
    score: float = 0.0
    events: int = 0
    channel: str | None = None  # that led when it began
    last_start: int = 0  # row, of its last event
    severity: str | None = None  # the worst so far
    said: dict[str, Any] = field(default_factory=dict)  # of its strongest event
    strength: float = 0.0  # score of that event


class Incidents:
    """The incidents of one series, row by row; `recovery` in rows if the user chose it."""

    def __init__(self, recovery: int | None = None) -> None:
        self.recovery = recovery
        self.number = 0
        self.current: Incident | None = None
        self.open = 0  # number of the event that is open and an alarm
        self.silent = 0  # number of the event that is open and no alarm so far
        self.silenced = 0  # events that opened as no alarms

    def silence(self, change: EventChange) -> None:
        """Take in a change of an event that is no alarm: it belongs to no incident."""
        self.silenced += change.what == "opened"
        self.silent = 0 if change.what == "closed" else change.number

    def heard(self, change: EventChange) -> list[EventChange]:
        """A change of an alarm; one that was none so far opens now."""
        change, late = replace(change, silence=None), self.silent == change.number
        self.silent = 0
        if not late:
            return [change]
        opened = replace(change, what="opened")
        return [opened, change] if change.what == "closed" else [opened]

    def ended_by(self, change: EventChange) -> Incident | None:
        """The incident that is over because of an event that opens: the event is another one."""
        current = self.current
        if current is None or change.what != "opened":
            return None
        if self.recovery is not None and change.channel == current.channel:
            return self.recovered(change.start)
        self.current = None
        return current

    def begins(self, change: EventChange) -> bool:
        """Take in a change of an event; whether it begins a new incident.

        Call `ended_by` before.
        """
        new = self.current is None
        if self.current is None:
            self.number += 1
            self.current = Incident(self.number, change.start, channel=change.channel)
        current = self.current
        current.events += change.what == "opened"
        current.end, current.score = change.end, max(current.score, change.score)
        current.last_start = change.start
        facts = change.to_dict(shown)
        current.start_time = current.start_time or facts["start"]
        current.end_time = facts["end"]
        self.open = 0 if change.what == "closed" else change.number
        return new

    def recovered(self, row: int) -> Incident | None:
        """The incident that is over once `row` is reached without another event."""
        current = self.current
        if current is None or self.open:
            return None
        quiet = self.recovery
        if quiet is None:  # as long as its last event
            quiet = min(current.end - current.last_start, LONGEST)
        if row - current.end < quiet:
            return None
        self.current = None
        return current

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        current = None if self.current is None else asdict(self.current)
        counts = {name: getattr(self, name) for name in COUNTS}
        return {**counts, "current": current}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        for name in COUNTS:
            setattr(self, name, int(facts[name]))
        self.current = None if facts["current"] is None else Incident(**facts["current"])


def shown(time: np.datetime64) -> str:
    """A time as ISO text in UTC, without zeros at the end."""
    return write_moment(time, separator="T") + "Z"
