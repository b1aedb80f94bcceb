"""What is done to effects before a detector learns them: cut short, raised, own segments added.

None of it is the paper's. It asks nothing of how a counterpart was made, so that every construction
can be treated alike.
"""

from dataclasses import replace

import numpy as np

from caps.recover.injection import Rule, Site, cut_and_paste, rewritten
from caps.recover.pairs import NO_MODE, PairSet, local_std, strength, visible
from caps.recover.references import References

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
