"""From what a user gives to a series with the right channels on a regular grid, counters as rates.

Requests served, bytes sent, errors so far: the value of a counter is new in every row, and what
is odd about it is how fast it rises.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError, UnknownColumn
from caps.scoring.config import CounterConfig
from caps.series import ReadOptions, Series

Moment = int | str | date | np.datetime64
Span = tuple[int, int]
_ROW = re.compile(r"\s*[0-9]{1,18}\s*")


def read_input(
    source: Any, *, columns: Any = None, time: Any = None, reading: ReadOptions | None = None
) -> Series:
    """Read what `fit` was given; a `Series` may still be cut to columns."""
    if not isinstance(source, Series):
        from caps.series import read  # narwhals: a tenth of a second that arrays do without

        given = {} if reading is None else reading.given()
        return read(source, columns=columns, time=time, minimum_rows=1, **given)
    if columns is None:
        return source
    return source.select(*([columns] if isinstance(columns, str) else columns))


def read_channels(
    source: Any,
    names: tuple[str, ...],
    *,
    time: Any = None,
    reading: ReadOptions | None = None,
) -> Series:
    """The channels of training, by name, in what a scoring method was given.

    Other columns are not looked at: what a model was fitted on is what it scores.
    """
    if isinstance(source, Series):
        missing = [name for name in names if name not in source.channels]
        if missing:
            raise _other_channels(names, missing)
        return source if source.channels == names else source.select(*names)
    from caps.series import read  # narwhals: a tenth of a second that arrays do without

    given = {} if reading is None else reading.given()
    given.pop("exclude", None)  # the channels are known
    try:
        return read(source, columns=names, time=time, minimum_rows=1, **given)
    except UnknownColumn as error:
        if _width(source) == len(names):
            return _by_position(source, names, time)
        missing = [name for name in names if name in error.names]
        raise (_other_channels(names, missing) if missing else error) from None


def _width(source: Any) -> int | None:
    """The number of columns of an array or list, which have no names; None for all else."""
    if not isinstance(source, np.ndarray | list | tuple):
        return None
    array = np.asarray(source)
    if array.dtype.names is not None or array.ndim not in (1, 2):
        return None
    return 1 if array.ndim == 1 else int(array.shape[1])


def _by_position(source: Any, names: tuple[str, ...], time: Any) -> Series:
    """The columns of an array as the channels, in their order."""
    from caps.series import read  # narwhals: a tenth of a second that arrays do without

    clock = None if isinstance(time, str) else time
    series = read(source, columns=range(len(names)), time=clock, minimum_rows=1)
    return replace(series, channels=names)


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


DEFAULT = CounterConfig()


def is_counter(values: FloatArray, config: CounterConfig = DEFAULT) -> bool:
    """Whether training rows of a channel rise like a counter; not-a-number for missing.

    >>> rising = np.cumsum(np.arange(200.0) % 7)
    >>> is_counter(rising), is_counter(np.sin(rising)), is_counter(-rising)
    (True, False, False)
    """
    known = values[np.isfinite(values)]
    if len(known) <= config.fewest_rises or known.min() < 0:
        return False
    steps = np.diff(known)
    rises, falls = steps[steps > 0], np.flatnonzero(steps < 0)
    if len(rises) < max(config.fewest_rises, config.rising * len(steps)):
        return False
    if rises.sum() < config.span * rises.max():
        return False
    few = len(falls) <= 1 + config.falls * len(known)
    return few and bool(np.all(known[falls + 1] <= config.left_over * known[falls]))


def find_counters(
    train: Series, known: Sequence[tuple[int, int]], config: CounterConfig
) -> tuple[str, ...]:
    """The counters among the channels of a training part; `known` anomalies are left out."""
    clean = train.values_without(known)
    return tuple(
        name for column, name in enumerate(train.channels) if is_counter(clean[:, column], config)
    )


def rates(values: FloatArray) -> FloatArray:
    """How much a counter rose in each row; not-a-number where it or the row before is missing.

    After a restart that is what it has counted since zero.

    >>> rates(np.array([5.0, 7.0, 7.0, 1.0, np.nan, 4.0])).tolist()
    [nan, 2.0, 0.0, 1.0, nan, nan]
    """
    steps = np.diff(values, axis=0, prepend=np.full_like(values[:1], np.nan))
    return np.where(steps < 0, values, steps)


def with_rates(series: Series, counters: Sequence[str]) -> Series:
    """The series with rates in place of its counters; on a regular grid."""
    columns = [column for column, name in enumerate(series.channels) if name in counters]
    if not columns:
        return series
    values = series.values.copy()
    values[:, columns] = rates(values[:, columns])
    return replace(series, values=values, observed=np.isfinite(values))
