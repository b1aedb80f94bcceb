"""Trains of beats: heart and breath signals, gait, cylinder-bell-funnel bumps."""

import numpy as np

from caps.simulate.components import Components, components
from caps.simulate.cycles import (
    TABLE,
    bumps,
    intervals,
    jittered_clock,
    log_uniform,
    lookup,
    per_cycle,
    slow_wave,
)

# Centre, width and height of the waves of one heart beat (P, Q, R, S, T), in cycles.
HEART = np.array(
    [
        [0.22, 0.025, 0.15],
        [0.365, 0.010, -0.15],
        [0.40, 0.014, 1.0],
        [0.435, 0.012, -0.25],
        [0.66, 0.050, 0.28],
    ]
)
PULSE = np.array([[0.30, 0.07, 1.0], [0.52, 0.09, 0.45], [0.75, 0.12, 0.15]])


def beat_train(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N5: beats of three to five bumps with natural jitter: heart, pulse wave, other rhythms."""
    period = log_uniform(rng, 30.0, 220.0, rows)
    phase = jittered_clock(rng, period, length, rng.uniform(0.005, 0.05, rows))
    centre, width, height = _beats(rng, rows)
    # A wave narrower than a step would be hit or missed by the sampling at random.
    width = np.maximum(width, 0.8 / period[:, None])
    table = bumps(centre, width, height)
    cycles = int(phase.max()) + 2
    heights = 1 + rng.uniform(0.02, 0.08, (rows, 1)) * rng.standard_normal((rows, cycles))
    signal = lookup(table, phase) * per_cycle(heights, phase)
    wander = rng.uniform(0.0, 0.25, (rows, 1)) * (rng.random((rows, 1)) < 0.6)
    main = np.abs(height).argmax(axis=1)[:, None]
    at = np.take_along_axis(centre, main, axis=1)[:, 0]
    reach = np.minimum(np.take_along_axis(width, main, axis=1)[:, 0] * 3.2, 0.3)
    return components(
        signal,
        trend=wander * signal.std(axis=1, keepdims=True) * slow_wave(rng, rows, length),
        phase=phase,
        period=period,
        features=intervals(phase, at - reach, at + reach),
    )


def bump_train(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N16: cylinders, bells, funnels or steps of a walk, with jittered spacing and height."""
    period = log_uniform(rng, 24.0, 200.0, rows)
    phase = jittered_clock(rng, period, length, rng.uniform(0.01, 0.1, rows))
    turn = np.arange(TABLE) / TABLE
    share = rng.uniform(0.25, 0.75, rows)[:, None]
    inside = turn < share
    rise = np.where(inside, turn / share, 0.0)
    lobes = np.sin(np.pi * rise) * (
        1 + 0.5 * np.sin(3 * np.pi * rise + rng.normal(0, 1, (rows, 1)))
    )
    shapes = np.stack([inside.astype(float), rise, np.where(inside, 1 - rise, 0.0), lobes * inside])
    table = shapes[rng.integers(0, 4, rows), np.arange(rows)]
    cycles = int(phase.max()) + 2
    heights = 1 + rng.uniform(0.02, 0.15, (rows, 1)) * rng.standard_normal((rows, cycles))
    signal = lookup(table, phase) * per_cycle(heights, phase)
    features = intervals(phase, np.zeros(rows), share[:, 0])
    return components(signal, phase=phase, period=period, features=features)


def _beats(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, widths and heights (rows, 5): heart beats, pulse waves and free shapes."""
    shape = np.zeros((rows, 5, 3))
    shape[:, :, 1] = 0.05
    kind = rng.choice(3, rows, p=[0.5, 0.25, 0.25])
    shape[kind == 0] = HEART
    shape[kind == 1, :3] = PULSE
    free = np.stack(
        [
            rng.uniform(0.1, 0.9, (rows, 5)),
            log_uniform(rng, 0.015, 0.1, (rows, 5)),
            rng.normal(0, 0.6, (rows, 5)),
        ],
        axis=2,
    )
    free[:, 0, 2] = 1.0
    shape[kind == 2] = free[kind == 2]
    centre = shape[:, :, 0] + rng.normal(0, 0.012, (rows, 5))
    width = shape[:, :, 1] * rng.uniform(0.7, 1.5, (rows, 5))
    height = shape[:, :, 2] * rng.uniform(0.6, 1.4, (rows, 5))
    return centre, width, height
