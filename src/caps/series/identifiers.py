"""Columns of numbers that measure nothing: they number the rows, or name what rows belong to."""

import numpy as np

from caps.arrays import FloatArray

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
