"""Rare but harmless features in both members, so that a rare shape alone is not the label."""

from dataclasses import replace

import numpy as np

from caps.simulate.normal.catalogue import GENERATORS
from caps.simulate.pairs import PairBatch

SHARE = 0.1
# Steps kept free between a benign feature and the support.
MARGIN = 3
# Whole numbers and coarse steps cannot carry a smooth feature.
_COARSE = [GENERATORS.index(name) for name in ("N13 intermittent counts", "N14 saturating sensor")]
_POSITIVE = [GENERATORS.index(name) for name in ("N3 web metric", "N4 power demand")]


def add_benign(batch: PairBatch, rng: np.random.Generator, largest: float) -> PairBatch:
    """Add a feature that comes at least twice, outside the support, to a tenth of the pairs."""
    wanted = rng.random(len(batch)) < SHARE
    chosen = np.flatnonzero(wanted & ~np.isin(batch.generator, _COARSE))
    size, window = len(chosen), batch.normal.shape[1]
    shape, instance = _features(rng, size, window)
    shape = _kept_apart(shape, instance, batch.support[chosen])
    up = np.where(np.isin(batch.generator[chosen], _POSITIVE), 1.0, rng.choice([-1.0, 1.0], size))
    height = up * batch.scale[chosen] * rng.uniform(1.5, 6.0, size)
    normal = batch.normal.copy()
    normal[chosen] = np.clip(normal[chosen] + height[:, None] * shape, -largest, largest)
    # Copied rather than added once more: the members must be equal to the bit outside the support.
    normal = np.where(batch.support, batch.normal, normal)
    anomalous = np.where(batch.support, batch.anomalous, normal)
    return replace(batch, normal=normal, anomalous=anomalous)


def _features(rng: np.random.Generator, size: int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Recurring spikes, scheduled steps or dips of unit height, and the number of each instance."""
    time = np.arange(window)
    first = rng.integers(4, window // 3, (size, 1))
    gap = rng.integers(window // 6, window // 2, (size, 1))
    instance = np.maximum(np.round((time - first) / gap), 0)
    away = np.abs(time - first - gap * instance)
    spike = np.maximum(1 - away / rng.integers(1, 4, (size, 1)), 0)
    steps = (away <= gap // 4).astype(float)
    width = rng.integers(6, 24, (size, 1))
    dip = np.where(away < width, 0.5 + 0.5 * np.cos(np.pi * away / width), 0.0)
    kind = rng.integers(0, 3, (size, 1))
    return np.select([kind == 0, kind == 1], [spike, steps], dip), instance


def _kept_apart(shape: np.ndarray, instance: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Remove instances that touch the support, and features of which fewer than two remain."""
    near = support.copy()
    for step in range(1, MARGIN + 1):
        near[:, step:] |= support[:, :-step]
        near[:, :-step] |= support[:, step:]
    remaining = np.zeros(len(shape))
    shape = shape.copy()
    for nth in range(int(instance.max(initial=0)) + 1):
        here = (instance == nth) & (shape > 0)
        touched = (here & near).any(axis=1)
        shape[here & touched[:, None]] = 0
        remaining += here.any(axis=1) & ~touched
    return np.where((remaining >= 2)[:, None], shape, 0.0)
