"""Inputs for the comparison with TSB-AD, made from seeds: random, edge and real-shaped.

Needs numpy alone, of any version from 1.24 on, because TSB-AD runs in an environment of its own.
Scores are rounded, so that the last bits of a platform's mathematics cannot move a threshold.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

RANDOM_CASES = 280
REAL_SHAPED_CASES = 24


@dataclass(frozen=True)
class Case:
    name: str
    scores: np.ndarray
    labels: np.ndarray
    window: int


def cases() -> Iterator[Case]:
    """Yield every case, always the same."""
    for seed in range(RANDOM_CASES):
        yield random_case(seed)
    yield from edge_cases()
    for seed in range(REAL_SHAPED_CASES):
        yield real_shaped_case(seed)


def random_case(seed: int) -> Case:
    """A short series with random events and continuous, tied or binary scores."""
    rng = np.random.default_rng([1, seed])
    size = int(rng.integers(18, 200))
    labels = random_events(rng, size)
    kind = seed % 4
    scores = rng.random(size) + rng.uniform(0, 1) * labels
    if kind == 1:
        scores = np.round(scores * 4) / 4
    elif kind == 2:
        scores = smooth(rng.normal(size=size), int(rng.integers(2, 12))) + 0.4 * labels
    elif kind == 3:
        scores = (scores > 0.7).astype(float)
        scores[rng.integers(size)] = 0.5
    return Case(f"random-{seed}", np.round(scores, 6), labels, int(rng.integers(0, 17)))


def random_events(rng: np.random.Generator, size: int) -> np.ndarray:
    """Labels with at least one event and at least one normal point; edges are often touched."""
    labels = np.zeros(size, dtype=int)
    for _ in range(rng.integers(1, 6)):
        start = int(rng.integers(-3, size))
        labels[max(start, 0) : start + int(rng.integers(1, max(2, size // 6)))] = 1
    labels[int(rng.integers(1, size - 1))] = 0
    if not labels.any():
        labels[int(rng.choice([0, size - 1]))] = 1
    return labels


def edge_cases() -> Iterator[Case]:
    """One-point, adjacent and border events; constant, reversed, perfect and two-valued scores."""
    size = 60
    patterns = {
        "first-point": [(0, 1)],
        "last-point": [(59, 60)],
        "both-ends": [(0, 4), (55, 60)],
        "one-point": [(30, 31)],
        "one-apart": [(20, 25), (26, 30)],
        "comb": [(k, k + 1) for k in range(10, 40, 2)],
        "even-gap": [(10, 12), (16, 20)],
        "odd-gap": [(10, 12), (17, 20)],
        "all-but-one": [(0, 20), (21, 60)],
        "half": [(30, 60)],
    }
    rng = np.random.default_rng(2)
    for pattern, ranges in patterns.items():
        labels = np.zeros(size, dtype=int)
        for start, end in ranges:
            labels[start:end] = 1
        kinds = {
            "constant": np.full(size, 0.3),
            "perfect": labels.astype(float),
            "reversed": 1.0 - labels,
            "ramp": np.arange(size) / size,
            "negative": -rng.random(size),
        }
        for kind, scores in kinds.items():
            yield Case(f"{pattern}-{kind}", np.round(scores, 6), labels, 12)


def real_shaped_case(seed: int) -> Case:
    """Autocorrelated scores over long events that start late, end early or are missed."""
    rng = np.random.default_rng([3, seed])
    size = int(rng.integers(800, 1600))
    labels = np.zeros(size, dtype=int)
    scores = np.abs(smooth(rng.normal(size=size), int(rng.integers(5, 40))))
    for _ in range(rng.integers(1, 7)):
        start, length = int(rng.integers(0, size - 120)), int(rng.integers(1, 110))
        labels[start : start + length] = 1
        delay = int(rng.integers(-20, 20))
        scores[max(start + delay, 0) : start + delay + length] += rng.choice([0.0, 0.3, 1.0])
    scores = scores / scores.max()
    decimals = 6 if seed % 3 else 2  # every third with many ties
    return Case(f"real-{seed}", np.round(scores, decimals), labels, int(rng.integers(20, 70)))


def series(seed: int) -> np.ndarray:
    """A series for the window rule: periodic, a random walk or noise."""
    rng = np.random.default_rng([4, seed])
    size = int(rng.integers(300, 4000))
    time = np.arange(size)
    wave = np.sin(2 * np.pi * time / rng.uniform(5, 350))
    noise = rng.normal(size=size)
    return [wave + 0.3 * noise, np.cumsum(noise), noise][seed % 3]


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    return np.convolve(values, np.ones(width) / width, mode="same")
