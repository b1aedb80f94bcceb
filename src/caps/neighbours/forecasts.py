"""Analogue forecasts: what lay beside the nearest subsequences of training is expected here too."""

from collections.abc import Sequence

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours.index import Form, Forms, Neighbours, SubsequenceIndex


def expected_beside(
    index: SubsequenceIndex,
    edged: Singles,
    form: Form,
    found: Neighbours,
    wanted: Forms,
    offsets: Rows,
) -> Singles:
    """What lay at `offsets` from the start of the neighbours: (query, division, offset).

    Moved to the level of the query and brought to its size, as far as the form leaves them out.
    `edged` are the training rows between as many not-a-numbers as there are offsets: what lay
    beyond the ends of training, and where nothing was found, is not-a-number.
    """
    nearest = found.of_divisions
    there = np.where(nearest < 0, len(edged), index.starts[nearest] + len(offsets))
    # By offset first: sums over offsets are then of whole arrays.
    expected = edged.take(there + offsets[:, None, None], mode="clip")
    if form != "raw":
        expected -= index.forms.level[nearest, 0]
        if form == "znormalised":
            expected *= wanted.std / index.forms.std[nearest, 0]
        expected += wanted.level
    return np.moveaxis(expected, 0, -1)


def block_errors(observed: Singles, expected: Singles, horizons: Sequence[int]) -> FloatArray:
    """Root mean squared error of the first rows, by the division that comes nearest.

    `observed` (query, offset), `expected` (query, division, offset); for each horizon the error of
    so many rows: (query, horizon). Not-a-number unless more than half of the rows are known.

    >>> expected = np.array([[[0.0, 0.0], [3.0, 3.0]]], np.float32)
    >>> block_errors(np.array([[3.0, 1.0]], np.float32), expected, [1, 2]).round(2)
    array([[0.  , 1.41]])
    """
    error = np.square(np.ascontiguousarray(observed.T)[..., None] - np.moveaxis(expected, -1, 0))
    known = np.isfinite(error)
    whole = bool(known.all())
    if not whole:
        error = np.where(known, error, np.float32(0.0))
    errors = np.empty((len(observed), len(horizons)))
    for column, horizon in enumerate(horizons):
        total = error[:horizon].sum(axis=0)
        rows = horizon if whole else known[:horizon].sum(axis=0)
        mean = np.where(2 * rows > horizon, total / np.maximum(rows, 1), np.inf)
        best = np.minimum.reduce(list(mean.T))
        errors[:, column] = np.where(np.isinf(best), np.nan, np.sqrt(best))
    return errors
