"""Which column of a table is the time, and which are the channels."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.errors import InputError, UnknownColumn
from caps.series.columns import Column, is_temporal
from caps.series.options import ReadOptions
from caps.series.tables import Table, as_array
from caps.series.timestamps import looks_like_dates

TIME_NAMES = frozenset(
    {"date", "datetime", "ds", "epoch", "time", "times", "timestamp", "timestamps", "ts"}
    | {"dateandtime", "datetimeutc", "timestamputc", "timeutc", "unixtime", "unixtimestamp"}
)
# What data sets call the column that marks their anomalies.
LABEL_NAMES = frozenset(
    {"label", "labels", "target", "truth", "groundtruth", "gtlabel", "ytrue", "changepoint"}
    | {"anomaly", "anomalies", "anomalous", "anomalylabel", "anomalyflag", "labelanomaly"}
    | {"isanomaly", "isanomalous", "outlier", "outliers", "isoutlier", "outlierlabel"}
)
# What pandas calls a column without a name: an index that was written to the file.
_UNNAMED = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks of a table."""

    time: Any = None  # a name, False for none, an array, or None: find it
    columns: tuple[str | int, ...] | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    minimum_rows: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.minimum_rows, int) or self.minimum_rows < 1:
            raise InputError(
                f"minimum_rows={self.minimum_rows!r} is no number of rows", "give 1 or more"
            )


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The time column chosen; `name` is None for the pandas index and for an array of times."""

    column: Column
    name: str | None
    title: str  # what messages and results call it


def find_time(table: Table, request: Request) -> TimeColumn | None:
    """The time column: as the user says, else by type, by name, or by values that are dates."""
    wanted = request.time
    if wanted is False:
        return None
    if isinstance(wanted, str):
        return _named_time(table, wanted)
    if wanted is not None:
        return _given_time(table, wanted)
    if table.index is not None and is_temporal(table.index):
        return _index_time(table.index)
    taken = {*resolve(table, request.columns or ()), *resolve(table, request.reading.exclude)}
    free = {name: column for name, column in table.columns.items() if name not in taken}
    typed = [name for name, column in free.items() if is_temporal(column)]
    named = [name for name in free if is_time_name(name)]
    if typed:
        return _column_time(table, next((name for name in typed if name in named), typed[0]))
    if table.index is not None and is_time_name(table.index.name):
        return _index_time(table.index)
    dated = named or [name for name, column in free.items() if looks_like_dates(column)]
    if dated:
        return _column_time(table, dated[0])
    if table.index is not None and looks_like_dates(table.index):
        return _index_time(table.index)
    return None


def is_time_name(name: str) -> bool:
    """Whether a column is called like a time: `Timestamp (min)`, `@timestamp`, `date_time`."""
    return _letters(name) in TIME_NAMES


def is_label_name(name: str) -> bool:
    """Whether a column is called like a label: `Label`, `is_anomaly`, `y_true`."""
    return _letters(name) in LABEL_NAMES


def is_label(name: str, values: FloatArray) -> bool:
    """Whether a column is a label by name and by content: it holds 0 and 1 and nothing else."""
    if not is_label_name(name):
        return False
    known = values[~np.isnan(values)]
    return bool(known.size) and bool(np.isin(known, (0.0, 1.0)).all())


def _letters(name: str) -> str:
    """The letters of a name, without what stands in brackets."""
    return re.sub(r"[^a-z]", "", re.sub(r"[(\[].*", "", name.lower()))


def is_unnamed(name: str) -> bool:
    """Whether the name is none: such a column counts rows."""
    return _UNNAMED.fullmatch(name) is not None


def resolve(table: Table, names: Iterable[str | int]) -> list[str]:
    """Column names as the table spells them; a number is a name or else a position."""
    known = list(table.columns)
    found, unknown = [], []
    for name in names:
        if str(name) in table.columns:
            found.append(str(name))
        elif isinstance(name, int) and -len(known) <= name < len(known):
            found.append(known[name])
        else:
            unknown.append(name)
    if unknown:
        raise UnknownColumn(unknown, known)
    return found


def _column_time(table: Table, name: str) -> TimeColumn:
    return TimeColumn(table.columns[name], name, "time" if is_unnamed(name) else name)


def _index_time(index: Any) -> TimeColumn:
    return TimeColumn(index, None, index.name or "index")


def _named_time(table: Table, name: str) -> TimeColumn:
    if name not in table.columns and table.index is not None and table.index.name == name:
        return _index_time(table.index)
    return _column_time(table, *resolve(table, [name]))


def _given_time(table: Table, times: Any) -> TimeColumn:
    column = as_array(times)
    if column.ndim != 1 or len(column) != table.rows:
        raise InputError(
            f"time= has shape {column.shape} for {table.rows} rows",
            "give one time for each row, or the name of the time column",
        )
    return TimeColumn(column, None, "time")
