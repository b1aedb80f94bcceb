"""A few pairs of a noisy wave, and the sizes of a small detector."""

from dataclasses import dataclass

import numpy as np

from caps.network.config import DetectorConfig

WINDOW = 64
SMALL = DetectorConfig(
    window=WINDOW, stride=16, width=16, dilations=(1, 2, 4), steps=120, learning_rate=3e-3
)


@dataclass(frozen=True)
class Pairs:
    """The fields of a `PairSet` that a detector learns from."""

    reference: np.ndarray
    counterpart: np.ndarray
    support: np.ndarray
    anchor: np.ndarray
    trusted: np.ndarray
    mode: np.ndarray


def wave(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.sqrt(2) * np.sin(np.arange(length) / 4) + 0.1 * rng.standard_normal(length)


def pairs_with_levels(rng: np.random.Generator, count: int = 200) -> Pairs:
    """Half a wave's swing up or down over a quarter of the window."""
    series = wave(rng, 2000)
    starts = rng.integers(0, len(series) - WINDOW, count)
    reference = np.stack([series[start : start + WINDOW] for start in starts]).astype(np.float32)
    support = np.zeros((count, WINDOW), dtype=bool)
    for row, start in enumerate(rng.integers(0, WINDOW - 16, count)):
        support[row, start : start + 16] = True
    sign = rng.choice([-1.5, 1.5], (count, 1)).astype(np.float32)
    counterpart = np.where(support, reference + sign, reference)
    trusted = np.ones((count, WINDOW), dtype=bool)
    modes = np.zeros(count, dtype=np.int64)
    return Pairs(reference, counterpart, support, np.arange(count), trusted, modes)
