"""Sliding windows as views, with a right-aligned last window, and back to scores of rows.

A window is named by its start. A series shorter than a window has one window, right-aligned like
every last window: its start is negative, and the rows before the series are reflected ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError, check_known

WeightKind = Literal["hann", "flat"]
IntArray = NDArray[np.intp]
Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows of one array: `windows[i]` and evenly spaced slices are views, the rest copies.

    `view` holds the window at every row (stride 1) and takes no memory of its own; `starts` names
    the windows wanted. Only a batch with the right-aligned last window, or one picked by an array
    of numbers, is gathered into a copy.
    """

    view: Array  # (row, time, channel), or (row, time) for a single channel without axis
    starts: IntArray
    padding: int = 0  # reflected rows in front of a short series

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: int | slice | IntArray) -> Array:
        rows = self.starts[which] + self.padding
        if isinstance(which, slice) and (even := _even(rows)) is not None:
            return self.view[even]
        return self.view[rows]

    def batches(self, size: int) -> Iterator[tuple[IntArray, Array]]:
        """(starts, windows) in batches of at most `size` windows."""
        for first in range(0, len(self), size):
            batch = slice(first, first + size)
            yield self.starts[batch], self[batch]


def window_starts(length: int, size: int, stride: int = 1) -> IntArray:
    """Starts of the windows that cover every row; the last window ends at the last row.

    >>> window_starts(10, 4, 4), window_starts(3, 4, 4)
    (array([0, 4, 6]), array([-1]))
    """
    _check_sizes(size, stride)
    if length < 1:
        raise InputError("an empty series has no windows", "give at least one row")
    last = length - size
    if last <= 0:
        return np.array([last], dtype=np.intp)
    starts = np.arange(0, last + 1, stride, dtype=np.intp)
    return starts if starts[-1] == last else np.append(starts, last)


def sliding_windows(values: Array, size: int, stride: int = 1) -> SlidingWindows:
    """The windows of `values` (time, channel) or (time,), without copying them.

    >>> windows = sliding_windows(np.arange(6.0), size=4, stride=2)
    >>> windows[1], np.shares_memory(windows[0:2], windows[1])
    (array([2., 3., 4., 5.]), True)
    """
    starts = window_starts(len(values), size, stride)
    padded = pad_short(values, size)
    return SlidingWindows(_view(padded, size), starts, len(padded) - len(values))


def pad_short(values: Array, size: int) -> Array:
    """Put reflected rows in front of a series shorter than `size`; a single row is repeated.

    >>> pad_short(np.array([1.0, 2.0, 3.0]), 6)
    array([2., 3., 2., 1., 2., 3.])
    """
    missing = size - len(values)
    if missing <= 0:
        return values
    if len(values) == 0:
        raise InputError("an empty series cannot be padded", "give at least one row")
    width = [(missing, 0)] + [(0, 0)] * (values.ndim - 1)
    return np.pad(values, width, mode="reflect" if len(values) > 1 else "edge")


def bridge(values: Floats) -> Floats:
    """Replace not-a-number by the line between its neighbours in time, the last axis.

    At the ends the nearest observed value is held; what was never observed is zero. The input is
    returned as it is where nothing is missing.

    >>> bridge(np.array([[np.nan, 1.0, np.nan, 3.0, np.nan], [5.0, 5.0, 5.0, 5.0, 5.0]]))
    array([[1., 1., 2., 3., 3.],
           [5., 5., 5., 5., 5.]])
    """
    seen = np.isfinite(values)
    if seen.all():
        return values
    bridged, steps = values.copy(), np.arange(values.shape[-1])
    for row in np.argwhere(~seen.all(axis=-1)):
        where = tuple(row)  # () for a single series
        known = seen[where]
        bridged[where] = (
            np.interp(steps, steps[known], values[where][known]) if known.any() else 0.0
        )
    return bridged


def window_weights(size: int, kind: WeightKind) -> FloatArray:
    """Weights of the rows of a window, all positive; in a Hann window the middle counts most.

    >>> window_weights(2, "hann").round(6), window_weights(3, "flat")
    (array([0.5, 0.5]), array([1., 1., 1.]))
    """
    if size < 1:
        raise InputError(f"a window of {size} rows", "give a size of at least 1")
    check_known("kind of weights", kind, get_args(WeightKind))
    if kind == "flat":
        return np.ones(size)
    # Sampled between the nodes, so that the ends stay above zero.
    return np.asarray(np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2)


def reassemble(
    window_scores: NDArray[Any], starts: IntArray, length: int, weights: WeightKind
) -> FloatArray:
    """The weighted mean, at each of `length` rows, of the window scores that cover it.

    `window_scores` is (window, time), in order of the starts; rows before the start of a padded
    series are dropped.

    >>> reassemble(np.array([[1.0, 1.0], [3.0, 3.0]]), np.array([0, 1]), 3, "flat")
    array([1., 2., 3.])
    """
    scores = np.asarray(window_scores, dtype=np.float64)
    if scores.ndim != 2 or len(scores) != len(starts):
        raise InputError(
            f"window scores of shape {scores.shape} for {len(starts)} starts",
            "give one score per row: (window, time)",
        )
    size = scores.shape[1]
    end = int(starts[-1]) + size
    if end != length:
        raise InputError(
            f"the windows end at row {end}, the series at {length}",
            "add every window that window_starts names, the last one included",
        )
    if (np.diff(starts) <= 0).any():
        raise InputError("windows come out of order", "give them in order of their starts")
    total, weight = np.zeros((2, length))
    # From their last step to their first, a row adds up its windows in order of their starts.
    for step, share in reversed([*enumerate(window_weights(size, weights))]):
        at = starts + step
        known = at >= 0
        total[at[known]] += share * scores[known, step]
        weight[at[known]] += share
    if (weight == 0).any():
        row = int((weight == 0).argmax())
        raise InputError(f"no window covers row {row}", "give a stride no larger than the size")
    return np.asarray(total / weight)


def _view(values: Array, size: int) -> Array:
    """Every window of `values`, time before channel."""
    view = sliding_window_view(values, size, axis=0)  # (row, [channel,] time)
    return np.moveaxis(view, -1, 1)


def _even(rows: IntArray) -> slice | None:
    """The slice that picks evenly spaced rows, None if they are not evenly spaced."""
    if len(rows) == 0:
        return slice(0, 0)
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    if step < 1 or (np.diff(rows) != step).any():
        return None
    return slice(int(rows[0]), int(rows[-1]) + 1, step)


def _check_sizes(size: int, stride: int) -> None:
    if size < 1 or stride < 1:
        raise InputError(
            f"windows of {size} rows every {stride} rows", "give a size and a stride of at least 1"
        )
