"""Which alarms come and go when something changes: feedback, or the version of a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from caps.events.analysis import Analysis
from caps.events.events import Event
from caps.series import write_moment

MONTH = np.timedelta64(30, "D")


@dataclass(frozen=True, slots=True)
class AlarmChange:
    """Alarms gained and lost on the same rows."""

    gained: tuple[Event, ...]
    lost: tuple[Event, ...]
    kept: int
    rows: tuple[int, int]  # looked at, the end exclusive
    since: str | None  # moment of the first of them

    def __str__(self) -> str:
        rows = self.rows[1] - self.rows[0]
        since = "" if self.since is None else f", since {self.since}"
        return (
            f"{len(self.lost)} alarm{'' if len(self.lost) == 1 else 's'} lost, "
            f"{len(self.gained)} gained, {self.kept} kept in {rows:,} rows{since}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        listed = {
            name: [_brief(event) for event in events]
            for name, events in (("gained", self.gained), ("lost", self.lost))
        }
        return {**listed, "kept": self.kept, "rows": list(self.rows), "since": self.since}


def changed_alarms(before: Analysis, after: Analysis) -> AlarmChange:
    """What the alarms of `after` have and lack beside those of `before`, on the same rows.

    Of the last month where rows have times, of all rows where they have none. An alarm is kept
    where the two overlap.
    """
    series = before.series
    first, since = 0, None
    if series.time is not None:
        first = int(np.searchsorted(series.time, series.time[-1] - MONTH))
        since = write_moment(series.time[first], "m", timezone=series.timezone)
    old, new = (
        [event for event in each.events if event.alarm and event.end > first]
        for each in (before, after)
    )
    gained, lost = _alone(new, old), _alone(old, new)
    return AlarmChange(gained, lost, len(old) - len(lost), (first, len(series)), since)


def _alone(events: list[Event], others: list[Event]) -> tuple[Event, ...]:
    return tuple(
        event
        for event in events
        if not any(each.start < event.end and event.start < each.end for each in others)
    )


def _brief(event: Event) -> dict[str, Any]:
    facts = event.to_dict(lambda time: write_moment(time, "s", separator="T"))
    names = ("event", "start", "end", "start_row", "end_row", "score", "severity", "channel")
    return {name: facts[name] for name in names}
