"""Contamination: points of the references that look anomalous themselves are ignored.

A training part is mostly normal, not all of it. An unmarked anomaly in it would be taught as
normal, in the reference and in each of its counterparts. What has no likeness elsewhere in the
references is therefore no longer trusted: it stays readable, but is evidence of nothing.
"""

from dataclasses import replace

import numpy as np

from caps.errors import InputError
from caps.neighbours import kth_distance
from caps.recover.references import LEAST_OBSERVED, References

LENGTHS = (16, 64)  # of the subsequences compared: a spike fills the short, a wrong cycle the long
HOPS = 4  # subsequences start at every 1/HOPS of their length
LIKES = 3  # the distance to the third like: an event that came twice before does not hide
BANK = 2000  # subsequences to compare with, at most
BLOCK = 4096  # subsequences compared at a time, which bounds the memory
FEWEST = 16  # fewer subsequences say nothing about each other
SMALLEST = 0.05  # distance per step, in stds of the series, below which all is alike
LEAST_SCALE = 0.15  # of log distances: less than 1.35 times farther than usual is not odd
LIMIT = 0.15  # of the points may be distrusted
CLEAR = 2.0  # robust standard deviations of log distance beyond which a subsequence is odd


def trim_references(
    references: References, *, limit: float = LIMIT, rng: np.random.Generator
) -> References:
    """Distrust the clearest outliers, at most the share `limit` of all points.

    References that are then trusted for less than half are dropped.

    >>> from caps.recover import reference_windows
    >>> series = np.sin(np.arange(2000) / 5)
    >>> series[900:903] += 4
    >>> rng = np.random.default_rng(0)
    >>> references = reference_windows(series, rng=rng)
    >>> trimmed = trim_references(references, rng=rng)
    >>> row = np.flatnonzero(references.starts == 800)[0]
    >>> bool(trimmed.trusted[row, 100:103].any()), bool(trimmed.trusted[row, :60].all())
    (False, True)
    """
    if not 0 <= limit < 1:
        raise InputError(f"limit={limit} of the points", "give a share from 0 up to 1")
    odd = suspicion(references, rng=rng)
    bound = max(CLEAR, float(np.quantile(odd[references.trusted], 1 - limit)))
    trusted = references.trusted & (odd <= bound)
    kept = trusted.mean(axis=1) >= LEAST_OBSERVED
    if not kept.any():
        return references
    return replace(references, trusted=trusted)[kept]


def suspicion(references: References, *, rng: np.random.Generator) -> np.ndarray:
    """How odd each point of each reference is (n, time), in robust standard deviations.

    A subsequence is as odd as it is far from those most like it elsewhere. A point is as odd as
    the least odd subsequence around it, so that neighbours of an event stay out of it; of the
    lengths that at which it is oddest counts.
    """
    window = references.windows.shape[1]
    first = int(references.starts.min())
    span = int(references.starts.max()) - first + window
    oddest = np.zeros(span)
    for length in LENGTHS:
        row, offset = _positions(references, length)
        if len(row) < FEWEST:
            continue
        columns = offset[:, None] + np.arange(length)
        subsequences = references.windows[row[:, None], columns]
        start = references.starts[row] + offset - first
        odd = _oddness(subsequences, start, rng)
        typical = np.full(span, np.inf)
        np.minimum.at(typical, start[:, None] + np.arange(length), odd[:, None])
        oddest = np.maximum(oddest, np.where(np.isfinite(typical), typical, 0.0))
    return np.asarray(oddest[references.starts[:, None] - first + np.arange(window)])


def _positions(references: References, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and offset of subsequences at every hop, each once however many windows hold it."""
    offset = np.arange(references.windows.shape[1] - length + 1)
    time = references.starts[:, None] + offset
    known = np.cumsum(np.pad(references.trusted, ((0, 0), (1, 0))), axis=1)
    mostly = (known[:, length:] - known[:, :-length]) >= LEAST_OBSERVED * length
    row, column = np.nonzero(mostly & (time % (length // HOPS) == 0))
    _, once = np.unique(time[row, column], return_index=True)
    return row[once], column[once]


def _oddness(subsequences: np.ndarray, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Robust z-score of each subsequence's log distance to its likes."""
    length = subsequences.shape[1]
    bank = np.arange(len(subsequences))
    if len(bank) > BANK:
        bank = np.sort(rng.choice(len(bank), BANK, replace=False))
    blocks = np.array_split(np.arange(len(subsequences)), -(-len(subsequences) // BLOCK))
    distance = np.concatenate(
        [kth_distance(subsequences, start, block, bank, LIKES) for block in blocks]
    )
    size = np.log(np.sqrt(distance / length) + SMALLEST)
    known = np.isfinite(size)
    if not known.any():
        return np.zeros(len(size))
    middle = np.median(size[known])
    scale = max(1.4826 * float(np.median(np.abs(size[known] - middle))), LEAST_SCALE)
    return np.where(known, (size - middle) / scale, 0.0)
