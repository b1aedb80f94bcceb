"""The kinds of arrays that functions take and give, by the names that all packages use."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Rows = NDArray[np.intp]
Singles = NDArray[np.float32]


def runs(flags: BoolArray, merge_gap: int = 0) -> Rows:
    """Start and end (exclusive) (run, 2) of the runs of flagged rows, near ones merged.

    >>> runs(np.array([False, True, True, False, True])).tolist()
    [[1, 3], [4, 5]]
    """
    rows = np.flatnonzero(flags)
    breaks = np.flatnonzero(np.diff(rows) > merge_gap + 1)
    firsts = np.concatenate([rows[:1], rows[breaks + 1]])
    lasts = np.concatenate([rows[breaks], rows[-1:]])
    return np.stack([firsts, lasts + 1], axis=1)


def mean_of_known(table: FloatArray) -> FloatArray:
    """The mean of each row over its finite values; not-a-number where there is none."""
    known = np.isfinite(table)
    count = known.sum(axis=1)
    total = np.where(known, table, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
