"""Times of any library as datetime64[ns] in UTC: typed columns, epoch numbers, text."""

import re
import warnings
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.series.columns import (
    Column,
    is_missing,
    is_number,
    is_temporal,
    is_text,
    quantities,
    to_list,
)
from caps.series.options import ReadOptions, Unit, check_zone
from caps.series.quantities import MISSING_WORDS, Marks

if TYPE_CHECKING:
    import pandas as pd  # half a second that arrays do without

TimeArray = NDArray[np.datetime64]

NANOSECONDS: dict[Unit, int] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Smallest number read as an epoch in each unit: 1e8 s is March 1973 and 1e11 s is the year 5138,
# so the four bands meet and every time from 1973 on falls into one. Smaller numbers count steps.
EPOCH_FROM: dict[Unit, float] = {"ns": 1e17, "us": 1e14, "ms": 1e11, "s": 1e8}
_FIRST, _LAST = np.datetime64("1677-09-22", "s"), np.datetime64("2262-04-11", "s")
FINER = ("ps", "fs", "as")  # than nanoseconds: they reach some days around 1970
# One for each hour that is repeated somewhere, those with most people first.
ZONES = (
    "Europe/Berlin", "America/New_York", "Europe/London", "Europe/Helsinki", "Australia/Sydney",
    "America/Santiago",
)  # fmt: skip
HOUR = np.timedelta64(1, "h")
MOST_YEARS = 60
_ISO_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_DAY_OR_MONTH_FIRST = re.compile(r"\s*(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}.*")
_SPACES = str.maketrans("\u00a0\u202f", "  ")  # before AM and PM, as browsers write them
_COMMA_FRACTION = re.compile(r"(:\d{2}),(\d{1,9})\b")
_HALF_DAY = re.compile(
    r"(?P<date>.*\d)(?P<gap>,?\s+)(?P<clock>\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)\s?[AP]M", re.IGNORECASE
)
_YEAR_FIRST = re.compile(r"\d{4}(\D)\d{1,2}\D\d{1,2}")
_YEAR_LAST = re.compile(r"\d{1,2}(\D)\d{1,2}\D\d{4}")
_OFFSET = re.compile(r".*\d(Z|[+-]\d{2}:?\d{2})\s*")


@dataclass(frozen=True, slots=True)
class Instants:
    """A time column that was read: `time` in UTC, or a `counter` that orders the rows only."""

    time: TimeArray | None
    counter: NDArray[Any] | None = None
    timezone: str | None = None

    @property
    def moments(self) -> NDArray[Any] | None:
        """What says the order of the rows."""
        return self.counter if self.time is None else self.time


def looks_like_dates(column: Column) -> bool:
    """Whether the first few values are date objects, or text with the year first."""
    if is_number(column) or is_temporal(column):
        return False
    sample = [value for value in to_list(column[:20]) if not is_missing(value)]
    return bool(sample) and all(
        isinstance(value, date)
        or (isinstance(value, str) and _ISO_DATE.fullmatch(value.strip()) is not None)
        for value in sample
    )


def read_times(column: Column, name: str, wanted: ReadOptions) -> Instants:
    """Read a time column; every row needs a time."""
    if is_temporal(column):
        return _typed_times(column, name, wanted)
    if wanted.time_format is not None:
        texts = [value if is_missing(value) else str(value) for value in to_list(column)]
        return _text_times(texts, name, wanted)
    if is_number(column):
        return _number_times(_plain_numbers(column, name), name, wanted)
    objects = to_list(column)
    first = next((value for value in objects if not is_missing(value)), None)
    if isinstance(first, str):
        if _PLAIN_NUMBER.fullmatch(first.strip()):
            return _number_times(_plain_numbers(column, name), name, wanted)
        return _text_times(objects, name, wanted)
    return _object_times(objects, name, wanted)


def to_nanoseconds(times: NDArray[Any], name: str) -> TimeArray:
    """Change the unit to nanoseconds, where numpy itself would wrap around without a word."""
    missing = np.isnat(times)
    if missing.any():
        row = int(missing.argmax())
        raise InputError(
            f"the time in column {name!r} is missing in row {row}",
            "fill in the time of this row or leave the row out",
        )
    outside = _outside(times)
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            f"the time {times[row]} in column {name!r} (row {row}) lies outside 1677 to 2262",
            "correct it, or leave out rows with a placeholder date",
        )
    return cast(TimeArray, times.astype("datetime64[ns]"))


