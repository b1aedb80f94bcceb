"""Checked input of every metric, and thresholds turned into integer levels.

A sweep over thresholds becomes counting: with the thresholds in ascending order, a point's level is
the number of thresholds below its score, and the point is predicted (score > threshold) at
threshold `t` exactly when its level exceeds `t`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caps.arrays import runs
from caps.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Events:
    """Runs of anomalous points as half-open index ranges, in order."""

    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, labels: Flags) -> "Events":
        return cls(*runs(labels).T)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        return self.ends - self.starts


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores and labels with what several metrics share: events and one sort of the scores."""

    scores: Floats
    labels: Flags
    events: Events
    ascending: Floats  # all scores, sorted
    positives: Floats  # the scores of anomalous points, sorted

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike) -> "Scored":
        values = checked_scores(scores)
        flags = checked_labels(labels)
        if len(values) != len(flags):
            raise InputError(
                f"{len(values)} scores do not match {len(flags)} labels",
                "give one score and one label for each point",
            )
        return cls(values, flags, Events.of(flags), np.sort(values), np.sort(values[flags]))

    def __len__(self) -> int:
        return len(self.scores)


def checked_scores(scores: ArrayLike) -> Floats:
    """Return the scores as finite float64 or raise `InputError`."""
    values = _vector(scores, "scores")
    finite = np.isfinite(values)
    if not finite.all():
        position = int(np.argmin(finite))
        raise InputError(
            f"{int(np.sum(~finite))} of {len(values)} scores are missing or infinite "
            f"(the first at position {position})",
            "score every point, or decide what a missing score means, e.g. "
            "np.nan_to_num(scores, nan=0.0)",
        )
    with np.errstate(over="ignore"):
        value_range = values.max() - values.min()
    if not np.isfinite(value_range):
        raise InputError("the scores span more than a float can hold", "scale them to [0, 1]")
    return values


def checked_labels(labels: ArrayLike) -> Flags:
    """Return the labels as booleans or raise `InputError`."""
    values = _vector(labels, "labels")
    flags = np.equal(values, 1)
    other = values[~(flags | (values == 0))]
    if len(other):
        raise InputError(
            f"labels must be 0 or 1, found {', '.join(map(str, np.unique(other)[:3]))}",
            "mark normal points 0 and anomalous points 1",
        )
    return flags


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """As numpy, not-a-number where masked, or raise `InputError`."""
    try:
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
        return np.asarray(values)
    except Exception as error:  # ragged lists, or the reasons of another library
        raise InputError(
            f"the {name} cannot be turned into an array ({error})", "give a flat array of numbers"
        ) from None


def _vector(values: ArrayLike, name: str) -> Floats:
    array = as_array(values, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(
            f"{name} have shape {array.shape}", "give a one-dimensional array, one value per point"
        )
    if len(array) == 0:
        raise InputError(f"there are no {name}", "give one value per point")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} are of type {array.dtype}, not numbers", "convert them to floats")
    return array.astype(np.float64, copy=False)


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
