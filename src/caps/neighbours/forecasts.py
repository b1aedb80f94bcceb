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
    Not-a-number beyond the ends of the training `rows`, and where nothing was found.
    """
    nearest, beside = found.of_divisions, int(np.abs(offsets).max())
    # Beyond either end there is nothing, so that no index needs a check.
    padded = np.pad(rows, beside, constant_values=np.nan)
    there = np.where(nearest < 0, 2 * len(rows), index.starts[nearest])[..., None] + offsets
    expected = np.asarray(padded[np.clip(there + beside, 0, len(padded) - 1)])
    if form == "raw":
        return expected
    expected -= index.forms.level[nearest]
    if form == "znormalised":
        expected *= wanted.std[:, None] / index.forms.std[nearest]
    expected += wanted.level[:, None]
    return expected


def block_errors(observed: Singles, expected: Singles, horizons: Sequence[int]) -> FloatArray:
    """Root mean squared error of the first rows, by the division that comes nearest.

    `observed` (query, offset), `expected` (query, division, offset); for each horizon the error of
    so many rows: (query, horizon). Not-a-number unless more than half of the rows are known.

    >>> expected = np.array([[[0.0, 0.0], [3.0, 3.0]]], np.float32)
    >>> block_errors(np.array([[3.0, 1.0]], np.float32), expected, [1, 2]).round(2)
    array([[0.  , 1.41]])
    """
    error = np.square(observed[:, None] - expected)
    known = np.isfinite(error)
    whole = bool(known.all())
    if not whole:
        error = np.where(known, error, np.float32(0.0))
    errors = np.empty((len(observed), len(horizons)))
    for column, horizon in enumerate(horizons):
        total = error[..., :horizon].sum(axis=2)
        rows = horizon if whole else known[..., :horizon].sum(axis=2)
        mean = np.where(2 * rows > horizon, total / np.maximum(rows, 1), np.inf)
        best = mean.min(axis=1)
        errors[:, column] = np.where(np.isinf(best), np.nan, np.sqrt(best))
    return errors
