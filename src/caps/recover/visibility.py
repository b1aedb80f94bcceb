"""Whether an effect shows: a positive label on no change would only be label noise."""

import numpy as np
from scipy.ndimage import maximum_filter1d

SURROUNDINGS = 32  # steps on either side of a support that count as its surroundings
LEAST_STD = 0.1  # of the whole series, whose std is 1: flat windows still have a scale
LEAST = 0.1  # root-mean-square of an effect in its support, in local stds


def local_std(windows: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Standard deviation of each window in and around its support (n,)."""
    near = maximum_filter1d(support, 2 * SURROUNDINGS + 1, axis=1, mode="constant")
    std = windows.std(axis=1, where=near, dtype=np.float64)
    return np.asarray(np.maximum(std, LEAST_STD))


def visible(windows: np.ndarray, counterpart: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Whether each counterpart (n, time) differs enough from its window inside the support."""
    squares = (counterpart - windows).astype(np.float64) ** 2
    strength = np.sqrt(squares.mean(axis=1, where=support))
    return np.asarray(strength >= LEAST * local_std(windows, support))