def _outside(times: NDArray[Any]) -> NDArray[np.bool_]:
    """Which times nanoseconds cannot hold."""
    if np.datetime_data(times.dtype)[0] in FINER:
        return np.zeros(times.shape, dtype=bool)
    # In the unit of the times first: where years are counted, seconds would wrap around, too.
    outside = _beyond(times)
    return outside if outside.any() else _beyond(times.astype("datetime64[s]"))


def _beyond(times: NDArray[Any]) -> NDArray[np.bool_]:
    first, last = _FIRST.astype(times.dtype), _LAST.astype(times.dtype)
    return np.asarray((times < first) | (times > last))


def _typed_times(column: Column, name: str, wanted: ReadOptions) -> Instants:
    if isinstance(column, np.ndarray):
        return _in_utc(to_nanoseconds(column, name), None, name, wanted)
    import narwhals as nw  # a tenth of a second that arrays do without

    zone = column.dtype.time_zone if isinstance(column.dtype, nw.Datetime) else None
    if zone is not None:
        check_zone(zone)
    # The libraries give zone-aware columns to numpy in UTC.
    return _in_utc(to_nanoseconds(column.to_numpy(), name), zone, name, wanted)


def _in_utc(times: TimeArray, zone: str | None, name: str, wanted: ReadOptions) -> Instants:
    """Move times without a zone from the zone the user named to UTC."""
    if zone is not None or wanted.timezone is None:
        return Instants(times, timezone=wanted.timezone or zone)
    import pandas as pd  # half a second that arrays do without

    try:
        local = pd.DatetimeIndex(times).tz_localize(wanted.timezone, ambiguous="infer")
    except ValueError as error:
        cause = str(error).partition(". Try using")[0]
        raise InputError(
            f"column {name!r} does not fit the clock changes of {wanted.timezone} ({cause})",
            "write the times in UTC or with their offset (+02:00)",
        ) from None
    return Instants(_index_to_utc(local, name), timezone=wanted.timezone)


def _index_to_utc(index: "pd.DatetimeIndex", name: str) -> TimeArray:
    naive = index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
    return to_nanoseconds(naive.to_numpy(), name)


def _plain_numbers(column: Column, name: str) -> NDArray[Any]:
    """Numbers as they are: an epoch in nanoseconds does not survive float64."""
    if isinstance(column, np.ndarray):
        values = column if column.dtype.kind in "iuf" else None
    else:
        whole = column.dtype.is_integer() and not column.is_null().any()
        values = column.to_numpy() if whole else None
    if values is None:
        found = quantities(column, name, Marks())
        if found is None:
            raise InputError(f"column {name!r} holds no times", "name the time column with time=")
        values = found.values
    array = np.asarray(values)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.isfinite(array).argmin())
        raise InputError(
            f"the time in column {name!r} is missing or infinite in row {row}",
            "fill in the time of this row or leave the row out",
        )
    return array


def _number_times(values: NDArray[Any], name: str, wanted: ReadOptions) -> Instants:
    unit = wanted.unit or _epoch_unit(values, name)
    if unit is None:
        return Instants(None, values)
    factor = NANOSECONDS[unit]
    limit = np.iinfo(np.int64).max // factor
    if values.size and (values.max() > limit or values.min() < -limit):
        raise InputError(
            f"the numbers in column {name!r} reach beyond the year 2262 in {unit}",
            "give the right unit= (s, ms, us or ns)",
        )
    whole = np.floor(values).astype(np.int64)
    nanoseconds = whole * factor
    if values.dtype.kind == "f":
        # A float holds seconds of our time to about a microsecond: the digits below are noise.
        grain = min(factor, 1000)
        nanoseconds += np.rint((values - whole) * (factor / grain)).astype(np.int64) * grain
    return _in_utc(nanoseconds.view("datetime64[ns]"), "UTC", name, wanted)


