"""Planned events: maintenance, releases, holidays. What happens in them is scored, not alarmed.

A file of them, TOML or JSON:

    timezone = "Europe/Berlin"      # of what names no other; UTC if left out

    [[planned]]
    name = "release 4.2"
    start = "2024-05-03 18:00"
    end = "2024-05-03 20:00"        # exclusive

    [[planned]]
    name = "nightly backup"
    weekly = ["mon", "tue", "wed", "thu", "fri"]   # or "daily"
    from = "23:30"
    to = "01:00"                    # of the next day, as it is no later than `from`
    series = ["db-*"]               # all if left out

    [[planned]]
    name = "holidays"
    dates = ["2024-12-25", "2024-12-26"]           # whole days, unless from and to are given
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.json_text import parse_json
from caps.series import read_moment

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAILY = "daily"
MIDNIGHT = time(0)
MOST_WINDOWS = 1000  # of one entry that are listed
ONE_OFF, BY_DATE, BY_WEEKDAY = ("start", "end"), ("dates",), ("weekly",)
SHARED = ("name", "series", "timezone")
CLOCK = ("from", "to")
KEYS = {
    "start": (*SHARED, *ONE_OFF),
    "dates": (*SHARED, *BY_DATE, *CLOCK),
    "weekly": (*SHARED, *BY_WEEKDAY, *CLOCK, "since", "until"),
}


class Window(NamedTuple):
    """One planned span of time, in UTC; the end is exclusive."""

    name: str
    start: np.datetime64
    end: np.datetime64


@dataclass(frozen=True, slots=True)
class Entry:
    """One planned event: spans of its own, or the same hours on some days."""

    name: str
    series: tuple[str, ...] = ()  # patterns of names; all if empty
    spans: tuple[tuple[np.datetime64, np.datetime64], ...] = ()
    weekdays: tuple[int, ...] = ()  # 0 is Monday
    begin: time = MIDNIGHT
    end: time = MIDNIGHT  # of the next day where it is no later
    zone: str = "UTC"
    since: date = date.min
    until: date = date.max  # the last day on which one begins

    def concerns(self, series: str) -> bool:
        """Whether it is planned for a series."""
        return not self.series or any(fnmatchcase(series, each) for each in self.series)

    def windows(self, left: np.datetime64, right: np.datetime64) -> Iterator[Window]:
        """The spans that touch [left, right], the earliest first."""
        for start, end in self.spans:
            if start <= right and left < end:
                yield Window(self.name, start, end)
        if not self.weekdays:
            return
        day = max(_day(left) - timedelta(days=2), self.since)  # zones, and hours past midnight
        last = min(_day(right) + timedelta(days=1), self.until)
        while day <= last:
            if day.weekday() in self.weekdays:
                start, end = _hours(day, self.begin, self.end, self.zone)
                if start <= right and left < end:
                    yield Window(self.name, start, end)
            day += timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Planned:
    """All planned events.

    >>> planned = Planned.from_dict({"planned": [
    ...     {"name": "backup", "weekly": "daily", "from": "02:00", "to": "03:00"}]})
    >>> moment = np.datetime64("2024-05-01T02:30")
    >>> planned.covering(moment, moment, "any series")
    'backup'
    """

    entries: tuple[Entry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def covering(
        self, start: np.datetime64 | None, end: np.datetime64 | None, series: str = ""
    ) -> str | None:
        """What the rows from `start` to `end` lie within: one planned event, or several in a row.

        None where a row lies outside, or rows have no times.
        """
        if start is None or end is None or not self.entries:
            return None
        reached, name = start, None
        found = self.windows(start, end, series)
        while reached <= end:
            here = [each for each in found if each.start <= reached < each.end]
            if not here:
                return None
            furthest = max(here, key=lambda each: each.end)
            reached, name = furthest.end, name or here[0].name
        return name

    def windows(self, start: np.datetime64, end: np.datetime64, series: str = "") -> list[Window]:
        """The planned spans that touch the rows from `start` to `end`, in order of time."""
        found: list[Window] = []
        for entry in self.entries:
            if entry.concerns(series):
                found += islice(entry.windows(start, end), MOST_WINDOWS)
        return sorted(found, key=lambda each: (each.start, each.end))

    def on(
        self, times: NDArray[np.datetime64] | None, series: str = ""
    ) -> list[tuple[str, int, int]]:
        """The planned spans among rows with these times: name, first row and last, exclusive."""
        if times is None or not len(times):
            return []
        return [
            (window.name, int(first), int(last))
            for window in self.windows(times[0], times[-1], series)
            for first, last in [np.searchsorted(times, [window.start, window.end])]
            if last > first
        ]

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Of a table with the list `planned` and perhaps a `timezone` for those without one."""
        odd = set(facts) - {"planned", "timezone"}
        if odd:
            raise InputError(
                f"planned events with the odd key {sorted(odd)[0]!r}",
                'give "timezone" and the list "planned"',
            )
        zone = _zone(facts.get("timezone", "UTC"), "the planned events")
        listed = facts.get("planned", [])
        if not isinstance(listed, list):
            raise InputError('"planned" is no list', "write one [[planned]] for each")
        return cls(tuple(read_entry(each, number, zone) for number, each in enumerate(listed, 1)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a file, TOML or JSON by the end of its name."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            facts = parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror})", "name a file") from None
        except ValueError as error:  # also of TOML and of bytes that are no text
            kind = "JSON" if path.suffix == ".json" else "TOML"
            raise InputError(f"{path} is no sound {kind} ({error})", "correct it") from None
        if not isinstance(facts, Mapping):
            raise InputError(f"{path} holds no table", 'give one with the list "planned"')
        try:
            return cls.from_dict(facts)
        except InputError as error:
            raise InputError(f"{path}: {error.problem}", error.remedy) from None


def read_entry(facts: Any, number: int, default_zone: str = "UTC") -> Entry:
    """One planned event of a list, by its number there from 1 on."""
    where = f"planned event {number}"
    if not isinstance(facts, Mapping):
        raise InputError(f"{where} is no table", 'give "name" and when it is')
    name = facts.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{where} has no name", 'give "name"')
    where = f"{where} ({json.dumps(name, ensure_ascii=False)})"
    ways = [way for way in KEYS if way in facts]
    if len(ways) != 1:
        raise InputError(
            f"{where} says {'several times' if ways else 'not'} when it is",
            'give either "start" and "end", or "dates", or "weekly"',
        )
    (way,) = ways
    odd = sorted(set(facts) - set(KEYS[way]))
    if odd:
        raise InputError(
            f"{where} has the odd key {odd[0]!r} beside {way!r}",
            f"give some of: {', '.join(KEYS[way])}",
        )
    zone = _zone(facts.get("timezone", default_zone), where)
    series = facts.get("series", [])
    series = [series] if isinstance(series, str) else series
    if not isinstance(series, list) or not all(isinstance(each, str) for each in series):
        raise InputError(f'{where}: "series" is no list of names', 'write series = ["db-*"]')
    shared: dict[str, Any] = {"name": name.strip(), "series": tuple(series), "zone": zone}
    if way == "start":
        return Entry(**shared, spans=(_span(facts, zone, where),))
    begin, end = (_clock(facts.get(key, MIDNIGHT), key, where) for key in CLOCK)
    if way == "dates":
        days = [_date(each, "dates", where) for each in _several(facts["dates"], "dates", where)]
        spans = tuple(_hours(day, begin, end, zone) for day in sorted(days))
        return Entry(**shared, spans=spans)
    since = _date(facts["since"], "since", where) if "since" in facts else date.min
    until = _date(facts["until"], "until", where) if "until" in facts else date.max
    if until < since:
        raise InputError(f'{where}: "until" is before "since"', "exchange them")
    weekdays = _weekdays(facts["weekly"], where)
    return Entry(**shared, weekdays=weekdays, begin=begin, end=end, since=since, until=until)


def _span(facts: Mapping[str, Any], zone: str, where: str) -> tuple[np.datetime64, np.datetime64]:
    if "end" not in facts:
        raise InputError(f'{where} has no "end"', 'give "end", as "2024-05-03 20:00"')
    start, end = (_moment(facts[key], key, zone, where) for key in ONE_OFF)
    if end <= start:
        raise InputError(f'{where}: "end" is not after "start"', "exchange or correct them")
    return start, end


def _moment(value: Any, key: str, zone: str, where: str) -> np.datetime64:
    if isinstance(value, str | datetime):
        try:
            return read_moment(value, zone)
        except InputError:
            pass
    raise InputError(
        f'{where}: "{key}" is {str(value)!r}, no moment', 'write it as "2024-05-03 18:00"'
    )


def _several(value: Any, key: str, where: str) -> Sequence[Any]:
    if not isinstance(value, list) or not value:
        raise InputError(f'{where}: "{key}" is no list', f'write {key} = ["…", "…"]')
    return value


def _date(value: Any, key: str, where: str) -> date:
    try:
        if isinstance(value, str):
            return date.fromisoformat(value)
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
    except ValueError:
        pass
    raise InputError(f'{where}: "{key}" has {str(value)!r}, no day', 'write it as "2024-12-25"')


def _clock(value: Any, key: str, where: str) -> time:
    try:
        if isinstance(value, str):
            value = time.fromisoformat(value)
        if isinstance(value, time) and value.tzinfo is None:
            return value
    except ValueError:
        pass
    raise InputError(f'{where}: "{key}" is {str(value)!r}, no time of day', 'write it as "03:30"')


def _weekdays(value: Any, where: str) -> tuple[int, ...]:
    if value == DAILY:
        return tuple(range(7))
    days = [str(each).lower()[:3] for each in _several(value, "weekly", where)]
    for given, day in zip(value, days, strict=True):
        if day not in DAYS:
            raise InputError(
                f'{where}: "weekly" has {str(given)!r}, no day of the week',
                f'give some of {", ".join(DAYS)}, or weekly = "{DAILY}"',
            )
    return tuple(sorted({DAYS.index(day) for day in days}))


def _zone(value: Any, where: str) -> str:
    try:
        return ZoneInfo(value).key
    except (KeyError, ValueError, TypeError, OSError):
        raise InputError(
            f"{where}: {value!r} is no time zone", 'write it as "Europe/Berlin"'
        ) from None


def _hours(day: date, begin: time, end: time, zone: str) -> tuple[np.datetime64, np.datetime64]:
    """The hours of a day in UTC; those that end no later than they begin reach into the next."""
    last = day if end > begin else day + timedelta(days=1)
    return _utc(day, begin, zone), _utc(last, end, zone)


def _utc(day: date, clock: time, zone: str) -> np.datetime64:
    local = datetime.combine(day, clock, ZoneInfo(zone))
    return np.datetime64(local.astimezone(UTC).replace(tzinfo=None), "ns")


def _day(moment: np.datetime64) -> date:
    day = moment.astype("datetime64[D]").item()
    assert isinstance(day, date)
    return day
