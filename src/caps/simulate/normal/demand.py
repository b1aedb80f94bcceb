"""Series driven by people: web and service metrics, weekly power demand."""

import numpy as np
from scipy.signal import lfilter

from caps.simulate.components import Components, components
from caps.simulate.cycles import (
    TABLE,
    bumps,
    intervals,
    log_uniform,
    lookup,
    per_cycle,
    slow_wave,
    steady_clock,
)


def web_metric(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N3: requests, latencies and loads: a daily curve times a weekday factor, counted.

    A third of the rows have a scheduled job that makes a spike at the same time every day.
    """
    period = log_uniform(rng, 96.0, 1440.0, rows)
    phase = steady_clock(rng, period, length, drift=0.0)
    turn = np.arange(TABLE) / TABLE
    order = np.arange(1, 5)
    strength = rng.uniform(0.2, 0.9, (rows, 1)) * order**-1.5 * rng.uniform(0.3, 1, (rows, 4))
    angle = order[:, None] * turn + rng.random((rows, 4, 1))
    curve = (strength[:, :, None] * np.sin(2 * np.pi * angle)).sum(axis=1)
    day = _weekend(rng, phase)
    weekday = _blended(rng, phase, day, rng.uniform(-0.8, 0.05, rows))
    wander = _slow_noise(rng, rows, length, rng.uniform(0.02, 0.12, rows))
    growth = rng.normal(0, 0.4, (rows, 1)) * (rng.random((rows, 1)) < 0.3)
    rate = np.exp(lookup(curve, phase) + weekday + wander + growth * np.linspace(0, 1, length))
    spiked, features = _scheduled(rng, phase, period)
    signal = rate * spiked
    observed, quantum = _observed(rng, signal)
    return components(
        signal,
        noise=observed - signal,
        phase=phase,
        period=period,
        floor=np.zeros(rows),
        quantum=quantum,
        zero=np.zeros(rows),
        features=features,
        day=day,
    )


def power_demand(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N4: five high and two low days a week, each a smooth bump over a night level."""
    period = rng.choice([24.0, 48.0, 96.0], rows) * np.where(
        rng.random(rows) < 0.5, 1.0, rng.uniform(0.8, 1.3, rows)
    )
    phase = steady_clock(rng, period, length, drift=0.0)
    centre = 0.5 + rng.normal(0, 0.04, (rows, 1)) + np.array([0.0, -0.15, 0.22])
    width = rng.uniform(0.05, 0.14, (rows, 3))
    height = np.concatenate([np.ones((rows, 1)), rng.uniform(0.0, 0.8, (rows, 2))], axis=1)
    profile = bumps(centre, width, height)
    day = _weekend(rng, phase)
    low = rng.uniform(0.05, 0.5, rows)[:, None]
    heights = np.where(day == 1, low, 1.0) * _day_by_day(rng, phase, 0.04)
    year = 1 + rng.uniform(0, 0.15, (rows, 1)) * slow_wave(rng, rows, length)
    signal = year * (rng.uniform(0.2, 1.0, (rows, 1)) + heights * lookup(profile, phase))
    noise = _slow_noise(rng, rows, length, rng.uniform(0.005, 0.03, rows), memory=(0.5, 0.9))
    return components(
        signal,
        noise=signal * noise,
        phase=phase,
        period=period,
        floor=np.zeros(rows),
        zero=np.zeros(rows),
        day=day,
    )


def _weekend(rng: np.random.Generator, phase: np.ndarray) -> np.ndarray:
    """1 on two days out of seven, 0 on the others."""
    first = rng.integers(0, 7, (len(phase), 1))
    return np.asarray((((np.floor(phase).astype(np.int64) + first) % 7) >= 5).astype(np.int8))


def _blended(
    rng: np.random.Generator, phase: np.ndarray, day: np.ndarray, drop: np.ndarray
) -> np.ndarray:
    """The log factor of each day, going over smoothly around midnight."""
    factor = day * drop[:, None] + _day_by_day(rng, phase, 0.05) - 1
    tomorrow = np.roll(factor, -1, axis=1)
    change = np.where(np.arange(phase.shape[1]) == phase.shape[1] - 1, 0.0, tomorrow - factor)
    steps = max(3, int(0.03 / max(float(np.median(np.diff(phase[:, :2]))), 1e-6)))
    eased = lfilter(np.ones(steps) / steps, [1.0], change, axis=1).cumsum(axis=1)
    return np.asarray(factor[:, :1] + eased)


def _day_by_day(rng: np.random.Generator, phase: np.ndarray, std: float) -> np.ndarray:
    """A factor around 1 that is constant over each day."""
    days = int(phase.max()) + 2
    return per_cycle(1 + std * rng.standard_normal((len(phase), days)), phase)


def _slow_noise(
    rng: np.random.Generator,
    rows: int,
    length: int,
    std: np.ndarray,
    memory: tuple[float, float] = (0.9, 0.99),
) -> np.ndarray:
    """First-order autoregressive noise of the given standard deviation per row."""
    keep = rng.uniform(*memory)
    start = rng.standard_normal((rows, 1))
    drive = np.concatenate(
        [start, np.sqrt(1 - keep**2) * rng.standard_normal((rows, length - 1))], 1
    )
    return np.asarray(lfilter([1.0], [1.0, -keep], drive, axis=1) * std[:, None])


def _scheduled(
    rng: np.random.Generator, phase: np.ndarray, period: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A factor with a spike at a fixed time of day in a third of the rows, and where it is."""
    rows = len(phase)
    at = rng.random(rows)
    times = rng.choice([1, 2, 4, 8], rows)
    width = rng.uniform(1.0, 3.0, rows) / period * times
    turn = (phase * times[:, None] - at[:, None] + 0.5) % 1.0 - 0.5
    busy = rng.random(rows) < 0.35
    height = np.where(busy, rng.uniform(0.6, 3.0, rows), 0.0)
    factor = 1 + height[:, None] * np.exp(-0.5 * (turn / width[:, None]) ** 2)
    features = intervals(phase * times[:, None], at - 2.5 * width, at + 2.5 * width)
    features[~busy] = -1
    return factor, features


def _observed(rng: np.random.Generator, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts (Poisson) in half of the rows, measured values with multiplicative noise in others."""
    rows = len(rate)
    scale = log_uniform(rng, 5.0, 3000.0, (rows, 1))
    counts = rng.poisson(rate * scale) / scale
    std = log_uniform(rng, 0.005, 0.12, (rows, 1))
    tails = np.clip(rng.standard_t(4, rate.shape), -4.5, 4.5)
    values = rate * np.exp(std * tails)
    counted = rng.random(rows) < 0.5
    quantum = np.where(counted & (scale[:, 0] < 200), 1 / scale[:, 0], 0.0)
    return np.where(counted[:, None], counts, values), quantum
