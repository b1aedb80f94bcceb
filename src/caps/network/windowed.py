"""Logits of rows from those of overlapping windows, and what they are as shares; numpy alone.

Values are scaled and of one channel; not-a-number marks what was not observed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.network.config import DetectorConfig
from caps.series import pad_short, reassemble, sliding_windows

WindowLogits = Callable[[FloatArray], FloatArray]  # (window, time), with gaps -> the same shape

GROUP = 1024  # windows at once
CHUNK = 2**16  # rows


class RowDetector(Protocol):
    """A trained detector, whatever computes it."""

    @property
    def config(self) -> DetectorConfig:
        """Its window and stride, among others."""

    def row_logits(
        self, values: FloatArray, *, causal: bool = False, last: int | None = None
    ) -> FloatArray:
        """A logit for each of the last rows of a scaled series."""


def row_logits(
    window_logits: WindowLogits,
    config: DetectorConfig,
    values: FloatArray,
    *,
    causal: bool = False,
    last: int | None = None,
) -> FloatArray:
    """Logits of the last rows; not-a-number exactly where nothing was observed.

    Windows overlap, and the logits of a row are averaged with more weight in the middle of a
    window. With `causal`, a row is scored by the last step of the window that ends there.
    """
    values = checked(values)
    if len(values) == 0:
        raise InputError("an empty series has no scores", "give at least one row")
    first = 0 if last is None else max(0, len(values) - last)
    if causal:
        return _causal_logits(window_logits, config.window, values, first)
    return _centred_logits(window_logits, config, values)[first:]


def _centred_logits(
    window_logits: WindowLogits, config: DetectorConfig, values: FloatArray
) -> FloatArray:
    """Logits of all rows, each by the windows on both of its sides."""
    windows = sliding_windows(values, config.window, config.stride)
    # How many are computed at once may change the last bit: those that end in one chunk of rows,
    # and the right-aligned last one alone.
    chunk = -(-(windows.starts + config.window) // CHUNK)
    chunk[-1:] += len(chunk) > 1 and windows.starts[-1] - windows.starts[-2] != config.stride
    logits, trust = [], []
    for starts in np.split(windows.starts, np.flatnonzero(np.diff(chunk)) + 1):
        for _, batch in replace(windows, starts=starts).batches(GROUP):
            trust.append(
                np.where(np.isfinite(batch).mean(axis=1) >= 0.5, 1.0, config.sparse_weight)
            )
            logits.append(window_logits(batch))
    flat = np.repeat(np.concatenate(trust)[:, None], config.window, axis=1)
    weighted, weight = (
        reassemble(each, windows.starts, len(values), "hann")
        for each in (flat * np.concatenate(logits), flat)
    )
    return np.where(np.isfinite(values), weighted / weight, np.nan)


def _causal_logits(
    window_logits: WindowLogits, size: int, values: FloatArray, first: int
) -> FloatArray:
    """Logits of the rows from `first` on."""
    whole = max(first, size - 1)  # the first row with a whole window behind it
    logits = np.empty(len(values) - first)
    short = [pad_short(values[: row + 1], size) for row in range(first, min(whole, len(values)))]
    if short:
        logits[: len(short)] = window_logits(np.stack(short))[:, -1]
    if len(values) > whole:
        view = np.lib.stride_tricks.sliding_window_view(values[whole - size + 1 :], size)
        for start in range(0, len(view), GROUP):
            batch = view[start : start + GROUP]
            offset = whole - first + start
            logits[offset : offset + len(batch)] = window_logits(batch)[:, -1]
    return np.where(np.isfinite(values[first:]), logits, np.nan)


def checked(values: FloatArray) -> FloatArray:
    """Values of one channel as float64, none of them infinite."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise InputError(f"values of shape {values.shape}", "score one channel at a time: (time,)")
    if np.isinf(values).any():
        raise InputError("a value is infinite", "read the series with caps.read, which masks them")
    return values


def expit(logits: ArrayLike) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow; not-a-number stays.

    >>> expit([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    x = np.asarray(logits, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def logit(shares: ArrayLike) -> FloatArray:
    """log(p / (1 - p)): infinite for 0 and 1, not-a-number stays.

    >>> logit([0.5, expit(3.0)]).round(12)
    array([0., 3.])
    """
    p = np.asarray(shares, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))
