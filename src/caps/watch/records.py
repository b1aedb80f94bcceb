"""Lines of CSV or NDJSON as rows: an id, a time and one value for each channel."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from caps.errors import InputError
from caps.series import MISSING_WORDS, is_time_name, read_moment
from caps.watch.following import LONGEST

DELIMITERS = ",;\t|"
# What a line of any bytes can raise: the limits of csv, of recursion and of the float range too.
UNREADABLE = (csv.Error, ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it came."""

    series: str
    time: int | None  # nanoseconds since 1970
    values: list[float]


@dataclass(eq=False)
class Records:
    """Reads lines; a header, or the first object of NDJSON, tells the format.

    A header may come again, with other columns: the rows after it are read by it. `complain` is
    called with every line that is left out and why.
    """

    channels: Sequence[str]
    _: KW_ONLY
    time: str | None = None  # column, if it is named or found
    series: str | None = None  # column of the ids
    timed: bool = True
    complain: Callable[[str], None] = lambda complaint: None
    columns: list[str] | None = field(default=None, init=False)  # of CSV; none for NDJSON
    delimiter: str | None = field(default=None, init=False)  # None before a line, "" for NDJSON
    # The layout of the file before this one, which may go on as it was, without a header.
    before: dict[str, Any] | None = field(default=None, init=False)
    lines: int = field(default=0, init=False)  # that were not blank
    malformed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.wanted = self.time

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
            time = int(read_moment(row[self.time]).astype(np.int64))
        series = ""
        if self.series is not None:
            if row.get(self.series) is None:
                raise ValueError(f"it has no id ({self.series!r})")
            series = str(row[self.series])
        return Record(series, time, [_number(row.get(name)) for name in self.channels])


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
