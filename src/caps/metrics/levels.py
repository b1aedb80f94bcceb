"""Thresholds turned into integer levels, so that a sweep over thresholds becomes counting.

With the thresholds in ascending order, a point's level is the number of thresholds below its score:
the point is predicted (score > threshold) at threshold `t` exactly when its level exceeds `t`.
"""

from collections.abc import Iterator

import numpy as np

from caps.metrics.scored import Floats, Integers, Scored

QUANTILE_LEVELS = 1500  # the paper's equally spaced quantile levels
LINEAR_LEVELS = 100  # TSB-AD's equally spaced values between the smallest and largest score

# Tables of (event, threshold) are built in blocks of about this many entries.
_BLOCK = 1_000_000


def quantile_thresholds(scored: Scored) -> Floats:
    """Return the 1,500 quantiles of the scores (the `caps` protocol)."""
    return np.quantile(scored.ascending, np.linspace(0, 1, QUANTILE_LEVELS))


def linear_thresholds(scored: Scored) -> Floats:
    """Return 100 values between the smallest and largest score (the `tsb-ad` protocol)."""
    return np.linspace(scored.ascending[0], scored.ascending[-1], LINEAR_LEVELS)


def levels_of(scores: Floats, thresholds: Floats) -> Integers:
    """Return how many of the ascending `thresholds` lie below each score."""
    return np.searchsorted(thresholds, scores, side="left")


def totals_above(
    levels: Integers, count: int, rows: Integers, row_count: int, weights: Floats | None = None
) -> Floats:
    """Return `(row_count, count)` totals of the weights of each row's points predicted at `t`."""
    table = np.bincount(rows * (count + 1) + levels, weights, minlength=row_count * (count + 1))
    table = table.reshape(row_count, count + 1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return np.asarray(table[:, 1:], dtype=np.float64)


def row_blocks(row_count: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows whose `(rows, count)` table stays small."""
    step = max(1, _BLOCK // (count + 1))
    for first in range(0, row_count, step):
        yield first, min(first + step, row_count)
