"""MMPAD (Yeh 2026): a matrix profile of the k-th nearest subsequence, smoothed.

Correlations instead of distances, neighbours that must lie apart, and the mean over all
subsequences that hold a row: an anomaly that occurs k - 1 times is still one. It compares the
scored series with itself, as it stands on TSB-AD's leaderboard. MMPAD halves the resolution of
very long series, which is not done here.
"""

from math import ceil
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import FloatArray
from caps.baselines.protocol import checked, scorable
from caps.metrics import acf_window
from caps.series import pad_short, reassemble

SHORTEST = 64  # rows of a subsequence, at least
NEIGHBOURS, NEIGHBOURS_MANY = 5, 15  # of one channel, of several
SHARE = 0.7  # of the channels, those that fit worst, must be odd
FLAT = 1e-6  # standard deviation of a z-scored channel below which a subsequence is flat
CHUNK = 128  # subsequences compared with all at once


class Mmpad:
    """How little the k-th nearest subsequence of the series is like the one around a row."""

    channels: int | None = None

    def fit(self, train: FloatArray) -> Self:
        """Count the channels; nothing is learned."""
        self.channels = checked(train).shape[1]
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """The mean over the subsequences that hold a row, from 0 to 1."""
        series = scorable(series, self.channels)
        size = max(SHORTEST, acf_window(series))
        padded = pad_short(series, 2 * size)
        neighbours = NEIGHBOURS if self.channels == 1 else NEIGHBOURS_MANY
        oddness = -nearest_correlation(padded, size, neighbours)
        span = np.ptp(oddness)
        oddness = (oddness - oddness.min()) / (span if span > 0 else 1.0)
        each = np.broadcast_to(oddness[:, None], (len(oddness), size))
        on_rows = reassemble(each, np.arange(len(oddness)), len(padded), "flat")
        return on_rows[len(padded) - len(series) :]


def nearest_correlation(series: FloatArray, size: int, neighbours: int) -> FloatArray:
    """Each subsequence's correlation with its k-th nearest one, or with the last there is.

    Neighbours start at least half a subsequence from it and from each other. Of several channels
    the correlation of two subsequences is that of the channel at the share of those that fit worst.
    """
    normal = _normalised(series, size)  # (channel, subsequence, time)
    count, half = normal.shape[1], size // 2
    place = ceil(SHARE * len(normal)) - 1
    found = np.empty(count)
    for first in range(0, count, CHUNK):
        rows = np.arange(first, min(first + CHUNK, count))
        alike = np.sort([own[rows] @ own.T for own in normal], axis=0)[place]
        _exclude(alike, rows, half)
        last = np.full(len(rows), -1.0)
        for _ in range(neighbours):
            nearest = alike.argmax(axis=1)
            value = alike[np.arange(len(rows)), nearest]
            last = np.where(np.isfinite(value), value, last)
            _exclude(alike, nearest, half)
        found[rows] = last
    return found


def _normalised(series: FloatArray, size: int) -> FloatArray:
    """Subsequences whose products are their correlations; flat ones correlate with none."""
    std = series.std(axis=0)
    scaled = (series - series.mean(axis=0)) / np.where(std > 0, std, 1.0)
    view = sliding_window_view(scaled, size, axis=0).transpose(1, 0, 2)
    centred = view - view.mean(axis=2, keepdims=True)
    spread = np.maximum(view.std(axis=2, keepdims=True), FLAT)
    return np.asarray(centred / (spread * np.sqrt(size)))


def _exclude(alike: FloatArray, places: np.ndarray, half: int) -> None:
    """Take out what starts less than half a subsequence from the place of each row."""
    reach = np.arange(-half, max(half, 1))
    columns = np.clip(places[:, None] + reach, 0, alike.shape[1] - 1)
    np.put_along_axis(alike, columns, -np.inf, axis=1)
