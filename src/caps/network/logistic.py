"""The logistic function and its inverse in numpy alone: a scorer without torch needs no scipy."""

import numpy as np
from numpy.typing import ArrayLike

from caps.arrays import FloatArray


def expit(logits: ArrayLike) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow; not-a-number stays.

    >>> expit([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    x = np.asarray(logits, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def logit(shares: ArrayLike) -> FloatArray:
    """log(p / (1 - p)): infinite for 0 and 1, not-a-number stays.

    >>> logit([0.5, expit(3.0)]).round(12)
    array([0., 3.])
    """
    p = np.asarray(shares, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))
