"""The kind of an event, by the router that was trained on simulated ones.

Needs the pretrained weights, so it is loaded only when kinds are asked for.
"""

import numpy as np
from scipy.ndimage import binary_closing

from caps.arrays import BoolArray, FloatArray
from caps.events.config import EventConfig
from caps.realize import KindRouter
from caps.series import bridge, pad_short, window_starts


def event_kind(
    router: KindRouter,
    values: FloatArray,
    start: int,
    end: int,
    expected: FloatArray,
    config: EventConfig,
) -> dict[str, float]:
    """q_k of every mode for the rows [start, end) of a scaled channel, best first, sum 1.

    `expected` is their normal counterpart.
    """
    size = router.window
    first = max(0, start - size)
    near, inside = values[first : end + size], slice(start - first, end - first)
    scores = []
    for share in config.support_shares:
        support = np.zeros(len(near), dtype=bool)
        support[inside] = _deviating(near[inside] - expected, share, config.support_closing)
        windows, supports = _windows(near, support, size)
        associations = router.associate(windows.astype(np.float32), supports.astype(np.float32))
        # Windows count by how much of the event they hold.
        scores.append(np.average(associations, axis=0, weights=supports.sum(axis=1)))
    mean = np.mean(scores, axis=0)
    order = np.argsort(-mean, kind="stable")
    return {router.modes[k]: float(mean[k]) for k in order}


def _deviating(away: FloatArray, share: float, closing: int) -> BoolArray:
    """Rows at least `share` as far away as the three farthest on average."""
    size = np.abs(np.where(np.isfinite(away), away, 0.0))
    largest = float(np.sort(size)[-3:].mean())
    kept = size >= min(share * largest, size.max())
    closed = binary_closing(np.pad(kept, closing), np.ones(closing, dtype=bool))
    return np.asarray(kept | closed[closing:-closing])


def _windows(values: FloatArray, support: BoolArray, size: int) -> tuple[FloatArray, BoolArray]:
    """Windows around the support: one in its middle, or several that overlap by half."""
    rows = np.flatnonzero(support)
    first, length = int(rows[0]), int(rows[-1] + 1 - rows[0])
    padding = max(0, size - len(values))
    filled, marks = pad_short(bridge(values), size), np.pad(support, (padding, 0))
    if length > size:
        starts = first + window_starts(length, size, size // 2)
    else:
        centred = first + (length - size) // 2
        starts = np.array([min(max(centred, 0), max(0, len(values) - size))])
    rows = starts[:, None] + np.arange(size)
    rows = rows[marks[rows].any(axis=1)]
    return filled[rows], marks[rows]
