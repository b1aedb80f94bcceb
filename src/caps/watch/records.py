"""Lines of CSV or NDJSON as rows: an id, a time and one value for each channel."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caps.detect.stream_time import moment
from caps.errors import InputError
from caps.series.columns import MISSING_WORDS
from caps.series.layout import is_time_name

DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it came."""

    series: str
    time: int | None  # nanoseconds since 1970
    values: list[float]


class Records:
    """Reads lines; the first one tells the format and must name the channels."""

    def __init__(
        self,
        channels: Sequence[str],
        *,
        time: str | None = None,
        series: str | None = None,
        timed: bool = True,
    ) -> None:
        self.channels, self.time, self.series, self.timed = channels, time, series, timed
        self.columns: list[str] | None = None  # of CSV; none for NDJSON
        self.delimiter: str | None = None  # None until the first line, "" for NDJSON
        self.malformed = 0
        self.complaint: str | None = None  # about the first malformed line

    def parse(self, lines: Sequence[bytes]) -> list[Record]:
        """The rows in these lines; what cannot be read is counted and left out."""
        found = []
        for line in lines:
            text = line.decode("utf-8", errors="replace").strip().removeprefix("\ufeff")
            if not text:
                continue
            if self.delimiter is None and self._begin(text):
                continue
            try:
                record = self._record(text)
            except (InputError, ValueError, TypeError) as error:
                self.malformed += 1
                self.complaint = self.complaint or f"{text[:80]!r} ({error})"
                continue
            if record is not None:
                found.append(record)
        return found

    def layout(self) -> dict[str, Any]:
        """What the first line said, as JSON values."""
        return {"columns": self.columns, "delimiter": self.delimiter, "time": self.time}

    def restore(self, layout: Mapping[str, Any]) -> None:
        """Go on without a first line."""
        self.columns, self.delimiter = layout["columns"], layout["delimiter"]
        self.time = layout["time"]

    def _begin(self, text: str) -> bool:
        """Learn the format from the first line; True if it was a header."""
        if text.startswith("{"):
            self._find_time(list(_object(text)))
            self.delimiter = ""
            return False
        delimiter = max(DELIMITERS, key=text.count)
        columns = next(csv.reader([text], delimiter=delimiter))
        missing = [name for name in self.channels if name not in columns]
        if missing:
            raise InputError(
                f"the first line has no column {missing[0]!r}: {text[:80]!r}",
                "give a header with the channels of the model, or NDJSON",
            )
        self._find_time(columns)
        self.columns, self.delimiter = columns, delimiter
        return True

    def _find_time(self, names: list[str]) -> None:
        for wanted, option in ((self.time, "--time"), (self.series, "--id")):
            if wanted is not None and wanted not in names:
                raise InputError(
                    f"there is no column {wanted!r}", f"give {option} one of {', '.join(names)}"
                )
        if self.time is not None or not self.timed:
            return
        free = [name for name in names if name not in self.channels and name != self.series]
        self.time = next((name for name in free if is_time_name(name)), None)
        if self.time is None:
            raise InputError(
                f"no column of {', '.join(names)} is called like a time",
                "name the time column with --time",
            )

    def _record(self, text: str) -> Record | None:
        if self.delimiter:
            fields = next(csv.reader([text], delimiter=self.delimiter))
            assert self.columns is not None
            if fields == self.columns:  # the header of a file that was replaced
                return None
            row: Mapping[str, Any] = dict(zip(self.columns, fields, strict=True))
        else:
            row = _object(text)
        time = None
        if self.time is not None:
            if row.get(self.time) in (None, ""):
                raise ValueError("it has no time")
            time = moment(row[self.time])
        series = "" if self.series is None else str(row[self.series])
        return Record(series, time, [_number(row.get(name)) for name in self.channels])


def _object(text: str) -> dict[str, Any]:
    row = json.loads(text)
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    return row


def _number(value: Any) -> float:
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING_WORDS):
        return float("nan")
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no number")
    number = float(value)
    return number if np.isfinite(number) else float("nan")
