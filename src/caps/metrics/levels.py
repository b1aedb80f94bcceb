"""Thresholds turned into integer levels, so that a sweep over thresholds becomes counting.

With the thresholds in ascending order, a point's level is the number of thresholds below its score:
the point is predicted (score > threshold) at threshold `t` exactly when its level exceeds `t`.
"""

from collections.abc import Iterator

import numpy as np

from caps.metrics.scored import Flags, Floats, Integers

# Tables of (event, threshold) are built in blocks of about this many entries.
_BLOCK = 1_000_000


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


class FirstAbove:
    """Find the first value above a bound at or after a position, for many queries at once.

    Layer `k` holds the maxima of blocks of `2**k` values. A search climbs while its block holds
    nothing above the bound, then descends into the block that does: O(log n) steps on arrays.

    >>> FirstAbove(np.array([3, 1, 2, 5]))(np.array([1, 1, 3]), np.array([1, 4, 5]))
    array([2, 3, 4])
    """

    def __init__(self, values: Integers) -> None:
        self._layers = [values]
        while len(self._layers[-1]) > 1:
            layer = self._layers[-1]
            parents = np.maximum(layer[:-1:2], layer[1::2])
            if len(layer) % 2:
                parents = np.append(parents, layer[-1])
            self._layers.append(parents)

    def __call__(self, start: Integers, bound: Integers) -> Integers:
        """Return the positions found; the number of values where there is none."""
        position, height, found = self._climb(start, bound)
        for layer_height in range(len(self._layers) - 1, 0, -1):
            inside = np.flatnonzero(height >= layer_height)
            left = 2 * position[inside]
            position[inside] = left + (self._layers[layer_height - 1][left] <= bound[inside])
        position[~found] = len(self._layers[0])
        return position

    def _climb(self, start: Integers, bound: Integers) -> tuple[Integers, Integers, Flags]:
        position = start.copy()
        height = np.zeros(len(start), dtype=np.int64)
        found = np.zeros(len(start), dtype=np.bool_)
        climbing = np.arange(len(start))
        for layer_height, layer in enumerate(self._layers):
            climbing = climbing[position[climbing] < len(layer)]
            if not len(climbing):
                break
            hit = layer[position[climbing]] > bound[climbing]
            stopped = climbing[hit]
            found[stopped] = True
            height[stopped] = layer_height
            climbing = climbing[~hit]
            # An odd block is the last of its parent: the search goes on in the next parent.
            position[climbing] = (position[climbing] + 1) // 2
        return position, height, found
