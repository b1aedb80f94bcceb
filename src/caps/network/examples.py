"""Which rows of the training part are examples to learn from, and which calibrate the threshold."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.network.config import DetectorConfig
from caps.recover import References, reference_windows, trim_references

Blocks = list[slice]


def held_out(length: int, config: DetectorConfig) -> tuple[Blocks, Blocks]:
    """Rows to learn from and rows to calibrate on.

    A part too short for blocks of a window gives its last rows away, as long as a window is left;
    a still shorter one is returned whole twice.

    >>> held_out(500, DetectorConfig())
    ([slice(0, 375, None)], [slice(375, 500, None)])
    """
    share = config.held_share
    kept, held = held_out_blocks(length, size=config.window, share=share, most=config.held_blocks)
    cut = max(config.window, round((1 - share) * length))
    if kept == held and length - cut >= config.fewest_held:
        return [slice(0, cut)], [slice(cut, length)]
    return kept, held


def references_in(
    values: NDArray[np.float64],
    blocks: Blocks,
    *,
    window: int,
    limit: int,
    rng: np.random.Generator,
) -> References | None:
    """At most `limit` references inside the blocks, trimmed; None where gaps leave none."""
    found = [_references(values, block, window, limit, rng) for block in blocks]
    whole = _together([part for part in found if part is not None], limit, rng)
    return None if whole is None else trim_references(whole, rng=rng)


def held_references(
    values: NDArray[np.float64],
    blocks: Blocks,
    *,
    window: int,
    limit: int,
    least: float,
    rng: np.random.Generator,
) -> References | None:
    """At most `limit` references around the blocks, of which only their rows are trusted.

    None where no window has at least the share `least` of its rows among them.
    """
    parts = []
    for block in blocks:
        around = slice(max(0, block.start - window), min(len(values), block.stop + window))
        part = _references(values, around, window, limit, rng)
        if part is not None:
            rows = part.starts[:, None] + np.arange(window)
            trusted = part.trusted & (rows >= block.start) & (rows < block.stop)
            parts.append(replace(part, trusted=trusted)[trusted.mean(axis=1) >= least])
    return _together(parts, limit, rng)


def _references(
    values: NDArray[np.float64],
    block: slice,
    window: int,
    limit: int,
    rng: np.random.Generator,
) -> References | None:
    """At most `limit` references inside one block; None where it is all gap."""
    try:
        part = reference_windows(values[block], size=window, limit=limit, rng=rng)
    except InputError:
        return None
    return replace(part, starts=part.starts + block.start)


def _together(parts: list[References], limit: int, rng: np.random.Generator) -> References | None:
    """At most `limit` of them all, drawn at random; None where there are none."""
    if not any(map(len, parts)):
        return None
    whole = References(
        np.concatenate([part.windows for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.trusted for part in parts]),
    )
    if len(whole) > limit:
        whole = whole[np.sort(rng.choice(len(whole), limit, replace=False))]
    return whole


def held_out_blocks(
    length: int, *, size: int, share: float = 0.25, most: int = 4
) -> tuple[list[slice], list[slice]]:
    """Cut the training part into rows to learn from and rows to calibrate on.

    Whole blocks, so that neighbouring windows do not give the held-out rows away; the last rows
    are among them, as they are most like what comes next. A part too short for blocks of a window
    is returned whole twice: scores on it are then a little too low.

    >>> kept, held = held_out_blocks(2400, size=256)
    >>> [(block.start, block.stop) for block in kept], [(block.start, block.stop) for block in held]
    ([(0, 900), (1200, 2100)], [(900, 1200), (2100, 2400)])
    """
    count = min(most, int(length * share) // size)
    if count == 0:
        return [slice(0, length)], [slice(0, length)]
    ends = np.linspace(0, length, count + 1).round().astype(int).tolist()
    kept, held = [], []
    for first, last in pairwise(ends):
        cut = last - round((last - first) * share)
        kept.append(slice(first, cut))
        held.append(slice(cut, last))
    return kept, held
