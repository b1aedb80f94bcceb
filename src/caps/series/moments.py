"""Single moments: read from whatever a user gives, and written for people and for programs."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Literal, cast

import numpy as np

from caps.errors import InputError
from caps.series.options import ReadOptions
from caps.series.timestamps import TimeArray, read_times, to_nanoseconds

Time = int | float | str | date | np.datetime64
Unit = Literal["D", "m", "s", "ms", "us", "ns"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = np.iinfo(np.int64).max
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")
_FINE = re.compile(r"[.,]\d{7}")  # than microseconds, where Python's own reader cuts
_COLUMN = "time"


def read_moment(
    time: Time, timezone: str | None = None, *, where: str | None = None
) -> np.datetime64:
    """A datetime, ISO text or an epoch in s, ms, us or ns, as UTC; `where` names it in an error.

    One without a zone of its own is meant in `timezone`.

    >>> read_moment("2024-01-31 12:00", "Europe/Berlin")
    np.datetime64('2024-01-31T11:00:00.000000000')
    >>> read_moment(1711111100)
    np.datetime64('2024-03-22T12:38:20.000000000')
    """
    try:
        return np.datetime64(_nanoseconds(time, timezone), "ns")
    except (InputError, TypeError, ValueError, OverflowError) as error:
        cause = error.problem if isinstance(error, InputError) else str(error)
        cause = cause.replace(f"column {_COLUMN!r}", "it")
        raise InputError(
            f"{where or f'the time {time!r}'} is no moment ({cause})",
            "write it as 2024-01-31 or 2024-01-31 12:00, or as an epoch since 1973",
        ) from None


def local_times(times: TimeArray, timezone: str | None) -> TimeArray:
    """Times in UTC as the clocks of a zone show them."""
    if timezone is None:
        return times
    import pandas as pd  # half a second, and times in UTC do without

    local = pd.DatetimeIndex(times, tz="UTC").tz_convert(timezone)
    return cast(TimeArray, local.tz_localize(None).to_numpy())


def write_moment(
    time: np.datetime64,
    unit: Unit | None = None,
    *,
    timezone: str | None = None,
    separator: str = " ",
) -> str:
    """A moment as `2024-03-22 08:20`: cut to `unit`, or as fine as it is, seconds at the least.

    >>> write_moment(np.datetime64("2024-03-22T08:20:30"), "m", timezone="Europe/Berlin")
    '2024-03-22 09:20'
    >>> write_moment(np.datetime64("2024-03-22T08:20:30.500", "ns"), separator="T")
    '2024-03-22T08:20:30.5'
    """
    local = local_times(np.array([time]), timezone)[0]
    text = str(local.astype(f"datetime64[{unit or 'ns'}]")).replace("T", separator)
    return text.rstrip("0").rstrip(".") if unit is None else text


def _nanoseconds(time: Time, timezone: str | None) -> int:
    if isinstance(time, np.datetime64) and timezone is None:
        return int(to_nanoseconds(np.array([time]), _COLUMN)[0].astype(np.int64))
    if isinstance(time, str) and not (_NUMBER.fullmatch(time) or _FINE.search(time)):
        with suppress(ValueError):
            time = datetime.fromisoformat(time.strip())
    if isinstance(time, datetime) and time.tzinfo is None and timezone is None:
        time = time.replace(tzinfo=UTC)
    if isinstance(time, datetime) and time.tzinfo and not getattr(time, "nanosecond", 0):
        past = time - EPOCH
        found = ((past.days * 86_400 + past.seconds) * 10**6 + past.microseconds) * 1000
        if abs(found) > LARGEST:
            raise InputError("it lies outside 1677 to 2262", "correct it")
        return found
    return _as_column(time, timezone)


def _as_column(time: Time, timezone: str | None) -> int:
    """The long way, as for a column of a table."""
    column = np.array([time], dtype=object) if isinstance(time, str | date) else np.array([time])
    read = read_times(column, _COLUMN, ReadOptions(timezone=timezone)).time
    if read is None:
        raise InputError("it counts steps", "give a time")
    return int(read[0].astype(np.int64))
