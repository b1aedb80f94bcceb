"""Lines of CSV or NDJSON as rows: an id, a time and one value for each channel."""

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from caps.errors import InputError
from caps.series import (
    MISSING_WORDS,
    Marks,
    ReadOptions,
    is_time_name,
    read_moment,
    read_quantities,
)
from caps.watch.following import LONGEST

DELIMITERS = ",;\t|"
# What a line of any bytes can raise: the limits of csv, of recursion and of the float range too.
UNREADABLE = (csv.Error, ValueError, TypeError, OverflowError, RecursionError)
PLAIN = re.compile(r"-?\d+(\.\d+)?")  # nothing to look at more closely
SEP_LINE = re.compile(r'"?sep=."?')  # which spreadsheets write and understand


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it came."""

    series: str
    time: int | None  # nanoseconds since 1970
    values: list[float]


@dataclass(eq=False)
class Records:
    """Reads lines; a header, or the first object of NDJSON, tells the format.

    A header may come again, with other columns: the rows after it are read by it. Times and numbers
    are read as `reading` says, units by themselves. `complain` is called with every line that is
    left out and why.
    """

    channels: Sequence[str]
    _: KW_ONLY
    time: str | None = None  # column, if it is named or found
    series: str | None = None  # column of the ids
    timed: bool = True
    reading: ReadOptions = field(default_factory=ReadOptions)
    complain: Callable[[str], None] = lambda complaint: None
    columns: list[str] | None = field(default=None, init=False)  # of CSV; none for NDJSON
    delimiter: str | None = field(default=None, init=False)  # None before a line, "" for NDJSON
    # The layout of the file before this one, which may go on as it was, without a header.
    before: dict[str, Any] | None = field(default=None, init=False)
    lines: int = field(default=0, init=False)  # that were not blank
    malformed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.wanted = self.time
        self.marks = Marks(self.reading.decimal or ".", self.reading.thousands)
        self.usual = self.marks == Marks()
        zone = self.reading.timezone
        self.zone = None if zone is None else ZoneInfo(zone)
        self.latest: dict[str, np.datetime64] = {}  # of each series, where clocks are set back

    def parse(self, lines: Sequence[bytes]) -> list[Record]:
        """The rows in these lines; what cannot be read is counted and left out."""
        found = []
        for line in lines:
            text = line.decode("utf-8", errors="replace").strip().removeprefix("\ufeff")
            if not text:
                continue
            self.lines += 1
            try:
                if len(line) > LONGEST:
                    raise ValueError(f"it is longer than {LONGEST} bytes")
                record = self._record(text)
            except UNREADABLE as error:
                cut_json = text.startswith("{") or text.endswith("}")  # at either end
                if self.delimiter is None and self.before is None and not cut_json:
                    if isinstance(error, InputError):
                        raise
                    raise InputError(
                        f"the first line cannot be read: {text[:80]!r} ({_reason(error)})",
                        "give a header with the channels of the model, or NDJSON",
                    ) from None
                self.malformed += 1
                self.complain(f"{text[:80]!r} ({_reason(error)})")
                continue
            if record is not None:
                found.append(record)
        return found

    def begin_again(self) -> None:
        """Another file follows: its own first line tells the format, or it goes on as before."""
        if self.delimiter is not None:
            self.before = self._now()
        self.columns = self.delimiter = None

    def layout(self) -> dict[str, Any]:
        """What the first line said, as JSON values."""
        return {**self._now(), "before": self.before}

    def restore(self, layout: Mapping[str, Any]) -> None:
        """Go on without a first line."""
        self.columns, self.delimiter = layout["columns"], layout["delimiter"]
        self.time, self.before = layout["time"], layout.get("before")

    def _now(self) -> dict[str, Any]:
        return {"columns": self.columns, "delimiter": self.delimiter, "time": self.time}

    def _record(self, text: str) -> Record | None:
        """The row in a line; None if it is a header."""
        if self.delimiter is None:
            if SEP_LINE.fullmatch(text):
                return None
            self._begin(text)
        if not self.delimiter:
            return self._row(_object(text))
        fields = _fields(text, self.delimiter)
        if self._is_header(fields):
            self.columns = fields
            return None
        if self.time is not None and self.time in fields:
            raise self._other_header(fields)
        assert self.columns is not None
        if len(fields) != len(self.columns):
            raise ValueError(f"it has {len(fields)} fields, the header {len(self.columns)}")
        return self._row(dict(zip(self.columns, fields, strict=True)))

    def _begin(self, text: str) -> None:
        """Learn the format from a first line."""
        if text.startswith("{"):
            self.time = self._time_among(list(_object(text)))
            self.columns, self.delimiter, self.before = None, "", None
            return
        delimiter = max(DELIMITERS, key=text.count)
        fields = _fields(text, delimiter)
        odd = next((name for name in self.channels if fields.count(name) != 1), None)
        if odd is None:
            self.time = self._time_among(fields)
            self.columns, self.delimiter = fields, delimiter
        elif self.before is not None and self.before["delimiter"]:
            if not any(map(_is_number, _fields(text, self.before["delimiter"]))):
                raise self._other_header(fields)
            self.restore(self.before)
        else:
            raise InputError(
                f"the first line has {'two columns' if odd in fields else 'no column'} {odd!r}: "
                f"{text[:80]!r}",
                "give a header with the channels of the model, or NDJSON",
            )
        self.before = None

    def _other_header(self, fields: list[str]) -> InputError:
        """Read no row by the old columns, nor any other before a usable header comes."""
        lacking = [name for name in self.channels if fields.count(name) != 1]
        self.before = {"columns": None, "delimiter": "", "time": self.time}
        self.columns = self.delimiter = None
        return InputError(
            f"a new header has not one {', '.join(map(repr, lacking)) or 'time or id'}",
            "give a header with the channels of the model",
        )

    def _is_header(self, fields: list[str]) -> bool:
        if self.time is None:  # a row may look like names that are numbers
            return fields == self.columns and not all(map(_is_number, fields))
        names = [self.time, *self.channels, *([] if self.series is None else [self.series])]
        return all(fields.count(name) == 1 for name in names)

    def _time_among(self, names: list[str]) -> str | None:
        """The name of the time column, checked with that of the ids."""
        for wanted, option in ((self.wanted, "--time"), (self.series, "--id")):
            if wanted is not None and wanted not in names:
                raise InputError(
                    f"there is no column {wanted!r}", f"give {option} one of {', '.join(names)}"
                )
        if self.wanted is not None or not self.timed:
            return self.wanted
        free = [name for name in names if name not in self.channels and name != self.series]
        found = next((name for name in free if is_time_name(name)), None)
        if found is None:
            raise InputError(
                f"no column of {', '.join(names)} is called like a time",
                "name the time column with --time",
            )
        return found

    def _row(self, row: Mapping[str, Any]) -> Record:
        if not any(name in row for name in self.channels):
            raise ValueError(f"it has none of the channels {', '.join(self.channels)}")
        time = None
        if self.time is not None:
            if row.get(self.time) in (None, ""):
                raise ValueError(f"it has no time ({self.time!r})")
            time = int(self._moment(row).astype(np.int64))
        series = ""
        if self.series is not None:
            if row.get(self.series) is None:
                raise ValueError(f"it has no id ({self.series!r})")
            series = str(row[self.series])
        return Record(series, time, [self._value(row.get(name)) for name in self.channels])

    def _value(self, value: Any) -> float:
        """The number in a value, which may be a text with marks or units."""
        if isinstance(value, str) and not (self.usual and PLAIN.fullmatch(value)):
            found = read_quantities([value], self.marks) if value.strip() else None
            if found is not None:
                return _number(float(found.values[0]))
            if self.marks.decimal == "." and "," in value:
                problem = f"{value[:40]!r} is no number; for a decimal comma give --decimal ,"
                raise ValueError(problem)
        return _number(value)

    def _moment(self, row: Mapping[str, Any]) -> np.datetime64:
        reading, value = self.reading, row[self.time or ""]
        if reading.unit is not None:
            size = np.timedelta64(1, reading.unit) / np.timedelta64(1, "ns")
            return np.datetime64(round(float(value) * size), "ns")
        if reading.time_format is None and self.zone is None:
            return read_moment(value)
        text = str(value).strip()
        local = (
            datetime.fromisoformat(text)
            if reading.time_format is None
            else datetime.strptime(text, reading.time_format)
        )
        if local.tzinfo is None and self.zone is not None:
            return self._utc(local, str(row.get(self.series or "")))
        return read_moment(local)

    def _utc(self, local: datetime, series: str) -> np.datetime64:
        """In UTC; an hour that comes again is the one after clocks were set back."""
        moments = [
            read_moment(local.replace(tzinfo=self.zone, fold=fold).astimezone(UTC))
            for fold in (0, 1)
        ]
        latest = self.latest.get(series)
        again = latest is not None and moments[0] <= latest < moments[1]
        moment = self.latest[series] = moments[int(again)]
        return moment


def _fields(text: str, delimiter: str) -> list[str]:
    return next(csv.reader([text], delimiter=delimiter, strict=True))


def _object(text: str) -> dict[str, Any]:
    row = json.loads(text)
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    return row


def _is_number(field: str) -> bool:
    try:
        return bool(np.isfinite(_number(field)))
    except ValueError:
        return False


def _number(value: Any) -> float:
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING_WORDS):
        return float("nan")
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no number")
    number = float(value)
    if np.isinf(number) and isinstance(value, str) and any(map(str.isdigit, value)):
        raise ValueError(f"{value[:40]!r} is too large a number")
    return number if np.isfinite(number) else float("nan")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return (error.problem if isinstance(error, InputError) else str(error))[:200]
