"""The table of normal generators: weight, layers and the reason each one is there."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from caps.errors import InputError, check_known
from caps.simulate.components import Components, normalised, stack
from caps.simulate.normal.demand import power_demand, web_metric
from caps.simulate.normal.layers import OWN_NOISE, QUIET, Layers, layered
from caps.simulate.normal.processes import (
    autoregression,
    chaos,
    gaussian_process,
    intermittent_counts,
    piecewise_state,
    random_walk,
    slow_process,
)
from caps.simulate.normal.seasonal import (
    beat_train,
    bump_train,
    harmonic_season,
    multi_period,
    rotating_machine,
    waveform_train,
)

Make = Callable[[np.random.Generator, int, int], Components]


@dataclass(frozen=True, slots=True)
class NormalGenerator:
    """A named source of normal series."""

    name: str
    weight: float
    make: Make
    layers: Layers
    reason: str


def saturating_sensor(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N14: another generator seen through a coarse sensor that clips, rounds and holds values."""
    inner = (harmonic_season, multi_period, beat_train, rotating_machine, gaussian_process)
    made = layered(rng, inner[rng.integers(len(inner))](rng, rows, length), Layers(flip=0.0))
    series = made.series
    low = np.quantile(series, rng.uniform(0.0, 0.1), axis=1, keepdims=True)
    high = np.quantile(series, rng.uniform(0.85, 1.0), axis=1, keepdims=True)
    hold = rng.choice([1, 1, 2, 4, 8], rows)
    held = (np.arange(length) // hold[:, None]) * hold[:, None]
    series = np.take_along_axis(np.clip(series, low, high), held, axis=1)
    step = (high - low) / rng.integers(4, 65, (rows, 1))
    rounded = low + step * np.round((series - low) / step)
    return replace(
        made,
        signal=rounded,
        trend=np.zeros_like(rounded),
        noise=np.zeros_like(rounded),
        quantum=step[:, 0],
        zero=low[:, 0],
    )


CATALOGUE = (
    NormalGenerator("N1 harmonic season", 0.12, harmonic_season, Layers(), "plain seasons"),
    NormalGenerator("N2 multi-period", 0.08, multi_period, Layers(), "hour in day in week"),
    NormalGenerator("N3 web metric", 0.09, web_metric, OWN_NOISE, "requests, latency, load"),
    NormalGenerator("N4 power demand", 0.06, power_demand, OWN_NOISE, "weekday and weekend"),
    NormalGenerator("N5 beat train", 0.08, beat_train, Layers(trend=0.2), "heart, pulse, breath"),
    NormalGenerator("N6 waveform train", 0.05, waveform_train, Layers(), "actuators, valves"),
    NormalGenerator("N7 rotating machine", 0.06, rotating_machine, QUIET, "vibration of a shaft"),
    NormalGenerator("N8 chaos", 0.08, chaos, QUIET, "strict dynamics that never repeat"),
    NormalGenerator("N9 Gaussian process", 0.08, gaussian_process, Layers(), "smooth mixtures"),
    NormalGenerator(
        "N10 autoregression",
        0.07,
        autoregression,
        replace(OWN_NOISE, trend=0.2, flip=0.5),
        "residual metrics",
    ),
    NormalGenerator("N11 random walk", 0.05, random_walk, OWN_NOISE, "queues, prices, disks"),
    NormalGenerator("N12 piecewise state", 0.05, piecewise_state, QUIET, "telemetry with modes"),
    NormalGenerator(
        "N13 intermittent counts",
        0.04,
        intermittent_counts,
        OWN_NOISE,
        "rare events that are counted",
    ),
    NormalGenerator(
        "N14 saturating sensor",
        0.03,
        saturating_sensor,
        OWN_NOISE,
        "coarse, clipped, held readings",
    ),
    NormalGenerator("N15 slow process", 0.03, slow_process, QUIET, "temperatures and tanks"),
    NormalGenerator("N16 bump train", 0.03, bump_train, Layers(), "gait, batch processes"),
)
GENERATORS = tuple(generator.name for generator in CATALOGUE)


def draw_normal(
    rng: np.random.Generator, count: int, length: int, generator: str | None = None
) -> tuple[Components, np.ndarray]:
    """`count` normalised long series with their components, and the generator index of each."""
    if generator is None:
        weights = np.array([entry.weight for entry in CATALOGUE])
        shares = rng.multinomial(count, weights / weights.sum())
    else:
        check_known("generator", generator, GENERATORS)
        shares = np.where(np.array(GENERATORS) == generator, count, 0)
    parts = [
        layered(rng, entry.make(rng, int(rows), length), entry.layers)
        for entry, rows in zip(CATALOGUE, shares, strict=True)
        if rows > 0
    ]
    return normalised(stack(parts), rng), np.repeat(np.arange(len(CATALOGUE)), shares)


def simulate_normal(
    count: int, length: int, *, rng: np.random.Generator, generator: str | None = None
) -> np.ndarray:
    """`count` normal series of `length` steps, each with mean 0 and standard deviation 1.

    >>> simulate_normal(3, 512, rng=np.random.default_rng(0), generator="N5 beat train").shape
    (3, 512)
    """
    if count < 1 or length < 256:
        raise InputError(
            f"{count} series of {length} steps were asked for", "ask for 1 or more of 256 or more"
        )
    return draw_normal(rng, count, length, generator)[0].series
