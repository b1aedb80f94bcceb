"""The visibility gate: a label on a change that no one could see would only be label noise."""

import numpy as np

from caps.simulate.pairs import PairBatch

# Least root-mean-square of the residual in the support, in units of noise and of local scale.
LEAST_IN_NOISE = 0.35
LEAST_IN_SCALE = 0.15
# The same in units of the whole series: next to nothing is nothing, however still it is around it.
LEAST = 0.06
# Least peak of a point anomaly in units of noise.
LEAST_PEAK = 3.0


def threshold(noise: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Least root-mean-square residual that counts as visible."""
    return np.maximum(np.maximum(LEAST_IN_NOISE * noise, LEAST_IN_SCALE * scale), LEAST)


def strength(residual: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Root-mean-square of each row of `residual` inside its support."""
    steps = np.maximum(support.sum(axis=1), 1)
    energy = np.where(support, residual, 0).astype(np.float64) ** 2
    return np.asarray(np.sqrt(energy.sum(axis=1) / steps))


def passes(
    residual: np.ndarray,
    support: np.ndarray,
    noise: np.ndarray,
    scale: np.ndarray,
    point: np.ndarray,
) -> np.ndarray:
    """Whether each row is visible; rows that are `point` anomalies also need a clear peak."""
    peak = np.abs(np.where(support, residual, 0)).max(axis=1)
    visible = strength(residual, support) >= threshold(noise, scale)
    return np.asarray(visible & (~point | (peak >= LEAST_PEAK * noise)) & support.any(axis=1))


def visible(pairs: PairBatch) -> np.ndarray:
    """Whether each pair passes the gate, computed from the pair itself.

    >>> from caps.simulate import simulate_pairs
    >>> bool(visible(simulate_pairs(30, seed=1)).mean() > 0.95)
    True
    """
    # A part in a million of slack: noise and scale were rounded to float32 when stored.
    slack = 1 - 1e-6
    return passes(
        pairs.residual,
        pairs.support,
        slack * pairs.parameter("noise"),
        slack * pairs.scale,
        pairs.family == 0,
    )
