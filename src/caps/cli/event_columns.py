"""The columns of a table of events: what a terminal has no room for is shortened or left out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from caps.scoring import carrying
from caps.series import Series, Unit, write_moment
from caps.wording import listed

if TYPE_CHECKING:
    from caps.events import Event

Columns = dict[str, list[str]]
GAP = 2  # characters between columns
CHANNELS, LEAST_CHANNELS = "channels", 12  # characters; with less, other columns are left out


def event_columns(events: "Sequence[Event]", series: Series, width: int) -> Columns:
    """Cells by the names of their columns, no wider than `width` together; none is all blank."""
    names = [carrying(event.contributions) for event in events]
    columns: Columns = {
        "event": [str(event.number) for event in events],
        "start": [_when(series, event.start) for event in events],
        "end": [_end(series, event) for event in events],
        "level": [event.severity or "" for event in events],
        "if normal": [_rarity(event.p_value) for event in events],
        "kind": [event.kind or "" for event in events],
        "no alarm": [_quiet(event) for event in events],
        CHANNELS: [listed(each) for each in names],
        "size": [
            "" if each.size is None else f"{each.size:.1f} {each.direction}" for each in events
        ],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    if CHANNELS not in columns:
        return columns

    def room() -> int:
        others = (item for item in columns.items() if item[0] != CHANNELS)
        return width - sum(GAP + _width(*item) for item in others)

    full = _width(CHANNELS, columns[CHANNELS])
    if room() < full:
        columns.pop("if normal", None)  # the level tells it roughly
    for name in ("kind", "size"):
        if room() < min(full, LEAST_CHANNELS):
            columns.pop(name, None)
    columns[CHANNELS] = [shortened(each, max(room(), LEAST_CHANNELS)) for each in names]
    return columns


def shortened(names: Sequence[str], room: int) -> str:
    """As many names as there is room for, the rest counted; one is named in any case.

    >>> [shortened(["host29", "host3", "host7"], room) for room in (20, 17, 10, 4)]
    ['host29, host3, host7', 'host29 and 2 more', 'host29', 'hos…']
    """
    for most in range(len(names), 0, -1):
        if len(listed(names, most)) <= room:
            return listed(names, most)
    first = "".join(names[:1])
    return first if len(first) <= room else f"{first[: room - 1]}…"


def _quiet(event: "Event") -> str:
    if event.silence is None:
        return ""
    name = event.silence.name
    return name if event.silence.why == "feedback" else f"planned: {name}"


def _width(name: str, cells: Sequence[str]) -> int:
    return max(map(len, (name, *cells)))


def _rarity(p_value: float | None) -> str:
    """Short, like a budget.

    >>> _rarity(0.00031), _rarity(0.0), _rarity(None), _rarity(float("nan"))
    ('1/3,200', '< 1e-6', '', '')
    """
    if p_value is None or np.isnan(p_value):
        return ""
    return f"1/{float(f'{1 / p_value:.2g}'):,.0f}" if p_value >= 1e-6 else "< 1e-6"


def _when(series: Series, row: int) -> str:
    """The row's time as short as it can be told apart, or its number."""
    if series.time is None:
        return str(row)
    step = series.sampling.step
    whole_minutes = step is not None and not step % np.timedelta64(60, "s")
    unit: Unit = "m" if whole_minutes else "s"
    return write_moment(series.time[row], unit, timezone=series.timezone)[2:]


def _end(series: Series, event: "Event") -> str:
    """The time of the last row without what it has in common with the first: day or year."""
    start, end = _when(series, event.start), _when(series, event.end - 1)
    day, _, hour = end.partition(" ")
    if not hour:
        return end
    if start.startswith(day):
        return hour
    return end[3:] if start[:3] == end[:3] else end
