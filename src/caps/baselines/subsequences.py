"""Methods that look at every subsequence of the series as a point in space.

They differ in the length of a subsequence, in how it is scaled, in the detector of odd points, and
in how the scores of subsequences become those of rows: a `Plan`. The detector learns either from
the training part or, as TSB-AD runs these methods, from the very series it scores.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import FloatArray
from caps.baselines.points import Judge
from caps.baselines.protocol import bridged, checked, scorable
from caps.metrics import acf_window
from caps.series import pad_short, reassemble

MOST = 10_000  # subsequences to learn from; neighbours of more take minutes and say the same
CHUNK = 4096  # subsequences scored at once


@dataclass(frozen=True, slots=True)
class Plan:
    """How one method reads a series."""

    detector: Callable[[FloatArray, int], Judge]  # learned from points, by seed
    length: int | None = None  # rows of a subsequence; None: a period
    rank: int = 1  # of the period's peak in the autocorrelation
    # By mean and std of each column over all subsequences, of each subsequence, of the rows of each
    # channel, by the range of each channel, or not.
    scaling: Literal["column", "subsequence", "channel", "range", "none"] = "column"
    onto_rows: Literal["middle", "mean", "last"] = "middle"

    def size(self, values: FloatArray) -> int:
        """Rows of a subsequence, at most half of the series."""
        size = self.length or acf_window(values, rank=self.rank)
        return max(1, min(size, len(values) // 2))


class Subsequences:
    """A `Plan` at work on the training part, or with `whole` on the scored series itself."""

    def __init__(
        self, plan: Plan, *, seed: int = 0, whole: bool = False, multivariate: Plan | None = None
    ) -> None:
        self.univariate, self.multivariate = plan, multivariate or plan
        self.seed, self.whole = seed, whole
        self.channels: int | None = None

    def fit(self, train: FloatArray) -> Self:
        """Learn from the training part; with `whole` only its channels are counted."""
        train = checked(train)
        self.channels = train.shape[1]
        if not self.whole:
            train = self._levelled(bridged(train), learn=True)
            self.size = self._plan.size(train)
            points = subsequences(train, self.size)
            if len(points) > MOST:
                rng = np.random.default_rng(self.seed)
                points = points[np.sort(rng.choice(len(points), MOST, replace=False))]
            self._learn(points)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """The scores of the subsequences around each row."""
        series = self._levelled(scorable(series, self.channels), learn=self.whole)
        if self.whole:
            self.size = self._plan.size(series)
            self._learn(subsequences(series, self.size))
            return self._on_rows(self.judge(), len(series))
        view = sliding_window_view(pad_short(series, self.size), self.size, axis=0)
        parts = (view[first : first + CHUNK] for first in range(0, len(view), CHUNK))
        scores = [self.judge(self._scale(part.reshape(len(part), -1))) for part in parts]
        return self._on_rows(np.concatenate(scores), len(series))

    @property
    def _plan(self) -> Plan:
        return self.univariate if self.channels == 1 else self.multivariate

    def _levelled(self, values: FloatArray, *, learn: bool) -> FloatArray:
        """Channels in the scale of the rows learned from, where the plan has one for channels."""
        if self._plan.scaling not in ("channel", "range"):
            return values
        if learn:
            by_range = self._plan.scaling == "range"
            self.level = values.min(axis=0) if by_range else values.mean(axis=0)
            scale = np.ptp(values, axis=0) if by_range else values.std(axis=0)
            self.scale = np.where(scale > 0, scale, 1.0)
        return np.asarray((values - self.level) / self.scale)

    def _learn(self, points: FloatArray) -> None:
        self.centre, std = points.mean(axis=0), points.std(axis=0)
        self.std = np.where(std > 0, std, 1.0)
        self.judge = self._plan.detector(self._scale(points), self.seed)

    def _scale(self, points: FloatArray) -> FloatArray:
        if self._plan.scaling == "column":
            return np.asarray((points - self.centre) / self.std)
        if self._plan.scaling != "subsequence" or points.shape[1] == 1:
            return points
        std = points.std(axis=1, ddof=1, keepdims=True)
        centred = points - points.mean(axis=1, keepdims=True)
        return np.asarray(centred / np.where(std > 0, std, 1.0))

    def _on_rows(self, scores: FloatArray, length: int) -> FloatArray:
        rows = max(length, self.size)
        if self._plan.onto_rows == "middle":
            on_rows = np.pad(scores, (self.size // 2, (self.size - 1) // 2), mode="edge")
        elif self._plan.onto_rows == "last":
            on_rows = np.pad(scores, (self.size - 1, 0), mode="edge")
        else:
            each = np.broadcast_to(scores[:, None], (len(scores), self.size))
            on_rows = reassemble(each, np.arange(len(scores)), rows, "flat")
        return on_rows[rows - length :]


def subsequences(values: FloatArray, size: int) -> FloatArray:
    """Every subsequence (n, channel * time) of values (time, channel), one after the other.

    >>> subsequences(np.arange(4.0)[:, None], 3)
    array([[0., 1., 2.],
           [1., 2., 3.]])
    """
    view = sliding_window_view(values, size, axis=0)  # (n, channel, time), no copy
    return view.reshape(len(view), -1)
