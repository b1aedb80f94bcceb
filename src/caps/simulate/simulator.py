"""Pairs in any number: blocks with a random stream each, so that workers change nothing.

A block is long normal series, operations drawn on them, redraws until all show, and rare but
harmless features in both members, so that a rare shape alone is not the label.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from caps.errors import InputError
from caps.jobs import end_with_parent
from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.operation import FAMILIES, Bases, survey
from caps.simulate.cycles import log_uniform
from caps.simulate.draft import LARGEST_VALUE, draft, draw_visible
from caps.simulate.normal.catalogue import GENERATORS, draw_normal
from caps.simulate.pairs import WINDOW, PairBatch

SHARE = 0.1
# Steps kept free between a benign feature and the support.
MARGIN = 3
# Whole numbers and coarse steps cannot carry a smooth feature.
_COARSE = [GENERATORS.index(name) for name in ("N13 intermittent counts", "N14 saturating sensor")]
_POSITIVE = [GENERATORS.index(name) for name in ("N3 web metric", "N4 power demand")]


def add_benign(batch: PairBatch, rng: np.random.Generator, largest: float) -> PairBatch:
    """Add a feature that comes at least twice, outside the support, to a tenth of the pairs."""
    wanted = rng.random(len(batch)) < SHARE
    chosen = np.flatnonzero(wanted & ~np.isin(batch.generator, _COARSE))
    size, window = len(chosen), batch.normal.shape[1]
    shape, instance = _features(rng, size, window)
    shape = _kept_apart(shape, instance, batch.support[chosen])
    up = np.where(np.isin(batch.generator[chosen], _POSITIVE), 1.0, rng.choice([-1.0, 1.0], size))
    height = up * batch.scale[chosen] * rng.uniform(1.5, 6.0, size)
    normal = batch.normal.copy()
    normal[chosen] = np.clip(normal[chosen] + height[:, None] * shape, -largest, largest)
    # Copied rather than added once more: the members must be equal to the bit outside the support.
    normal = np.where(batch.support, batch.normal, normal)
    anomalous = np.where(batch.support, batch.anomalous, normal)
    return replace(batch, normal=normal, anomalous=anomalous)


def _features(rng: np.random.Generator, size: int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Recurring spikes, scheduled steps or dips of unit height, and the number of each instance."""
    time = np.arange(window)
    first = rng.integers(4, window // 3, (size, 1))
    gap = rng.integers(window // 6, window // 2, (size, 1))
    instance = np.maximum(np.round((time - first) / gap), 0)
    away = np.abs(time - first - gap * instance)
    spike = np.maximum(1 - away / rng.integers(1, 4, (size, 1)), 0)
    steps = (away <= gap // 4).astype(float)
    width = rng.integers(6, 24, (size, 1))
    dip = np.where(away < width, 0.5 + 0.5 * np.cos(np.pi * away / width), 0.0)
    kind = rng.integers(0, 3, (size, 1))
    return np.select([kind == 0, kind == 1], [spike, steps], dip), instance


def _kept_apart(shape: np.ndarray, instance: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Remove instances that touch the support, and features of which fewer than two remain."""
    near = support.copy()
    for step in range(1, MARGIN + 1):
        near[:, step:] |= support[:, :-step]
        near[:, :-step] |= support[:, step:]
    remaining = np.zeros(len(shape))
    shape = shape.copy()
    for nth in range(int(instance.max(initial=0)) + 1):
        here = (instance == nth) & (shape > 0)
        touched = (here & near).any(axis=1)
        shape[here & touched[:, None]] = 0
        remaining += here.any(axis=1) & ~touched
    return np.where((remaining >= 2)[:, None], shape, 0.0)


Progress = Callable[[int, int], None]

BLOCK_PAIRS = 768
BLOCK_BASES = 256
# Long enough that windows see parts of cycles, drift and levels away from the mean.
SHORTEST_BASE, LONGEST_BASE = 512, 4096


def simulate_pairs(
    count: int,
    *,
    seed: int,
    length: int = WINDOW,
    workers: int = 1,
    families: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> PairBatch:
    """Simulate `count` matched pairs; the families take turns, so they are exactly balanced.

    The result depends on `seed`, `length` and `families` only, not on `workers`; more pairs with
    the same seed begin with the same pairs. `progress` is called with (pairs done, count).

    >>> few, more = simulate_pairs(3, seed=7), simulate_pairs(9, seed=7)
    >>> bool((few.anomalous == more.anomalous[:3]).all())
    True
    """
    chosen = FAMILIES if families is None else tuple(families)
    _check(count, length, workers, chosen)
    blocks = range(-(-count // BLOCK_PAIRS))
    done, batches = 0, []
    for batch in _simulated(partial(_block, seed, length, chosen), blocks, workers):
        batches.append(batch)
        done = min(done + len(batch), count)
        if progress is not None:
            progress(done, count)
    return PairBatch.concatenate(batches)[:count]


def _block(seed: int, window: int, families: tuple[str, ...], index: int) -> PairBatch:
    """BLOCK_PAIRS pairs on BLOCK_BASES long series, all from one stream of random numbers."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    shortest, longest = (bound * window / WINDOW for bound in (SHORTEST_BASE, LONGEST_BASE))
    length = int(log_uniform(rng, shortest, longest, 1)[0])
    bases = survey(*draw_normal(rng, BLOCK_BASES, length))
    family = np.resize(np.array(families), BLOCK_PAIRS)
    batch = _filled(bases, family, window, rng)
    batch = add_benign(batch, rng, LARGEST_VALUE)
    return replace(batch, reference=batch.reference + index * BLOCK_BASES)


def _filled(bases: Bases, family: np.ndarray, window: int, rng: np.random.Generator) -> PairBatch:
    """Pairs of the families, all visible."""
    return draw_visible(
        len(family),
        lambda rows: _drawn_operations(rng, bases, family[rows]),
        lambda code, rows: draft(code, len(rows), bases, window, rng),
    )


def _drawn_operations(rng: np.random.Generator, bases: Bases, family: np.ndarray) -> np.ndarray:
    """An operation for every pair, by weight among those of its family that any base suits."""
    operation = np.empty(len(family), dtype=np.int64)
    usable = np.array([entry.suits(bases).any() for entry in CATALOGUE])
    for name in np.unique(family):
        weight = np.array([entry.weight * (entry.family == name) for entry in CATALOGUE]) * usable
        rows = np.flatnonzero(family == name)
        operation[rows] = rng.choice(len(CATALOGUE), len(rows), p=weight / weight.sum())
    return operation


def _simulated(
    block: Callable[[int], PairBatch], blocks: range, workers: int
) -> Iterator[PairBatch]:
    if workers == 1 or len(blocks) == 1:
        yield from map(block, blocks)
        return
    processes = min(workers, len(blocks))
    with ProcessPoolExecutor(processes, initializer=end_with_parent) as pool:
        yield from pool.map(block, blocks)


def _check(count: int, length: int, workers: int, families: tuple[str, ...]) -> None:
    if count < 1:
        raise InputError(f"{count} pairs were asked for", "ask for 1 or more")
    if length < 64:
        raise InputError(f"a window of {length} steps is too short", "use 64 steps or more")
    if workers < 1:
        raise InputError(f"{workers} workers cannot work", "use 1 or more")
    unknown = [family for family in families if family not in FAMILIES]
    if unknown or not families or len(set(families)) < len(families):
        raise InputError(
            f"families {families} cannot be used",
            f"name each of {', '.join(FAMILIES)} once at most",
        )
