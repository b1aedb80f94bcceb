"""From what a user gives to a series with the right channels on a regular grid."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError, UnknownColumn
from caps.series import Series

Moment = int | str | date | np.datetime64
Span = tuple[int, int]
_ROW = re.compile(r"\s*[0-9]{1,18}\s*")


def read_input(source: Any, *, columns: Any = None, time: Any = None) -> Series:
    """Read what `fit` was given; a `Series` may still be cut to columns."""
    if not isinstance(source, Series):
        from caps.series import read  # here, as it needs narwhals

        return read(source, columns=columns, time=time, minimum_rows=1)
    if columns is None:
        return source
    return source.select(*([columns] if isinstance(columns, str) else columns))


def read_channels(source: Any, names: tuple[str, ...], *, time: Any = None) -> Series:
    """The channels of training, by name, in what a scoring method was given.

    Other columns are not looked at: what a model was fitted on is what it scores.
    """
    if isinstance(source, Series):
        missing = [name for name in names if name not in source.channels]
        if missing:
            raise _other_channels(names, missing)
        return source if source.channels == names else source.select(*names)
    from caps.series import read  # here, as it needs narwhals

    try:
        return read(source, columns=names, time=time, minimum_rows=1)
    except UnknownColumn as error:
        missing = [name for name in names if name in error.names]
        raise (_other_channels(names, missing) if missing else error) from None


def _other_channels(names: tuple[str, ...], missing: list[str]) -> InputError:
    return InputError(
        f"the model was fitted on {', '.join(names)}, the input has no {', '.join(missing)}",
        "give the same columns as for fit",
    )


def on_regular_grid(series: Series) -> tuple[Series, NDArray[np.intp], list[str]]:
    """The series without gaps in time, the index of each of its rows there, and remarks.

    Rows at irregular times, or with gaps too long to fill, are taken as equal steps.
    """
    try:
        grid, rows = series.on_grid()
    except InputError as error:
        note = f"{error.problem}: its rows are taken as equal steps, whatever lies between them"
        return series, np.arange(len(series)), [note]
    return grid, rows, []


def spans_of(series: Series, known: Iterable[tuple[Moment, Moment]]) -> list[Span]:
    """Known anomalies as spans of rows, the end exclusive.

    >>> from caps.series import read
    >>> spans_of(read([1.0, 2.0, 3.0, 4.0]), [(1, 3), ("2", "4")])
    [(1, 3), (2, 4)]
    """
    if not isinstance(known, Iterable):
        raise InputError(f"known anomalies {known!r}", "give a list of (start, end)")
    spans = []
    for span in known:
        if not isinstance(span, tuple | list) or len(span) != 2:
            raise InputError(
                f"a known anomaly {span!r}", "give each as (start, end), rows or moments"
            )
        start, end = (_row(series, moment) for moment in span)
        if not 0 <= start < end <= len(series):
            raise InputError(
                f"the known anomaly {span[0]}..{span[1]} covers rows {start} to {end} of "
                f"{len(series)}",
                "name a span with at least one row of the series, the start before the end",
            )
        spans.append((start, end))
    return spans


def _row(series: Series, moment: Moment) -> int:
    if isinstance(moment, str) and _ROW.fullmatch(moment):
        moment = int(moment)
    if isinstance(moment, int | np.integer) and not isinstance(moment, bool):
        return int(moment)
    return series.row_at(moment, f"the known anomaly at {moment!r}")
