"""Series that repeat: seasons, several periods, waveforms, rotating machines, trains of beats."""

import numpy as np

from caps.simulate.components import Components, components
from caps.simulate.cycles import (
    TABLE,
    WAVEFORMS,
    bumps,
    harmonics,
    intervals,
    jittered_clock,
    log_uniform,
    lookup,
    per_cycle,
    slow_wave,
    smoothed,
    steady_clock,
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


def harmonic_season(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N1: a sum of up to eight harmonics, the plainest season of sensors and of web metrics."""
    period = log_uniform(rng, 6.0, 400.0, rows)
    phase = steady_clock(rng, period, length)
    return components(lookup(harmonics(rng, period), phase), phase=phase, period=period)


def multi_period(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N2: a fast season in one or two slower ones, added or multiplied (hour in day in week)."""
    period = log_uniform(rng, 6.0, 80.0, rows)
    phase = steady_clock(rng, period, length)
    signal = lookup(harmonics(rng, period, most=6), phase)
    slower = period
    for share in (1.0, 0.4):
        slower = slower * log_uniform(rng, 2.0, 12.0, rows)
        wave = lookup(harmonics(rng, slower, most=4), steady_clock(rng, slower, length))
        weight = (rng.uniform(0.3, 1.5, rows) * (rng.random(rows) < share))[:, None]
        envelope = 1 + np.minimum(0.4 * weight, 0.6) * np.clip(wave, -1.5, 1.5)
        multiply = (rng.random(rows) < 0.5)[:, None]
        signal = np.where(multiply, signal * envelope, signal + weight * wave)
    return components(signal, phase=phase, period=period)


def waveform_train(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N6: a square, saw, triangle, pulse or wavelet atom once per period: valves, pumps."""
    period = log_uniform(rng, 12.0, 200.0, rows)
    phase = jittered_clock(rng, period, length, rng.uniform(0, 0.03, rows))
    duty = rng.uniform(0.05, 0.9, rows)
    names = list(WAVEFORMS)[1:]
    kind = rng.integers(0, len(names), rows)
    turn = np.arange(TABLE) / TABLE
    table = np.stack(
        [WAVEFORMS[names[k]](turn, np.asarray(d)) for k, d in zip(kind, duty, strict=True)]
    )
    signal = smoothed(lookup(table, phase), rng.integers(1, 5, rows))
    opens, closes = np.zeros(rows), np.where(kind == names.index("pulse"), duty, 0.5)
    atom = np.isin(kind, [names.index("ricker"), names.index("morlet")])
    reach = np.minimum(0.6 * duty + 0.08, 0.48)
    opens, closes = np.where(atom, 0.5 - reach, opens), np.where(atom, 0.5 + reach, closes)
    features = intervals(phase, opens, closes)
    spikes = atom | ((kind == names.index("pulse")) & (duty < 0.5))
    features[~spikes] = -1
    return components(signal, phase=phase, period=period, features=features)


def rotating_machine(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N7: near-harmonic sinusoids that beat slowly, as vibration of a turning shaft does."""
    period = log_uniform(rng, 4.0, 60.0, rows)
    phase = steady_clock(rng, period, length, drift=0.005)
    signal = np.sin(2 * np.pi * phase)
    for order in (2, 3, 5):
        detuned = order * (1 + rng.normal(0, 0.004, rows)) + rng.normal(0, 0.01, rows)
        weight = rng.uniform(0.1, 0.9, rows) * (rng.random(rows) < 0.6) * (period >= 3 * order)
        wave = np.sin(2 * np.pi * (detuned[:, None] * phase + rng.random((rows, 1))))
        beating = 1 + 0.3 * slow_wave(rng, rows, length)
        signal = signal + weight[:, None] * wave * beating
    depth = rng.uniform(0.0, 0.25, rows)[:, None]
    return components(
        signal * (1 + depth * slow_wave(rng, rows, length)), phase=phase, period=period
    )


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
