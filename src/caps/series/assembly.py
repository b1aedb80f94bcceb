"""From a table to a checked `Series`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.series.columns import quantities, rounds_integers
from caps.series.csv_lines import blank_remark
from caps.series.identifiers import identifies, several_series
from caps.series.layout import (
    Request,
    TimeColumn,
    find_time,
    is_label,
    is_label_name,
    is_unnamed,
    resolve,
)
from caps.series.ordering import NEWEST_FIRST, OutOfOrder, newest_first, ordered_rows
from caps.series.origin import Origin, Rows
from caps.series.series import Series
from caps.series.tables import Table
from caps.series.timestamps import Instants, read_times, summer_time

_USE_COLUMN = "to use it as a channel, name it in columns="


@dataclass(frozen=True, slots=True)
class Draft:
    """A series whose values are converted but not yet checked.

    `moments` (times or counted steps) say the order of the rows; infinite values still stand.
    """

    series: Series
    moments: NDArray[Any] | None
    time: TimeColumn | None

    def take(self, rows: Rows) -> "Draft":
        """Some of the rows."""
        moments = None if self.moments is None else self.moments[rows]
        return replace(self, series=self.series.take(rows), moments=moments)


def assemble(table: Table, request: Request) -> Series:
    """A checked series from a table."""
    unchecked = draft(table, request)
    try:
        return check(unchecked, request)
    except OutOfOrder as error:
        assert unchecked.moments is not None  # they are out of order
        assert unchecked.time is not None
        better = several_series(table, unchecked.moments, unchecked.time.title)
        raise (better or error) from None


def draft(table: Table, request: Request) -> Draft:
    """Choose and convert the columns."""
    time = find_time(table, request) if table.rows else None
    if time is not None and time.name is not None and table.blank:
        # The times tell where rows are: a line without one holds nothing and moves nothing.
        table = table.without_blank()
        time = find_time(table, request) if table.rows else None
    if table.rows == 0:
        raise InputError("the series is empty", "give at least two rows and a column of numbers")
    instants = None
    clock_remarks: list[str] = []
    if time is not None:
        instants = read_times(time.column, time.title, request.reading)
        instants, clock_remarks = _with_summer_time(instants, time, request)
    channels, values, remarks = _channels(table, request, time)
    remarks = [*table.remarks, *clock_remarks, *remarks]
    if table.blank:
        remarks.append(blank_remark(table.blank, "read as missing values"))
    if time is not None and instants is not None and instants.counter is not None:
        remarks.append(
            f"column {time.title!r} holds plain numbers, taken as a count of steps; "
            "give unit= or time_format= if they are times"
        )
    series = Series(
        values=values,
        observed=np.isfinite(values),
        channels=tuple(channels),
        time=None if instants is None else instants.time,
        timezone=None if instants is None else instants.timezone,
        origin=_origin(table, time, instants),
        remarks=tuple(remarks),
    )
    return Draft(series, None if instants is None else instants.moments, time)


def _with_summer_time(
    instants: Instants, time: TimeColumn, request: Request
) -> tuple[Instants, list[str]]:
    """Local times whose clocks were set back, in the zone that this gives away."""
    strict = not request.reading.sort and request.reading.duplicates == "error"
    if instants.time is None or instants.timezone is not None or not strict:
        return instants, []
    found = summer_time(instants.time)
    if found is None:
        return instants, []
    utc, zone = found
    remark = (
        f"column {time.title!r} repeats an hour as clocks do at the end of summer time: it is read "
        f"in the zone {zone}; give timezone= if it is another"
    )
    return replace(instants, time=utc, timezone=zone), [remark]


def check(unchecked: Draft, request: Request) -> Series:
    """Put the rows in order, mask infinite values and refuse what cannot be analysed."""
    series = unchecked.series
    if unchecked.moments is not None and unchecked.time is not None:
        rows = ordered_rows(
            unchecked.moments,
            name=unchecked.time.title,
            sort=request.reading.sort,
            duplicates=request.reading.duplicates,
        )
        series = series if rows is None else series.take(rows)
        if not request.reading.sort and newest_first(unchecked.moments):
            series = replace(series, remarks=(*series.remarks, NEWEST_FIRST))
    _refuse_useless(series, request.minimum_rows)
    series = _mask_infinite(series)
    series.values.flags.writeable = False
    series.observed.flags.writeable = False
    return series


def _refuse_useless(series: Series, minimum_rows: int) -> None:
    if len(series) < minimum_rows:
        raise InputError(
            f"the series has {len(series)} row{'s' if len(series) != 1 else ''}, "
            f"at least {minimum_rows} are needed",
            "give more rows",
        )
    if not series.observed.any():
        raise InputError(
            f"no value was observed: {', '.join(series.channels)} "
            f"{'are' if len(series.channels) > 1 else 'is'} missing in every row",
            "check the column names, the delimiter and the missing-value marks of the source",
        )


def _mask_infinite(series: Series) -> Series:
    infinite = np.isinf(series.values)
    counts = infinite.sum(axis=0)
    if not counts.any():
        return series
    remarks = [
        f"channel {name!r}: {count} infinite values are treated as missing"
        for name, count in zip(series.channels, counts, strict=True)
        if count
    ]
    values = np.where(infinite, np.nan, series.values)
    return replace(series, values=values, remarks=(*series.remarks, *remarks))


def _channels(
    table: Table, request: Request, time: TimeColumn | None
) -> tuple[list[str], FloatArray, list[str]]:
    """Names and values of the channels, and remarks on the columns that were left out."""
    excluded = resolve(table, request.reading.exclude)
    explicit = request.columns is not None
    names = resolve(table, request.columns) if request.columns is not None else list(table.columns)
    if len(set(names)) < len(names):
        raise InputError("columns= names a column more than once", "name each column once")
    channels: dict[str, FloatArray] = {}
    labels: list[str] = []
    remarks: list[str] = []
    for name in names:
        if name in excluded or (time is not None and name == time.name and not explicit):
            continue
        if is_unnamed(name) and not explicit:
            remarks.append(f"column {name!r} has no name and is ignored as a row number")
            continue
        found = quantities(table.columns[name], name, table.marks)
        if found is None:
            if explicit:
                raise InputError(f"column {name!r} holds no numbers", "name columns of numbers")
            remarks.append(f"column {name!r} holds no numbers and is ignored")
            continue
        array = found.values
        if found.remark:
            remarks.append(f"column {name!r} {found.remark}")
        if not explicit and is_label(name, array):
            labels.append(name)
            continue
        if not explicit and is_label_name(name):
            remarks.append(
                f"channel {name!r} is read as a measurement, its name suggests a label: "
                "leave it out with exclude=, or name the others in columns="
            )
        if rounds_integers(table.columns[name], array):
            remarks.append(f"column {name!r}: integers beyond 2**53 are rounded to 16 digits")
        channels[name] = array
    if not channels:
        raise _no_channel(table, labels)
    if not explicit:
        remarks += _leave_out_identifiers(channels)
    remarks += [
        f"column {name!r} is called like a label and holds only 0 and 1: it is left out; "
        f"{_USE_COLUMN}"
        for name in labels
    ]
    return list(channels), np.column_stack(list(channels.values())), remarks


def _leave_out_identifiers(channels: dict[str, FloatArray]) -> list[str]:
    """Drop what only tells rows apart, if something else is left; remarks on what was dropped."""
    reasons = {name: identifies(name, values) for name, values in channels.items()}
    if all(reasons.values()):
        return []
    remarks = []
    for name, reason in reasons.items():
        if reason is not None:
            del channels[name]
            remarks.append(f"column {name!r} {reason}: it is left out; {_USE_COLUMN}")
    return remarks


def _no_channel(table: Table, labels: list[str]) -> InputError:
    if labels:
        return InputError(
            f"there is nothing to read but {', '.join(labels)}, called like a label and holding "
            "only 0 and 1",
            _USE_COLUMN,
        )
    return InputError(
        f"there is no column of numbers among {', '.join(table.columns)}",
        "give at least one numeric column beside the time",
    )


def _origin(table: Table, time: TimeColumn | None, instants: Instants | None) -> Origin:
    if time is None or instants is None or time.column is table.index:
        return table.origin
    # Files give their times back parsed; a count of steps has no other form than its own.
    keep = not table.from_file or instants.time is None
    return replace(table.origin, time_name=time.title, time_column=time.column if keep else None)
