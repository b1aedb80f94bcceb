"""Kinds of normal series that the simulator does not make: dynamics, noise and marginals differ."""

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

Series = np.ndarray
Make = Callable[[np.random.Generator, int], Series]

SETTLE = 500  # first steps that still remember where a process was started


def _autoregression(rng: np.random.Generator, length: int, memory: float) -> Series:
    noise = rng.standard_normal(length + SETTLE) * np.sqrt(1 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], noise))[SETTLE:]


def threshold_autoregression(rng: np.random.Generator, length: int) -> Series:
    """Another memory above zero than below."""
    noise, level, out = rng.standard_normal(length + SETTLE), 0.0, []
    for shock in noise:
        level = (0.9 * level if level > 0 else -0.4 * level) + 0.5 * shock
        out.append(level)
    return np.array(out)[SETTLE:]


def volatility_clusters(rng: np.random.Generator, length: int) -> Series:
    """GARCH(1, 1) noise: calm and wild times take turns."""
    variance, shock, out = 1.0, 0.0, []
    for draw in rng.standard_normal(length + SETTLE):
        variance = 0.05 + 0.1 * shock**2 + 0.85 * variance
        shock = np.sqrt(variance) * draw
        out.append(shock)
    return np.array(out)[SETTLE:]


def queue_length(rng: np.random.Generator, length: int) -> Series:
    """Jobs waiting at one server with 70% load."""
    change = rng.poisson(2.1, length + SETTLE) - rng.poisson(3.0, length + SETTLE)
    total = np.cumsum(change)
    lowest = np.minimum.accumulate(np.minimum(total, 0))
    return (total - lowest)[SETTLE:].astype(np.float64)


def shot_noise(rng: np.random.Generator, length: int) -> Series:
    """Arrivals of random size that fade."""
    sizes = rng.gamma(2.0, 1.0, length + SETTLE) * (rng.random(length + SETTLE) < 0.08)
    return np.asarray(lfilter([1.0], [1.0, -0.93], sizes))[SETTLE:]


def wandering_tone(rng: np.random.Generator, length: int) -> Series:
    """A tone whose frequency drifts about 1/60."""
    frequency = (1 + 0.15 * _autoregression(rng, length, 0.995)) / 60
    phase = 2 * np.pi * np.cumsum(frequency)
    return np.sin(phase) + 0.15 * rng.standard_normal(length)


def modulated_tone(rng: np.random.Generator, length: int) -> Series:
    """A fast tone under a slow envelope, with heavy-tailed noise."""
    time = np.arange(length)
    envelope = 1 + 0.6 * np.sin(2 * np.pi * time / 610)
    return envelope * np.sin(2 * np.pi * time / 24.5) + 0.1 * rng.standard_t(4, length)


def tide(rng: np.random.Generator, length: int) -> Series:
    """Five tones that never meet again, with weather on top."""
    periods = np.array([12.42, 12.0, 23.93, 25.82, 12.66]) * 4
    sizes = np.array([1.0, 0.45, 0.35, 0.25, 0.2])
    phase = rng.uniform(0, 2 * np.pi, 5)
    time = np.arange(length)[:, None]
    tones = (sizes * np.sin(2 * np.pi * time / periods + phase)).sum(axis=1)
    return tones + 0.2 * _autoregression(rng, length, 0.97)


def long_memory(rng: np.random.Generator, length: int) -> Series:
    """Fluctuations on all scales from 2 to 200 steps."""
    parts = [_autoregression(rng, length, memory) for memory in (0.5, 0.9, 0.98, 0.995)]
    return np.sum(parts, axis=0)


def restless_season(rng: np.random.Generator, length: int) -> Series:
    """No mean pattern, but by day three times the noise of the night."""
    time = np.arange(length)
    return rng.standard_normal(length) * (1 + 0.5 * np.sin(2 * np.pi * time / 144))


def relaxation_oscillator(rng: np.random.Generator, length: int) -> Series:
    """Van der Pol's oscillator, pushed about."""
    x, v, step, out = 1.0, 0.0, 0.02, []
    pushes = 0.6 * np.sqrt(step) * rng.standard_normal(10 * (length + SETTLE))
    for number, push in enumerate(pushes):
        v += step * (4 * (1 - x * x) * v - x) + push
        x += step * v
        if number % 10 == 0:
            out.append(x)
    return np.array(out)[SETTLE:] + 0.03 * rng.standard_normal(length)


def gusts(rng: np.random.Generator, length: int) -> Series:
    """Always positive and skewed, like wind speed."""
    return np.exp(0.5 * _autoregression(rng, length, 0.95) + 0.15 * rng.standard_normal(length))


def predator_and_prey(rng: np.random.Generator, length: int) -> Series:
    """Cycles of about 80 steps that chance makes larger and smaller."""
    prey, hunters, step, out = 1.0, 1.0, 0.08, []
    for first, second in 0.05 * rng.standard_normal((length + SETTLE, 2)):
        growth = step * (1.0 - hunters - 0.1 * (prey - 1)) + np.sqrt(step) * first
        hunger = step * (prey - 1.0) + np.sqrt(step) * second
        prey, hunters = prey * np.exp(growth), hunters * np.exp(hunger)
        out.append(prey)
    return np.log(np.array(out)[SETTLE:])


def heavy_tails(rng: np.random.Generator, length: int) -> Series:
    """Shocks without a fourth moment, like latencies."""
    shocks = rng.standard_t(3, length + SETTLE)
    return np.asarray(lfilter([1.0], [1.0, -0.7], shocks))[SETTLE:]


def rounded_sensor(rng: np.random.Generator, length: int) -> Series:
    """A slow process read in coarse steps: the same values come again and again."""
    return np.round(4 * _autoregression(rng, length, 0.98)) / 4


def rush_hours(rng: np.random.Generator, length: int) -> Series:
    """Counts whose rate has two peaks a day of 144 rows, and days that differ a little."""
    place = np.arange(length) / 144
    busy = np.exp(-((place % 1 - 0.35) ** 2) / 0.005) + np.exp(-((place % 1 - 0.72) ** 2) / 0.01)
    day = rng.lognormal(0.0, 0.1, length // 144 + 1)[place.astype(int)]
    return rng.poisson(day * (5 + 40 * busy)).astype(float)


def growth(rng: np.random.Generator, length: int) -> Series:
    """A daily pattern whose level triples over the whole: what was new becomes usual."""
    place = np.arange(length)
    level = 1 + 2 * place / length
    season = 0.3 * np.sin(place * 2 * np.pi / 144)
    return level * (1 + season) + 0.05 * level * rng.standard_normal(length)


UNSEEN: dict[str, Make] = {
    "threshold autoregression": threshold_autoregression,
    "volatility clusters": volatility_clusters,
    "queue length": queue_length,
    "shot noise": shot_noise,
    "wandering tone": wandering_tone,
    "modulated tone": modulated_tone,
    "tide": tide,
    "long memory": long_memory,
    "restless season": restless_season,
    "relaxation oscillator": relaxation_oscillator,
    "gusts": gusts,
    "predator and prey": predator_and_prey,
    "heavy tails": heavy_tails,
    "rounded sensor": rounded_sensor,
    "rush hours": rush_hours,
    "growth": growth,
}