def _epoch_unit(values: NDArray[Any], name: str) -> Unit | None:
    """Tell s, ms, us and ns apart by magnitude; None when the numbers merely count steps."""
    if values.size == 0:
        return None
    low, high = float(values.min()), float(values.max())
    if abs(low) < EPOCH_FROM["s"] and abs(high) < EPOCH_FROM["s"]:
        return None
    units = {
        next((unit for unit, least in EPOCH_FROM.items() if value >= least), None)
        for value in (low, high)
    }
    if len(units) > 1:
        raise InputError(
            f"column {name!r} runs from {low:g} to {high:g}, which fits no single epoch unit",
            "give unit= (s, ms, us or ns), or time=False if these are no times",
        )
    return units.pop()


def _object_times(objects: list[Any], name: str, wanted: ReadOptions) -> Instants:
    import pandas as pd  # half a second that arrays do without

    try:
        # Left to itself, pandas takes a stray number among dates for nanoseconds since 1970.
        for value in objects:
            if not (is_missing(value) or isinstance(value, date | np.datetime64)):
                raise TypeError(f"found {value!r}")
        index = pd.DatetimeIndex(pd.to_datetime(objects))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"column {name!r} cannot be read as times ({error})",
            "name the time column with time=, or give time=False to do without",
        ) from None
    return _in_utc(_index_to_utc(index, name), _zone_name(index), name, wanted)


def _text_times(texts: list[Any], name: str, wanted: ReadOptions) -> Instants:
    odd = next((row for row, text in enumerate(texts) if not is_text(text)), None)
    if odd is not None:
        raise InputError(
            f"column {name!r} mixes text with {type(texts[odd]).__name__} values "
            f"({texts[odd]!r} in row {odd})",
            "write all times in one way",
        )
    day_first = False
    if wanted.time_format is None:
        texts = [text if is_missing(text) else _plain_text(text) for text in texts]
        day_first = _day_first(texts, name)
    index = _parse(texts, wanted.time_format, day_first)
    if index is None:
        _mixed_zones(texts, name)
        index = _parse(texts, wanted.time_format, day_first, utc=True)
    if index is None:
        raise _unreadable(texts, name)
    return _in_utc(_index_to_utc(index, name), _zone_name(index), name, wanted)


def _parse(
    texts: list[Any], pattern: str | None, day_first: bool, *, utc: bool = False
) -> "pd.DatetimeIndex | None":
    """Parse text strictly; None when some value does not fit or the offsets differ."""
    import pandas as pd  # half a second that arrays do without

    attempts: list[dict[str, Any]] = [{"format": "ISO8601"}, {"dayfirst": day_first}]
    pattern = pattern or _half_day_pattern(texts, day_first=day_first)
    if pattern is not None:
        attempts = [{"format": pattern}]
    for attempt in attempts:
        try:
            with warnings.catch_warnings():
                # pandas warns before it starts to guess value by value: no guessing here.
                warnings.simplefilter("error", UserWarning)
                return pd.DatetimeIndex(pd.to_datetime(texts, utc=utc, **attempt))
        except (TypeError, ValueError, UserWarning):
            continue
    return None


def _plain_text(text: str) -> str:
    """With ordinary spaces, and a point before fractions of seconds."""
    return _COMMA_FRACTION.sub(r"\1.\2", text.translate(_SPACES))


def _half_day_pattern(texts: list[Any], *, day_first: bool) -> str | None:
    """How times with AM and PM are written, which pandas does not find out; None for others.

    >>> _half_day_pattern(["3/20/2024, 1:05 PM"], day_first=False)
    '%m/%d/%Y, %I:%M %p'
    """
    first = str(next((text for text in texts if not _blank(text)), "")).strip()
    found = _HALF_DAY.fullmatch(first)
    if found is None:
        return None
    if same := _YEAR_FIRST.fullmatch(found["date"]):
        date = same[1].join(("%Y", "%m", "%d"))
    elif same := _YEAR_LAST.fullmatch(found["date"]):
        date = same[1].join(("%d", "%m", "%Y") if day_first else ("%m", "%d", "%Y"))
    elif re.fullmatch(r"[A-Za-z]+ \d{1,2}, \d{4}", found["date"]):
        date = f"{'%b' if len(first.split()[0]) == 3 else '%B'} %d, %Y"
    else:
        return None
    clock = ("%I:%M", "%I:%M:%S")[found["clock"].count(":") - 1]
    fraction = ".%f" if "." in found["clock"] else ""
    return f"{date}{found['gap']}{clock}{fraction}{' ' if first[-3] == ' ' else ''}%p"


