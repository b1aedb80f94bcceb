"""`read` and `read_many`: the ways into CAPS."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from caps.errors import InputError
from caps.series.assembly import assemble, check, draft
from caps.series.columns import is_missing, to_list
from caps.series.files import read_file
from caps.series.layout import Request, resolve
from caps.series.options import Duplicates, ReadOptions, Unit
from caps.series.series import Series
from caps.series.tables import Table, table_of

Names = str | int | Iterable[str | int]


class Format(TypedDict, total=False):
    """How times and CSV files are written; what is left out is recognised.

    `unit` of epoch numbers, `time_format` as for strftime, `timezone` of times without one;
    `decimal` and `thousands` marks of numbers; `delimiter`, `header` and `encoding` of a CSV file.
    """

    unit: Unit | None
    time_format: str | None
    timezone: str | None
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    header: bool | None
    encoding: str


def read(
    source: Any,
    *,
    time: Any = None,
    columns: Names | None = None,
    exclude: Names = (),
    sort: bool = False,
    duplicates: Duplicates = "error",
    minimum_rows: int = 2,
    **format: Unpack[Format],
) -> Series:
    """Read one series from an array, list, mapping, frame (pandas, polars, Arrow) or file path.

    `time` names the time column, gives the times themselves, or is False for none; left out, it
    is found by type, then by name, then by values that are dates. `columns` are the channels
    (default: every numeric column but the time and those in `exclude`). Unsorted rows and repeated
    times are errors unless `sort` and `duplicates` ("keep", "first", "last") say otherwise; rows
    that come newest first are turned round.

    >>> series = read({"time": ["2024-01-01", "2024-01-02", "2024-01-03"], "load": [1.0, None, 3]})
    >>> series
    Series(3 rows, 1 channel, 2024-01-01T00:00:00 to 2024-01-03T00:00:00, step 1 d)
    >>> series.observed[:, 0].tolist()
    [True, False, True]
    """
    request = _asked(
        time, columns, exclude, minimum_rows, sort=sort, duplicates=duplicates, **format
    )
    if isinstance(source, Series):
        if time is not None or replace(request, minimum_rows=2) != Request():
            raise InputError("the source is a Series already", "give it without further options")
        return source
    return assemble(_table(source, request.reading), request)


def read_many(
    source: Any,
    *,
    id: str,
    value: Names,
    time: str | Literal[False] | None = None,
    sort: bool = False,
    duplicates: Duplicates = "error",
    minimum_rows: int = 2,
    **format: Unpack[Format],
) -> dict[str, Series]:
    """Read many series from a long table with one row per (id, time), in order of appearance.

    >>> table = {"id": ["a", "b", "a", "b"], "time": [0, 0, 1, 1], "value": [1, 2, 3, 4]}
    >>> many = read_many(table, id="id", time="time", value="value")
    >>> {name: series.values[:, 0].tolist() for name, series in many.items()}
    {'a': [1.0, 3.0], 'b': [2.0, 4.0]}
    """
    request = _asked(time, value, (id,), minimum_rows, sort=sort, duplicates=duplicates, **format)
    table = _table(source, request.reading).without_blank()  # such a line has no id
    whole = draft(table, request)
    many = {}
    for name, rows in _rows_by_id(table, id).items():
        try:
            many[name] = check(whole.take(rows), request)
        except InputError as error:
            raise InputError(f"series {name!r}: {error.problem}", error.remedy) from None
    return many


def _table(source: Any, reading: ReadOptions) -> Table:
    if isinstance(source, str | os.PathLike):
        return read_file(Path(source), reading)
    return replace(table_of(source), marks=reading.marks)


def _rows_by_id(table: Table, id: str) -> dict[str, np.ndarray[Any, np.dtype[np.intp]]]:
    """The rows of each id, ids in order of first appearance."""
    (name,) = resolve(table, [id])
    labels = to_list(table.columns[name])
    missing = next((row for row, label in enumerate(labels) if is_missing(label)), None)
    if missing is not None:
        raise InputError(
            f"the id in column {id!r} is missing in row {missing}", "give every row an id"
        )
    ids, first, codes = np.unique(
        np.array([str(label) for label in labels]), return_index=True, return_inverse=True
    )
    groups = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return {str(ids[index]): groups[index] for index in np.argsort(first)}


def _names(names: Names) -> tuple[str | int, ...]:
    if isinstance(names, str | int):
        return (names,)
    if not isinstance(names, Iterable):
        raise InputError(f"columns {names!r}", "give names of columns")
    return tuple(names)


def _asked(
    time: Any, columns: Names | None, exclude: Names, minimum_rows: int, **options: Any
) -> Request:
    """What is asked of a table."""
    names = None if columns is None else _names(columns)
    return Request(time, names, ReadOptions(exclude=_names(exclude), **options), minimum_rows)
