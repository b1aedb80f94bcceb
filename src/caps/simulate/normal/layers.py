"""Layers that all generators share: trend, noise, amplitude modulation, sign."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import lfilter

from caps.simulate.components import Components
from caps.simulate.cycles import slow_wave

# Noise classes as shares of the signal's std: none, faint, moderate, strong.
NOISE_RANGES = ((0.0, 0.0), (0.01, 0.05), (0.05, 0.15), (0.15, 0.4))
# Wilder tails would put outliers into the normal member that look exactly like point anomalies.
WIDEST_NOISE = 4.5


@dataclass(frozen=True, slots=True)
class Layers:
    """Which layers a generator takes, as probabilities."""

    trend: float = 0.5
    noise: tuple[float, float, float, float] = (0.2, 0.4, 0.25, 0.15)
    modulation: float = 0.3
    flip: float = 0.5


QUIET = Layers(trend=0.15, noise=(0.4, 0.5, 0.1, 0.0), modulation=0.0)
OWN_NOISE = Layers(trend=0.0, noise=(1.0, 0.0, 0.0, 0.0), modulation=0.0, flip=0.0)


def layered(rng: np.random.Generator, made: Components, layers: Layers) -> Components:
    """`made` with the layers added, its own trend and noise kept."""
    rows, length = made.signal.shape
    signal = made.signal.copy()
    swaying = np.flatnonzero(rng.random(rows) < layers.modulation)
    depth = rng.uniform(0, 0.3, (len(swaying), 1))
    signal[swaying] *= 1 + depth * slow_wave(rng, len(swaying), length)
    sign = np.where(rng.random(rows) < layers.flip, -1.0, 1.0)[:, None]
    std = signal.std(axis=1)
    level = np.zeros((rows, length))
    trending = np.flatnonzero(rng.random(rows) < layers.trend)
    level[trending] = trend_paths(rng, len(trending), length)
    noise = _noise(rng, signal, layers)
    return replace(
        made,
        signal=sign * signal,
        trend=sign * made.trend + std[:, None] * level,
        noise=sign * made.noise + std[:, None] * noise,
        levels=sign * made.levels,
    )


def trend_paths(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Linear, piecewise linear or smooth paths (rows, length) that span 0 to 2 end to end."""
    time = np.linspace(0, 1, length)
    kind = rng.choice(3, rows, p=[0.4, 0.4, 0.2])
    line = np.broadcast_to(time, (rows, length)) * rng.choice([-1.0, 1.0], (rows, 1))
    knots = np.sort(rng.random((rows, 4, 1)), axis=1)
    slopes = rng.normal(0, 1, (rows, 4, 1))
    broken = (slopes * np.maximum(time - knots, 0)).sum(axis=1)
    broken += rng.normal(0, 0.5, (rows, 1)) * time
    path = np.stack([line, broken, slow_wave(rng, rows, length)])[kind, np.arange(rows)]
    span = np.ptp(path, axis=1, keepdims=True)
    path = (path - path.mean(axis=1, keepdims=True)) / np.maximum(span, 1e-9)
    return np.asarray(path * rng.uniform(0.0, 2.0, (rows, 1)))


def _noise(rng: np.random.Generator, signal: np.ndarray, layers: Layers) -> np.ndarray:
    """Unit-free noise: its class, its law, and in some rows a std that follows the season."""
    rows, length = signal.shape
    low, high = np.array(NOISE_RANGES)[rng.choice(4, rows, p=layers.noise)].T
    share = rng.uniform(low, high)
    noise = rng.standard_normal((rows, length))
    law = np.asarray(rng.choice(4, rows, p=[0.6, 0.2, 0.1, 0.1]))
    for row in np.flatnonzero((law > 0) & (share > 0)):
        noise[row] = _coloured(rng, int(law[row]), length)
    centred = signal - signal.mean(axis=1, keepdims=True)
    follows = np.clip(
        1 + 0.6 * centred / np.maximum(signal.std(axis=1, keepdims=True), 1e-9), 0.3, 2
    )
    noise = np.where(rng.random((rows, 1)) < 0.15, noise * follows, noise)
    return np.asarray(np.clip(noise, -WIDEST_NOISE, WIDEST_NOISE) * share[:, None])


def _coloured(rng: np.random.Generator, law: int, length: int) -> np.ndarray:
    """Unit-variance Student-t (1), Laplace (2) or autoregressive (3) noise."""
    if law == 1:
        freedom = rng.uniform(3.0, 5.0)
        return np.asarray(rng.standard_t(freedom, length) * np.sqrt((freedom - 2) / freedom))
    if law == 2:
        return np.asarray(rng.laplace(0, np.sqrt(0.5), length))
    keep = rng.uniform(0.3, 0.9)
    return np.asarray(
        lfilter([np.sqrt(1 - keep**2)], [1, -keep], rng.standard_normal(length + 50))[50:]
    )