def _mixed_zones(texts: list[Any], name: str) -> None:
    """Refuse a column in which some times carry an offset and others do not."""
    aware = [bool(_OFFSET.fullmatch(str(text))) for text in texts if not is_missing(text)]
    if any(aware) and not all(aware):
        raise InputError(
            f"some times in column {name!r} carry an offset from UTC and others do not",
            "write all of them with an offset, or none",
        )


def _unreadable(texts: list[Any], name: str) -> InputError:
    import pandas as pd  # half a second that arrays do without

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parsed = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")
    bad = next(
        (row for row, stamp in enumerate(parsed.isna()) if stamp and not _blank(texts[row])), 0
    )
    return InputError(
        f"column {name!r} cannot be read as times ({texts[bad]!r} in row {bad})",
        'give time_format= (such as "%d.%m.%Y %H:%M"), name another column with time=, '
        "or give time=False to do without",
    )


def _blank(value: object) -> bool:
    return is_missing(value) or str(value).strip().lower() in MISSING_WORDS


def _day_first(texts: list[Any], name: str) -> bool:
    """Decide between 31/12/2024 and 12/31/2024 from the whole column, never by custom."""
    first = next((text for text in texts if not _blank(text)), "")
    if not _DAY_OR_MONTH_FIRST.fullmatch(str(first)):
        return False
    matches = [_DAY_OR_MONTH_FIRST.fullmatch(str(text)) for text in texts if not _blank(text)]
    pairs = np.array([(int(m[1]), int(m[2])) for m in matches if m is not None])
    left, right = pairs.max(axis=0)
    if left <= 12 and right <= 12 and (pairs[:, 0] != pairs[:, 1]).any():
        for day, month in ((0, 1), (1, 0)):
            if _counts_days(pairs[:, day], pairs[:, month]):
                return day == 0
        raise InputError(
            f"dates such as {first!r} in column {name!r} may start with the day or the month",
            'give time_format= (such as "%d/%m/%Y" or "%m/%d/%Y %H:%M")',
        )
    return bool(left > 12)


def _counts_days(days: NDArray[np.intp], months: NDArray[np.intp]) -> bool:
    """Whether some days of one month follow each other, with several rows a day.

    Months do not: who has several rows on the first of January has some on the second.
    """
    changes = np.diff(days)
    changes = changes[changes != 0]
    if len(changes) == 0 or (months != months[0]).any():
        return False
    follow = bool(np.all(changes == changes[0])) and abs(int(changes[0])) == 1
    return follow and len(days) >= 4 * (len(changes) + 1)


def _zone_name(index: "pd.DatetimeIndex") -> str | None:
    return None if index.tz is None else str(index.tz)


def summer_time(times: TimeArray) -> tuple[TimeArray, str] | None:
    """Times in UTC and their zone, where all that keeps them from rising are clocks set back.

    >>> clock = ["01:00", "02:00", "02:00", "03:00"]  # two hours after midnight, and again
    >>> local = np.array([f"2024-10-27T{hour}" for hour in clock], dtype="datetime64[ns]")
    >>> utc, zone = summer_time(local)
    >>> zone, np.diff(utc).astype("timedelta64[h]").tolist() == [HOUR.item()] * 3
    ('Europe/Berlin', True)
    """
    steps = np.diff(times)
    set_back = steps <= np.timedelta64(0, "ns")
    if not 0 < set_back.sum() <= MOST_YEARS or bool(np.any(steps < -HOUR)):
        return None
    import pandas as pd  # half a second that arrays do without

    local = pd.DatetimeIndex(times)
    for zone in ZONES:
        try:
            utc = local.tz_localize(zone, ambiguous="infer").tz_convert("UTC").tz_localize(None)
        except ValueError:  # clocks were not set back then, or an hour is there that never was
            continue
        if utc.is_monotonic_increasing and utc.is_unique:
            return utc.to_numpy(), zone
    return None
