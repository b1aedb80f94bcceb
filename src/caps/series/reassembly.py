"""Point scores from the scores of overlapping windows, whole or as the windows arrive."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError, check_known

WeightKind = Literal["hann", "flat"]


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
    window_scores: NDArray[Any], starts: NDArray[np.intp], length: int, weights: WeightKind
) -> FloatArray:
    """The weighted mean, at each of `length` rows, of the window scores that cover it.

    `window_scores` is (window, time); rows before the start of a padded series are dropped.

    >>> reassemble(np.array([[1.0, 1.0], [3.0, 3.0]]), np.array([0, 1]), 3, "flat")
    array([1., 2., 3.])
    """
    scores = np.asarray(window_scores)
    if scores.ndim != 2:
        raise InputError(
            f"window scores of shape {scores.shape}", "give one score per row: (window, time)"
        )
    reassembly = Reassembly(scores.shape[1], weights)
    return np.concatenate([reassembly.add(scores, starts), reassembly.finish(length)])


class Reassembly:
    """Reassembles scores window by window in bounded memory and hands out finished rows.

    Windows must come in order of their starts. A row is finished once no later window can reach
    it, so `add` returns the rows up to the newest start and `finish` the rest. However the windows
    are cut into calls, the result is the same to the last bit.

    >>> reassembly = Reassembly(size=2, weights="flat")
    >>> reassembly.add(np.array([[1.0, 1.0]]), np.array([0]))
    array([1.])
    >>> reassembly.add(np.array([[3.0, 3.0]]), np.array([1]))
    array([2.])
    >>> reassembly.finish(3)
    array([3.])
    """

    def __init__(self, size: int, weights: WeightKind) -> None:
        self.weights = window_weights(size, weights)
        self._done = 0  # rows handed out
        self._newest: int | None = None  # start of the newest window
        # Weighted scores and weights of the rows from `_done` on.
        self._total = np.zeros(0)
        self._weight = np.zeros(0)

    def add(self, window_scores: NDArray[Any], starts: NDArray[np.intp]) -> FloatArray:
        """Add windows that start after all earlier ones; return the rows this finishes."""
        scores = np.asarray(window_scores, dtype=np.float64)
        starts = np.asarray(starts, dtype=np.intp)
        size = len(self.weights)
        if scores.shape != (len(starts), size):
            raise InputError(
                f"window scores of shape {scores.shape} for {len(starts)} starts",
                f"give (window, time) with {size} rows to a window",
            )
        if len(starts) == 0:
            return np.zeros(0)
        self._check_order(starts)
        self._grow(int(starts[-1]) + size)
        # From their last step to their first, a row adds up its windows in order of their starts:
        # whatever the calls, floating point gives equal sums.
        for step in range(size - 1, -1, -1):
            at = starts + step - self._done
            known = at >= 0
            self._total[at[known]] += self.weights[step] * scores[known, step]
            self._weight[at[known]] += self.weights[step]
        self._newest = int(starts[-1])
        return self._hand_out(self._newest + 1)

    def finish(self, length: int) -> FloatArray:
        """The rows not yet handed out of a series of `length` rows."""
        if self._done + len(self._total) != length:
            raise InputError(
                f"the windows end at row {self._done + len(self._total)}, the series at {length}",
                "add every window that window_starts names, the last one included",
            )
        return self._hand_out(length)

    def _check_order(self, starts: NDArray[np.intp]) -> None:
        newest = self._newest
        if (np.diff(starts) <= 0).any() or (newest is not None and starts[0] <= newest):
            raise InputError("windows come out of order", "add them in order of their starts")

    def _grow(self, end: int) -> None:
        more = np.zeros(max(0, end - self._done - len(self._total)))
        self._total = np.concatenate([self._total, more])
        self._weight = np.concatenate([self._weight, more])

    def _hand_out(self, end: int) -> FloatArray:
        count = max(0, end - self._done)
        weight = self._weight[:count]
        if (weight == 0).any():
            row = self._done + int((weight == 0).argmax())
            raise InputError(f"no window covers row {row}", "give a stride no larger than the size")
        finished = self._total[:count] / weight
        self._total, self._weight = self._total[count:].copy(), self._weight[count:].copy()
        self._done += count
        return finished
