"""Rows must come in time order, each time once, unless the user says otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.series.moments import write_moment
from caps.series.options import Duplicates

NEWEST_FIRST = "the rows come newest first and are read in reverse"
HOUR = np.timedelta64(1, "h")


class OutOfOrder(InputError):
    """Rows whose times go back or come again."""


def ordered_rows(
    moments: NDArray[Any], *, name: str, sort: bool, duplicates: Duplicates
) -> NDArray[np.intp] | None:
    """The rows to take, in order; None when all rows are good as they are.

    >>> ordered_rows(np.array([3, 1, 2]), name="time", sort=True, duplicates="error")
    array([1, 2, 0])
    """
    order = None
    backwards = moments[1:] < moments[:-1]
    if not sort and newest_first(moments):
        order = np.arange(len(moments))[::-1]
        moments = moments[order]
    elif backwards.any():
        if not sort:
            raise _backwards(moments, int(backwards.argmax()) + 1, name)
        order = np.argsort(moments, kind="stable")
        moments = moments[order]
    repeated = moments[1:] == moments[:-1]
    if duplicates == "keep" or not repeated.any():
        return order
    if duplicates == "error":
        raise _repeated(moments[1:][repeated], name)
    kept = ~np.append(repeated, False) if duplicates == "last" else ~np.insert(repeated, 0, False)
    rows = np.flatnonzero(kept)
    return rows if order is None else order[rows]


def newest_first(moments: NDArray[Any]) -> bool:
    """Whether no row is later than the one before it, and the last earlier than the first."""
    return bool(len(moments) and moments[-1] < moments[0] and np.all(moments[1:] <= moments[:-1]))


def _backwards(moments: NDArray[Any], row: int, name: str) -> OutOfOrder:
    remedy = "sort the rows by time or give sort=True (time=False if this is no time column)"
    back = moments[row - 1] - moments[row]
    if isinstance(moments[row], np.datetime64) and back <= HOUR:
        remedy += "; if clocks were set back there, give their timezone="
    return OutOfOrder(
        f"column {name!r} goes back in time: row {row} ({_show(moments[row])}) comes after "
        f"row {row - 1} ({_show(moments[row - 1])})",
        remedy,
    )


def _repeated(moments: NDArray[Any], name: str) -> OutOfOrder:
    first = ", ".join(_show(moment) for moment in np.unique(moments)[:3])
    return OutOfOrder(
        f"column {name!r} has {len(moments)} rows that repeat a time, first at {first}",
        'give duplicates="first", "last" or "keep"; or read_many(id=...) if the file holds '
        "several series",
    )


def _show(moment: Any) -> str:
    if not isinstance(moment, np.datetime64):
        return f"{moment:g}"
    return write_moment(moment)
