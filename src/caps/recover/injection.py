"""Counterparts by rule on the own windows, and what is done to effects: none of it knows semantics.

Each rule rewrites one segment. The rules of `RULES` follow published injectors; what replaces a
segment is always own data or a distortion of it. Those of `PERTURBATIONS` are as published for
DADA: nothing is pasted from the series itself, and one kind writes foreign waveforms. What is done
to effects before a detector learns them (cut short, raised, own segments added) is not the paper's;
it asks nothing of how a counterpart was made, so that every construction can be treated alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from caps.recover.pairs import LEAST_STD, NO_MODE, PairSet, local_std, strength, visible
from caps.recover.references import References

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


def faint_noise(site: Site, rng: np.random.Generator) -> np.ndarray:
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
    faint_noise,
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


MOST_DRAWS = 4  # of a segment that does not show


def shaped_effects(
    pairs: PairSet,
    *,
    short_share: float,
    short_rows: int,
    floor: float,
    hard_share: float,
    seed: int,
) -> PairSet:
    """A share of the supports cut to a few rows, and effects too weak to be seen raised.

    >>> x = np.zeros((1, 64), np.float32)
    >>> pairs = PairSet(x, x + 0.01, x == 0, np.array([0]), np.array([0]), x == 0)
    >>> made = shaped_effects(
    ...     pairs, short_share=1.0, short_rows=4, floor=2.0, hard_share=0.0, seed=0
    ... )
    >>> bool(made.support.sum() <= 4), round(float(made.residual.max()), 3)
    (True, 0.2)
    """
    if short_share == 0 and floor == 0:
        return pairs
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    support, residual = pairs.support.copy(), pairs.residual
    for row in np.flatnonzero(rng.random(len(pairs)) < short_share):
        support[row] = _short(support[row], short_rows, rng)
    residual = np.where(support, residual, 0)
    windows = pairs.reference[pairs.anchor]
    size = strength(residual, support) / local_std(windows, support)
    weak = (size < floor) & (rng.random(len(pairs)) >= hard_share)
    factor = np.where(weak, floor / np.maximum(size, 1e-6), 1.0).astype(np.float32)
    counterpart = windows + factor[:, None] * residual
    return replace(pairs, counterpart=counterpart.astype(np.float32), support=support)


def own_pairs(references: References, count: int, seed: int) -> PairSet:
    """So many counterparts in which another segment of the own windows stands in for one.

    The segment is tilted to meet the window at either end: what tells is its shape, not a jump.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    windows = references.windows
    anchor = rng.integers(len(references), size=count)
    rules: tuple[Rule, ...] = (joined_segment,)
    counterpart, support = rewritten(windows, anchor, rules, rng)
    for _ in range(MOST_DRAWS):
        weak = np.flatnonzero(~visible(windows[anchor], counterpart, support))
        if len(weak) == 0:
            break
        counterpart[weak], support[weak] = rewritten(windows, anchor[weak], rules, rng)
    mode = np.full(count, NO_MODE, dtype=np.int64)
    return PairSet(windows, counterpart, support, mode, anchor, references.trusted)


def joined_segment(site: Site, rng: np.random.Generator) -> np.ndarray:
    """A segment of the own windows, tilted so that it begins and ends where the window did."""
    segment = cut_and_paste(site, rng)
    ends = site.values[[0, -1]] - segment[[0, -1]]
    return np.asarray(segment + np.linspace(ends[0], ends[1], len(segment)))


def _short(support: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """A run of 1 to `most` rows inside a support, its length even in logarithm."""
    rows = np.flatnonzero(support)
    length = int(np.exp(rng.uniform(0, np.log(most + 1))))
    first = int(rng.integers(len(rows)))
    run = rows[first : first + length]
    short = np.zeros_like(support)
    short[run] = True
    return short
