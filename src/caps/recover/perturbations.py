"""Perturbations by rule, as published for DADA: they know nothing of the target.

Every window gets one segment; the kinds take turns. Unlike the rules of `injection`, nothing is
pasted from the series itself, and one kind writes foreign waveforms.
"""

import numpy as np

from caps.recover.injection import (
    Rule,
    Site,
    rewritten,
    scale,
    smoothing,
    time_mirror,
    value_mirror,
)
from caps.recover.pairs import NO_MODE, PairSet
from caps.recover.references import References


def outlier(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Single points past the middle of the window's range, towards and beyond its far end."""
    values = site.values.copy()
    low, high = float(site.window.min()), float(site.window.max())
    reach = max(high - low, site.std)
    for step in rng.choice(len(values), size=max(1, len(values) // 20), replace=False):
        up = values[step] < (low + high) / 2
        values[step] += (1 if up else -1) * (0.25 + rng.random()) * reach
    return values


def compress(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A quarter to three quarters of its length, repeated to fill the segment."""
    return _at_speed(site, 1 / rng.uniform(0.25, 0.75))


def stretch(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Up to twice its length, cut to the segment."""
    return _at_speed(site, 1 / rng.uniform(1.25, 2.0))


def noise(site: Site, rng: np.random.Generator) -> np.ndarray:
    """With noise of a quarter to half of the window's std."""
    size = rng.uniform(0.25, 0.5) * site.std
    return np.asarray(site.values + size * rng.standard_normal(len(site.values)))


def waveform(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A foreign shape with the mean and the swing of the segment."""
    phase = np.linspace(0, rng.uniform(0.5, 3.0), len(site.values)) + rng.random()
    shape = WAVEFORMS[rng.integers(len(WAVEFORMS))](phase)
    swing = max(float(np.ptp(site.values)), site.std) / max(float(np.ptp(shape)), 1e-9)
    return np.asarray(site.values.mean() + swing * (shape - shape.mean()))


WAVEFORMS = (
    lambda u: np.sin(2 * np.pi * u),
    lambda u: np.sin(2 * np.pi * u) + 0.5 * np.sin(6 * np.pi * u),
    lambda u: np.sign(np.sin(2 * np.pi * u)),
    lambda u: u % 1,
    lambda u: -(u % 1),
    lambda u: np.abs(u % 1 - 0.5),
    lambda u: (u % 1 < 0.2).astype(float),
    lambda u: np.exp(-((u % 1 - 0.5) ** 2) / 0.02),
    lambda u: np.sin(2 * np.pi * u**2),
    lambda u: np.abs(np.sin(2 * np.pi * u)),
)
PERTURBATIONS: tuple[Rule, ...] = (
    outlier,
    compress,
    stretch,
    noise,
    smoothing,
    time_mirror,
    value_mirror,
    scale,
    waveform,
)


def perturbed_pairs(references: References, count: int, seed: int) -> PairSet:
    """So many counterparts of references drawn at random, each with one perturbed segment."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    anchor = rng.integers(len(references), size=count)
    counterpart, support = rewritten(references.windows, anchor, PERTURBATIONS, rng, sparse=outlier)
    mode = np.full(count, NO_MODE, dtype=np.int64)
    return PairSet(references.windows, counterpart, support, mode, anchor, references.trusted)


def _at_speed(site: Site, rate: float) -> np.ndarray:
    length = len(site.values)
    time = (rate * np.arange(length)) % (length - 1)
    return np.asarray(np.interp(time, np.arange(length), site.values))
