"""Rows whose times and numbers are written in a way of their own."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from caps.series import Marks, ReadOptions, read_moment, read_quantities
from caps.watch.records import Record, Records

PLAIN = re.compile(r"-?\d+(\.\d+)?")  # nothing to look at more closely
SEP_LINE = re.compile(r'"?sep=."?')  # which spreadsheets write and understand


@dataclass(eq=False)
class WrittenRecords(Records):
    """Records read as `reading` says; units are understood by themselves."""

    _: KW_ONLY
    reading: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.marks = Marks(self.reading.decimal or ".", self.reading.thousands)
        self.usual = self.marks == Marks()
        zone = self.reading.timezone
        self.zone = None if zone is None else ZoneInfo(zone)
        self.latest: dict[str, np.datetime64] = {}  # of each series, where clocks are set back

    def _record(self, text: str) -> Record | None:
        if self.delimiter is None and SEP_LINE.fullmatch(text):
            return None
        return super()._record(text)

    def _row(self, row: Mapping[str, Any]) -> Record:
        plain = {
            name: self._number(value) if name in self.channels else value
            for name, value in row.items()
        }
        if self.time is not None and row.get(self.time) not in (None, ""):
            plain[self.time] = self._moment(row[self.time], str(row.get(self.series or "")))
        return super()._row(plain)

    def _number(self, value: Any) -> Any:
        """The number in a text with marks or units; all else as it is, for others to refuse."""
        if not isinstance(value, str) or (self.usual and PLAIN.fullmatch(value)):
            return value
        found = read_quantities([value], self.marks) if value.strip() else None
        if found is None and self.marks.decimal == "." and "," in value:
            raise ValueError(f"{value[:40]!r} is no number; for a decimal comma give --decimal ,")
        return value if found is None else float(found.values[0])

    def _moment(self, value: Any, series: str) -> Any:
        reading = self.reading
        if reading.unit is not None:
            size = np.timedelta64(1, reading.unit) / np.timedelta64(1, "ns")
            return np.datetime64(round(float(value) * size), "ns")
        if reading.time_format is None and self.zone is None:
            return value
        text = str(value).strip()
        local = (
            datetime.fromisoformat(text)
            if reading.time_format is None
            else datetime.strptime(text, reading.time_format)
        )
        if local.tzinfo is None and self.zone is not None:
            return self._utc(local, series)
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
