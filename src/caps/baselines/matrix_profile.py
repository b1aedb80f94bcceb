"""Matrix profile: how far a subsequence is from the most similar other one (stumpy)."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from caps.arrays import FloatArray
from caps.baselines.protocol import bridged, checked, not_fitted
from caps.errors import InputError
from caps.metrics import acf_window
from caps.series import pad_short

SHORTEST = 4  # rows; shorter subsequences all look alike once normalised
LENGTHS = (16, 32, 64, 128, 256)  # rows of the subsequences of the profile over several windows


class _Profile(ABC):
    """Keeps the training part to compare with."""

    train: FloatArray | None = None

    def fit(self, train: FloatArray) -> Self:
        """Keep the training part."""
        self.train = bridged(checked(train))
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """How far the subsequence around each row is from those it is compared with."""
        if self.train is None:
            raise not_fitted()
        return self._distances(bridged(checked(series, self.train.shape[1])), self.train)

    @abstractmethod
    def _distances(self, series: FloatArray, train: FloatArray) -> FloatArray:
        """Those of a series (time, channel) without gaps."""


class MatrixProfile(_Profile):
    """Distance to the nearest subsequence of the training part, or with `whole` of the series.

    Of several channels, the mean of their distances.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole

    def _distances(self, series: FloatArray, train: FloatArray) -> FloatArray:
        known = series if self.whole else train
        size = max(SHORTEST, min(acf_window(known), len(known) // 2))
        return _on_rows(series, None if self.whole else known, size)


class MultiWindowProfile(_Profile):
    """The mean of the profiles of several lengths against the training part.

    Of the lengths that are at most half of it, or of the shortest. A distance of z-normalised
    subsequences grows with the root of their length, so each profile is divided by that of twice
    its length: 1 is what two unrelated subsequences have.
    """

    def _distances(self, series: FloatArray, train: FloatArray) -> FloatArray:
        half = len(train) // 2
        fitting = [size for size in LENGTHS if size <= half] or [max(SHORTEST, half)]
        profiles = [_on_rows(series, train, size) / np.sqrt(2 * size) for size in fitting]
        return np.asarray(np.mean(profiles, axis=0))


def _on_rows(series: FloatArray, known: FloatArray | None, size: int) -> FloatArray:
    """The mean over channels of the distance of the subsequence around each row.

    To the nearest subsequence of what is known, or without it of the series itself.
    """
    padded = pad_short(series, 2 * size)
    others = None if known is None else pad_short(known, 2 * size)
    profiles = [
        _profile(padded[:, column], None if others is None else others[:, column], size)
        for column in range(series.shape[1])
    ]
    distance = np.mean(profiles, axis=0)
    ends = (size // 2, (size - 1) // 2)
    if known is None:  # the least distance at both ends, as TSB-AD
        on_rows = np.pad(distance, ends, constant_values=float(distance.min()))
    else:
        on_rows = np.pad(distance, ends, mode="edge")
    return on_rows[len(padded) - len(series) :]


def _profile(values: FloatArray, known: FloatArray | None, size: int) -> FloatArray:
    try:
        import stumpy  # an extra, and seconds to import
    except ImportError as error:
        raise InputError(
            "the matrix profile needs stumpy", "install CAPS with its extra: caps-tsad[bench]"
        ) from error
    if known is None:
        profile = stumpy.stump(values, m=size)
    else:
        profile = stumpy.stump(values, m=size, T_B=known, ignore_trivial=False)
    distance = profile[:, 0].astype(np.float64)
    # A flat subsequence among none that is flat is infinitely far from all.
    largest = distance[np.isfinite(distance)].max(initial=0.0)
    return np.asarray(np.where(np.isfinite(distance), distance, max(largest, np.sqrt(size))))
