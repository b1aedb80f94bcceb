"""Rule-based injection on the target's own windows: the control that knows no semantics.

Each rule rewrites one segment. The rules follow published injectors; what replaces a segment is
always own data or a distortion of it, never a foreign waveform.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from caps.recover.pairs import LEAST_STD

SHORTEST, LONGEST = 10, 100  # steps of a segment
LONGEST_SPIKE = 3


@dataclass(frozen=True, slots=True)
class Site:
    """A segment of one window, and all windows to cut from."""

    window: np.ndarray  # (time,)
    start: int
    stop: int
    own: np.ndarray  # (n, time)

    @property
    def values(self) -> np.ndarray:
        return self.window[self.start : self.stop]

    @property
    def std(self) -> float:
        return max(float(self.window.std()), LEAST_STD)


Rule = Callable[[Site, np.random.Generator], np.ndarray]


def cut_and_paste(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A segment of the same length from anywhere in the own windows."""
    length = site.stop - site.start
    donor = site.own[rng.integers(len(site.own))]
    first = int(rng.integers(len(donor) - length + 1))
    return np.asarray(donor[first : first + length])


def value_mirror(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Upside down about its mean."""
    return np.asarray(2 * site.values.mean() - site.values)


def time_mirror(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Backwards."""
    return site.values[::-1]


def speed(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Compressed to a quarter to three quarters, or stretched up to twice the length."""
    rate = 1 / (rng.uniform(0.25, 0.75) if rng.random() < 0.5 else rng.uniform(1.25, 2.0))
    last = len(site.window) - 1
    time = site.start + rate * np.arange(site.stop - site.start)
    time = last - np.abs(last - time % (2 * last))  # runs back where it passes the last step
    return np.asarray(np.interp(time, np.arange(last + 1), site.window))


def scale(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A swing of 0.25 to 2.25 times its size, mostly near either end."""
    mean = site.values.mean()
    factor = 0.25 + 2.0 * rng.beta(0.5, 0.5)
    return np.asarray(mean + factor * (site.values - mean))


def noise(site: Site, rng: np.random.Generator) -> np.ndarray:
    """With noise of a quarter to the whole of the window's std."""
    size = rng.uniform(0.25, 1.0) * site.std
    return np.asarray(site.values + size * rng.standard_normal(site.stop - site.start))


def smoothing(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A moving average over 5% to 50% of its length."""
    length = site.stop - site.start
    width = max(3, round(rng.uniform(0.05, 0.5) * length))
    padded = np.pad(site.values, (width // 2, width - 1 - width // 2), mode="edge")
    return np.convolve(padded, np.full(width, 1 / width), mode="valid")


def level(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Up or down by half to three stds."""
    return np.asarray(site.values + rng.choice([-1, 1]) * rng.uniform(0.5, 3.0) * site.std)


def spike(site: Site, rng: np.random.Generator) -> np.ndarray:
    """Up or down by two to eight stds."""
    return np.asarray(site.values + rng.choice([-1, 1]) * rng.uniform(2.0, 8.0) * site.std)


# Cut-and-paste finds most of what the other rules miss, so it comes twice as often.
RULES: tuple[Rule, ...] = (
    cut_and_paste,
    spike,
    value_mirror,
    level,
    cut_and_paste,
    speed,
    noise,
    scale,
    time_mirror,
    smoothing,
)


def rewritten(
    windows: np.ndarray,
    rows: np.ndarray,
    rules: Sequence[Rule],
    rng: np.random.Generator,
    *,
    sparse: Rule | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Counterparts of the windows numbered `rows` and their supports; the rules take turns.

    The support of a segment is all of it, that of the `sparse` rule what it changed.
    """
    counterpart = windows[rows].copy()
    support = np.zeros(counterpart.shape, dtype=bool)
    turns = rng.permutation(np.resize(np.arange(len(rules)), len(rows)))
    for window, mask, turn in zip(counterpart, support, turns, strict=True):
        rule, before = rules[turn], window.copy()
        shortest, longest = (1, LONGEST_SPIKE) if rule is spike else (SHORTEST, LONGEST)
        length = int(rng.integers(shortest, min(longest, len(window)) + 1))
        start = int(rng.integers(len(window) - length + 1))
        inside = slice(start, start + length)
        window[inside] = rule(Site(before, start, start + length, windows), rng)
        mask[inside] = window[inside] != before[inside] if rule is sparse else True
    return counterpart, support
