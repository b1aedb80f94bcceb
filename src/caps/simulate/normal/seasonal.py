"""Series that repeat: harmonic seasons, several periods, waveform trains, rotating machines."""

import numpy as np

from caps.simulate.components import Components, components
from caps.simulate.cycles import (
    TABLE,
    WAVEFORMS,
    harmonics,
    intervals,
    jittered_clock,
    log_uniform,
    lookup,
    slow_wave,
    smoothed,
    steady_clock,
)


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
