"""Columns that measure nothing: they number rows, or name the series that rows belong to."""

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.series.columns import is_missing, is_number, to_list
from caps.series.tables import Table

FEWEST_ROWS = 20  # fewer numbers in a row may be a measurement that rises


def is_id_name(name: str) -> bool:
    """Whether a column is called an id: `id`, `request_id`, `deviceId`."""
    lower = name.lower()
    return (
        lower in ("id", "uuid", "guid")
        or lower.endswith(("_id", " id", "-id"))
        or (name.endswith("Id") and name[:-2].isalnum())
    )


def identifies(name: str, values: FloatArray) -> str | None:
    """Why a column only tells its rows apart; None if it measures something.

    >>> identifies("seq", np.arange(100.0)), identifies("load", np.arange(100.0) ** 2)
    ('counts the rows', None)
    """
    whole = np.isfinite(values).all() and np.array_equal(values, np.floor(values))
    if len(values) < FEWEST_ROWS or not whole:
        return None
    if bool(np.all(np.diff(values) == 1)):
        return "counts the rows"
    if is_id_name(name) and len(np.unique(values)) == len(values):
        return "is called an id and holds no number twice"
    return None


def several_series(table: Table, moments: NDArray[np.generic], title: str) -> InputError | None:
    """How to read a long table, if it is one; `moments` order its rows in column `title`."""
    name = _id_column(table, moments, title)
    if name is None:
        return None
    return InputError(
        f"column {title!r} holds each time several times, once for every {name!r}: "
        "the table holds several series",
        f'use read_many(id="{name}", value={_values(table, name, title)})',
    )


def _values(table: Table, name: str, title: str) -> str:
    """The columns of numbers, as they are given to `read_many`."""
    found = [
        f'"{each}"'
        for each, column in table.columns.items()
        if each not in (name, title) and is_number(column)
    ]
    return found[0] if len(found) == 1 else f"[{', '.join(found) or '...'}]"


def _id_column(table: Table, moments: NDArray[np.generic], title: str) -> str | None:
    """The first column of text, or called an id, that has each time once for each of its values."""
    if table.rows != len(moments):
        return None
    for name, column in table.columns.items():
        numeric = is_number(column)
        if name == title or (numeric and not is_id_name(name)):
            continue
        labels = to_list(column)
        if any(map(is_missing, labels)):
            continue
        ids, codes = np.unique([str(label) for label in labels], return_inverse=True)
        if 1 < len(ids) <= len(labels) // 2 and _each_once(codes, moments):
            return name
    return None


def _each_once(codes: NDArray[np.intp], moments: NDArray[np.generic]) -> bool:
    order = np.lexsort((moments, codes))
    again = (np.diff(codes[order]) == 0) & (moments[order][1:] == moments[order][:-1])
    return not bool(again.any())
