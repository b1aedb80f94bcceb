"""Scores that take a line: what a method that learns anything has to beat.

Moving-window variance and squared difference are those of "When foundation models are one-liners"
(2026), the range of sensors that of "Quo vadis, unsupervised time series anomaly detection?"
(Sarfraz et al. 2024), whose other two are plans of `caps.baselines.methods`.
"""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import FloatArray
from caps.baselines.protocol import bridged, checked, scorable
from caps.metrics import acf_window

CHUNK = 4096  # windows at once


class OneLiner(ABC):
    """Learns what the channels of the training part are like."""

    channels: int | None = None

    def fit(self, train: FloatArray) -> Self:
        """Learn from the training part."""
        train = bridged(checked(train))
        self.channels = train.shape[1]
        std = train.std(axis=0)
        self.std = np.where(std > 0, std, 1.0)
        self.low, self.high = train.min(axis=0), train.max(axis=0)
        self.window = acf_window(train)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """One score a row."""
        return self.line(scorable(series, self.channels))

    @abstractmethod
    def line(self, series: FloatArray) -> FloatArray:
        """The scores of a series (time, channel) without gaps."""


class MovingVariance(OneLiner):
    """The variance of one period around a row, the mean over channels in units of training.

    Before the first row and after the last the series is mirrored.
    """

    def line(self, series: FloatArray) -> FloatArray:
        """The variance around each row."""
        around = (self.window // 2, (self.window - 1) // 2)
        padded = np.pad(series / self.std, (around, (0, 0)), mode="symmetric")
        view = sliding_window_view(padded, self.window, axis=0)  # (row, channel, time)
        # Not by running sums: one huge value would leave its rounding error in all that follow.
        parts = (view[first : first + CHUNK] for first in range(0, len(view), CHUNK))
        return np.concatenate([part.var(axis=2).mean(axis=1) for part in parts])


class SquaredDifference(OneLiner):
    """The square of the step from the row before, the mean over channels in units of training."""

    def line(self, series: FloatArray) -> FloatArray:
        """The step to each row; none to the first."""
        steps = np.diff(series / self.std, axis=0, prepend=series[:1] / self.std)
        return np.asarray(np.square(steps).mean(axis=1))


class SensorRange(OneLiner):
    """1 where any channel is outside the range it had in training, else 0."""

    def line(self, series: FloatArray) -> FloatArray:
        """Whether a row is outside."""
        outside = (series < self.low) | (series > self.high)
        return np.asarray(outside.any(axis=1), dtype=np.float64)
