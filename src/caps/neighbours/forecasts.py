"""Analogue forecasts: what lay beside the nearest subsequences of training is expected here too."""

import numpy as np

from caps.arrays import Rows, Singles
from caps.neighbours.index import Neighbours, SubsequenceIndex


def expected_beside(
    index: SubsequenceIndex, edged: Singles, found: Neighbours, offsets: Rows
) -> Singles:
    """What lay at `offsets` from the start of the neighbours: (offset, form, division, query).

    Moved to the level of the query and brought to its size, as far as the form leaves them out.
    `edged` are the training rows between as many not-a-numbers as there are offsets: what lay
    beyond the ends of training, and where nothing was found, is not-a-number.
    """
    nearest, wanted = found.of_divisions, found.queries
    there = np.where(nearest < 0, len(edged), index.starts[nearest] + len(offsets))
    # By offset first: sums over offsets are then of whole arrays.
    expected = edged.take(there + offsets[:, None, None, None], mode="clip")
    level, std = index.level_and_std
    expected[:, 1:] -= level[nearest[1:]]  # the raw ones, first, keep theirs
    expected[:, 2] *= wanted.std / std[nearest[2]]
    expected[:, 1:] += wanted.level
    return expected


def block_errors(observed: Singles, expected: Singles) -> Singles:
    """Root mean squared error of blocks of rows, by the division that comes nearest.

    `observed` (offset, query), `expected` (offset, ..., division, query); the errors are
    (..., query), not-a-number unless more than half of the rows are known.

    >>> expected = np.array([[[0.0], [3.0]], [[0.0], [3.0]]], np.float32)
    >>> block_errors(np.array([[3.0], [1.0]], np.float32), expected).round(2)
    array([1.41], dtype=float32)
    """
    rows, queries = observed.shape
    error = observed.reshape(rows, *(1,) * (expected.ndim - 2), queries) - expected
    np.square(error, out=error)
    mean = np.add.reduce(error, axis=0) / np.float32(rows)
    if not np.isfinite(mean).all():
        known = np.isfinite(error)
        held = known.sum(axis=0, dtype=np.float32)
        total = np.add.reduce(np.where(known, error, np.float32(0.0)), axis=0)
        mean = np.where(2 * held > rows, total / np.maximum(held, 1), np.float32(np.inf))
    best = np.minimum.reduce(mean, axis=-2)
    return np.sqrt(np.where(np.isinf(best), np.float32(np.nan), best))
