"""Sliding windows as views, with a right-aligned last window and padding for short series.

A window is named by its start. A series shorter than a window has one window, right-aligned like
every last window: its start is negative, and the rows before the series are reflected ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from caps.errors import InputError

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


def chunked_windows(
    chunks: Iterable[Array], size: int, stride: int = 1
) -> Iterator[SlidingWindows]:
    """The windows of a series that arrives in chunks: the same ones `sliding_windows` names.

    Keeps fewer than `size` + `stride` rows from chunk to chunk, however long the series is.

    >>> parts = chunked_windows([np.arange(3.0), np.arange(3.0, 6.0)], size=4, stride=2)
    >>> [part.starts.tolist() for part in parts]
    [[0, 2]]
    """
    _check_sizes(size, stride)
    held: Array | None = None
    offset, following = 0, 0  # row of held[0], start of the next window
    for chunk in chunks:
        if len(chunk) == 0:
            continue
        held = chunk if held is None else np.concatenate([held, chunk])
        end = offset + len(held)
        starts = np.arange(following, end - size + 1, stride, dtype=np.intp)
        if len(starts):
            yield SlidingWindows(_view(held, size), starts, -offset)
            following = int(starts[-1]) + stride
        # The right-aligned last window may need the last `size` rows again.
        kept = min(following, max(0, end - size))
        held, offset = held[kept - offset :].copy(), kept
    if held is None:
        raise InputError("an empty series has no windows", "give at least one row")
    last = offset + len(held) - size
    if last < 0:
        yield sliding_windows(held, size, stride)
    elif last != following - stride:
        yield SlidingWindows(_view(held, size), np.array([last], dtype=np.intp), -offset)


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
