"""Which rows of an event deviate: the stretches that find it are wider than what is odd in them."""

import numpy as np
from numpy.typing import NDArray

from caps.detect.counterpart import Counterpart

FloatArray = NDArray[np.float64]

UNUSUAL = 5.0  # spreads of the error beside the event; 4 and 6 are about as good
SHARE = 0.1  # of the largest deviation: less is the tail of an event, or an error of its own
LEAST = 0.02  # of the spread of training: closer is the same


def excess(values: FloatArray, counterpart: Counterpart) -> FloatArray | None:
    """How far each row of an event is from its counterpart, over what is not unusual yet.

    More than 1 deviates, rows that were not observed have 0. None where too little is known of
    the counterpart to say.
    """
    if counterpart.error is None:
        return None
    away = np.abs(np.nan_to_num(values - counterpart.expected))
    return np.asarray(away / max(UNUSUAL * counterpart.error, SHARE * float(away.max()), LEAST))


def deviating(excesses: list[FloatArray]) -> tuple[int, int] | None:
    """The first of the rows that deviate in any channel, and the end of the last.

    >>> deviating([np.array([0.1, 1.2, 0.3, 0.0]), np.array([0.2, 0.4, 3.0, 0.9])])
    (1, 3)
    """
    rows = np.flatnonzero(np.max(excesses, axis=0) > 1)
    return (int(rows[0]), int(rows[-1]) + 1) if len(rows) else None
