"""What is worth saying of a channel that is learned as it is, but is no ordinary measurement."""

import numpy as np

from caps.arrays import FloatArray

MOSTLY_ZERO = 0.5  # of the rows: the rest are events
AT_BOUND = 0.05  # of the rows: fewer may be chance
FEWEST_VALUES = 10  # of a measurement that has a bound
BOUNDS = (0.0, 1.0, 100.0)  # of shares and percentages
FEWEST_ROWS = 32


def remark_on(values: FloatArray) -> str | None:
    """A remark on training rows of a channel, to follow its name; None if there is none.

    >>> remark_on(np.where(np.arange(100) % 20, 0.0, np.arange(100) % 3))
    'counts events: 0 in 97 % of the training rows, 3 bursts to learn from'
    >>> remark_on(np.minimum(100.0, 60.0 + np.arange(60)))
    'stands at 100 in 33 % of the training rows, as at a bound: it cannot show what lies beyond'
    """
    known = values[np.isfinite(values)]
    if len(known) < FEWEST_ROWS:
        return None
    zero = float(np.mean(known == 0))
    whole = bool(np.all(known == np.floor(known))) and known.min() >= 0
    if whole and MOSTLY_ZERO <= zero < 1 and len(np.unique(known)) > 2:
        bursts = int(np.count_nonzero(np.diff(known != 0, prepend=False) & (known != 0)))
        return (
            f"counts events: 0 in {_percent(zero)} of the training rows, {bursts} bursts to learn "
            "from"
        )
    return _bound_remark(known)


def _bound_remark(known: FloatArray) -> str | None:
    low, high = float(known.min()), float(known.max())
    if low < 0 or high > BOUNDS[-1] or len(np.unique(known)) < FEWEST_VALUES:
        return None
    for bound in (high, low):
        share = float(np.mean(known == bound))
        if bound in BOUNDS and share >= AT_BOUND:
            return (
                f"stands at {bound:g} in {_percent(share)} of the training rows, as at a bound: it "
                "cannot show what lies beyond"
            )
    return None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
