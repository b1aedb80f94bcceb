"""What was expected of each row, and the range around it that counts as normal.

Expected is the median of what lay beside the nearest subsequences of training. The range is as wide
as holds the stated share of normal rows: those of training at first, then those around a row, or
before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from caps.arrays import FloatArray, Singles

GOLDEN = 0.6180339887498949
# Of the rows that err more, as powers of a tenth: where few do, finely.
TAIL = np.arange(0.0, 3.01, 0.125)


class Band(NamedTuple):
    """Of each row (time,) or (time, channel); not-a-number where nothing can be said."""

    expected: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def around(cls, expected: FloatArray, width: FloatArray | float) -> Self:
        """As far to either side."""
        return cls(expected, expected - width, expected + width)


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """How far rows of training are from what was expected of them, as quantiles."""

    quantiles: FloatArray  # at 1 - 0.1 ** TAIL, and the largest

    @classmethod
    def of(cls, errors: FloatArray) -> Self:
        """From the training part, no row of which is compared with itself."""
        known = errors[np.isfinite(errors)]
        if len(known) == 0:
            return cls(np.zeros(len(TAIL) + 1))
        return cls(np.quantile(known, [*(1.0 - 0.1**TAIL), 1.0]))

    def sample(self, count: int) -> FloatArray:
        """So many that are alike, in an order in which any piece is like the whole."""
        ranks = mixed_ranks(count)
        tail = np.append(TAIL, TAIL[-1] + 1.0)
        return np.interp(-np.log10(1.0 - ranks), tail, self.quantiles)

    def to_list(self) -> list[float]:
        """As JSON values; `from_list` gives the same back."""
        return [float(each) for each in self.quantiles]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` described; anything else is a ValueError."""
        quantiles = np.array(values, dtype=np.float64)
        if quantiles.shape != (len(TAIL) + 1,) or not np.isfinite(quantiles).all():
            raise ValueError("errors that are none")
        if (quantiles < 0).any() or (np.diff(quantiles) < 0).any():
            raise ValueError("errors that are none")
        return cls(quantiles)


def mixed_ranks(count: int) -> FloatArray:
    """Shares from 0 to 1, evenly, in an order in which any piece is like the whole."""
    shares = (np.arange(count) * GOLDEN) % 1.0
    return np.asarray((shares.argsort().argsort() + 0.5) / count)


def middle(values: Singles | Sequence[FloatArray]) -> FloatArray:
    """The median over the first axis of those that are known; not-a-number where none is.

    >>> middle(np.array([[1.0, np.nan], [5.0, np.nan], [2.0, np.nan], [np.nan, 7.0]]))
    array([2., 7.])
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=0)  # what is unknown comes last
    if not np.isnan(ordered[-1]).any():
        return np.asarray((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    each = np.arange(ordered.shape[1])
    below = ordered[np.maximum(known - 1, 0) // 2, each]
    return np.asarray((below + ordered[np.minimum(known // 2, len(ordered) - 1), each]) / 2)


def width_of(errors: FloatArray, share: float) -> float:
    """How far from what was expected a range has to reach to hold this share of normal rows.

    >>> width_of(np.arange(100.0), 0.9)
    90.0
    """
    rank = int(np.ceil(share * (len(errors) + 1))) - 1
    rank = min(rank, len(errors) - 1)
    return float(np.partition(errors, rank)[rank])
