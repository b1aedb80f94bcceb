"""Analogue forecasts: what lay beside the nearest subsequences of training is expected here too."""

from collections.abc import Sequence

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours.index import Form, Forms, Neighbours, SubsequenceIndex


def expected_beside(
    index: SubsequenceIndex,
    rows: Singles,
    form: Form,
    found: Neighbours,
    wanted: Forms,
    offsets: Rows,
) -> Singles:
    """What lay at `offsets` from the start of the neighbours: (query, division, offset).

    Moved to the level of the query and brought to its size, as far as the form leaves them out.
    Not-a-number beyond the ends of the training `rows`.
    """
    there = index.starts[found.index][..., None] + offsets
    inside = (there >= 0) & (there < len(rows))
    expected = np.where(inside, rows[np.clip(there, 0, len(rows) - 1)], np.float32(np.nan))
    if form == "raw":
        return np.asarray(expected)
    expected -= index.forms.level[found.index]
    if form == "znormalised":
        expected *= wanted.std[:, None] / index.forms.std[found.index]
    return np.asarray(expected + wanted.level[:, None])


def block_errors(observed: Singles, expected: Singles, horizons: Sequence[int]) -> FloatArray:
    """Root mean squared error of the first rows, by the division that comes nearest.

    `observed` (query, offset), `expected` (query, division, offset); for each horizon the error of
    so many rows: (query, horizon). Not-a-number where fewer than half of the rows are known.

    >>> expected = np.array([[[0.0, 0.0], [3.0, 3.0]]], np.float32)
    >>> block_errors(np.array([[3.0, 1.0]], np.float32), expected, [1, 2]).round(2)
    array([[0.  , 1.41]])
    """
    error = np.square(observed[:, None] - expected)
    known = np.isfinite(error)
    total = np.where(known, error, 0.0).cumsum(axis=2)
    count = known.cumsum(axis=2)
    errors = np.empty((len(observed), len(horizons)))
    for column, horizon in enumerate(horizons):
        rows = count[..., horizon - 1]
        mean = total[..., horizon - 1] / np.maximum(rows, 1)
        best = np.where(2 * rows > horizon, mean, np.inf).min(axis=1)
        errors[:, column] = np.where(np.isinf(best), np.nan, np.sqrt(best))
    return errors
