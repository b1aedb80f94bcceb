"""The time of one row of a stream as nanoseconds since 1970 in UTC."""

import re
from datetime import UTC, date, datetime

import numpy as np

from caps.errors import InputError
from caps.series.timestamps import TimeFormat, read_times, to_nanoseconds

Time = int | float | str | date | np.datetime64

_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = np.iinfo(np.int64).max


def moment(time: Time) -> int:
    """Read a time: a datetime, ISO text, or an epoch in s, ms, us or ns; without a zone, UTC.

    >>> moment("1970-01-01T00:00:01"), moment(1_700_000_000), moment("1711111100000")
    (1000000000, 1700000000000000000, 1711111100000000000)
    """
    if isinstance(time, np.datetime64) and not np.isnat(time):
        return int(to_nanoseconds(np.array([time]), "time")[0].astype(np.int64))
    if isinstance(time, str):
        if _NUMBER.fullmatch(time):  # else read as a date without dashes
            return _any(time)
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            return _any(time)
    if isinstance(time, datetime) and not getattr(time, "nanosecond", 0):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        past = aware - EPOCH
        nanoseconds = ((past.days * 86_400 + past.seconds) * 10**6 + past.microseconds) * 1000
        if abs(nanoseconds) > LARGEST:
            raise InputError(
                f"the time {str(time)!r} lies outside 1677 to 2262",
                "correct it, or leave out rows with a placeholder date",
            )
        return nanoseconds
    return _any(time)


def _any(time: Time) -> int:
    """The long way, as for a column of a table."""
    column = np.array([time], dtype=object) if isinstance(time, str | date) else np.array([time])
    read = read_times(column, "time", TimeFormat())
    if read.time is None:
        raise InputError(
            f"the time {time!r} is no moment", "give ISO text, a datetime or an epoch since 1973"
        )
    return int(read.time[0].astype(np.int64))
