"""Pairs in any number: blocks with a random stream each, so that workers change nothing."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from caps.errors import InputError
from caps.jobs import end_with_parent
from caps.simulate.anomaly.operation import FAMILIES
from caps.simulate.block import BLOCK_BASES, BLOCK_PAIRS, simulate_block
from caps.simulate.pairs import WINDOW, PairBatch

Progress = Callable[[int, int], None]


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
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    return simulate_block(rng, families, window, index * BLOCK_BASES)


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
