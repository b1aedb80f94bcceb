"""Machines with states: piecewise levels, counts that are mostly zero, slow set-point response."""

import numpy as np
from scipy.signal import lfilter

from caps.simulate.components import Components, components
from caps.simulate.cycles import log_uniform, smoothed, steady_clock


def piecewise_state(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N12: two to six levels held for a while, at random or on a fixed schedule (telemetry)."""
    levels = _levels(rng, rows)
    signal = np.empty((rows, length))
    phase = np.zeros((rows, length))
    period = np.full(rows, np.nan)
    for row in range(rows):
        known = levels[row][np.isfinite(levels[row])]
        if rng.random() < 0.35:
            dwell = np.round(log_uniform(rng, 8.0, 60.0, len(known))).astype(int)
            cycle = np.repeat(known, dwell)
            offset = int(rng.integers(len(cycle)))
            signal[row] = cycle[(np.arange(length) + offset) % len(cycle)]
            period[row] = len(cycle)
            phase[row] = 1 + (np.arange(length) + offset) / len(cycle)
        else:
            signal[row] = _held(rng, known, length, 10.0, 200.0)
    signal = smoothed(signal, np.where(rng.random(rows) < 0.5, 1, rng.integers(2, 7, rows)))
    return components(signal, phase=phase, period=period, levels=levels)


def slow_process(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N15: first-order response to random set-points: temperatures, pressures, tank levels."""
    levels = _levels(rng, rows)
    signal = np.empty((rows, length))
    for row in range(rows):
        target = _held(rng, levels[row][np.isfinite(levels[row])], length, 30.0, 250.0)
        keep = float(np.exp(-1 / log_uniform(rng, 4.0, 50.0, 1)[0]))
        state = np.array([keep * target[0]])
        signal[row] = lfilter([1 - keep], [1, -keep], target, zi=state)[0]
    return components(signal, levels=levels)


def intermittent_counts(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N13: counts that are mostly zero: tickets, errors, tweets; some have busy hours."""
    zero_share = rng.uniform(0.3, 0.95, (rows, 1))
    period = log_uniform(rng, 24.0, 300.0, rows)
    busy = rng.uniform(0.6, 1.0, (rows, 1)) * (rng.random((rows, 1)) < 0.4)
    rate = 1 + busy * np.sin(2 * np.pi * steady_clock(rng, period, length, drift=0.0))
    active = rng.random((rows, length)) < np.clip((1 - zero_share) * rate, 0, 1)
    mean_size = log_uniform(rng, 1.3, 12.0, (rows, 1))
    sizes = rng.geometric(np.broadcast_to(1 / mean_size, (rows, length)))
    counts = np.where(active, np.minimum(sizes, np.ceil(4 * mean_size)), 0).astype(float)
    # Something must happen in every series, or it has no std to be scaled by.
    counts[:, ::97] = np.maximum(counts[:, ::97], 1.0)
    # Only the rate is seasonal, the counts are not: moved within a cycle they would look the same.
    return components(
        counts,
        texture=0.5 * counts.std(axis=1),
        floor=np.zeros(rows),
        quantum=np.ones(rows),
        zero=np.zeros(rows),
    )


def _levels(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Two to six clearly different levels per row (rows, 6), nan as padding."""
    gaps = rng.uniform(0.4, 1.6, (rows, 6))
    levels = rng.permuted(np.cumsum(gaps, axis=1), axis=1)
    levels[np.arange(6) >= rng.integers(2, 7, (rows, 1))] = np.nan
    return levels


def _held(
    rng: np.random.Generator, levels: np.ndarray, length: int, shortest: float, longest: float
) -> np.ndarray:
    """Levels visited at random, never the same twice in a row, each held for a random time."""
    visits = int(length / shortest) + 2
    moves = rng.integers(1, len(levels), visits)
    order = (rng.integers(len(levels)) + np.cumsum(moves)) % len(levels)
    # A series shorter than the longest dwell would otherwise stay in one state.
    dwell = np.round(log_uniform(rng, shortest, min(longest, length / 4), visits)).astype(int)
    return np.asarray(np.repeat(levels[order], dwell)[:length])
