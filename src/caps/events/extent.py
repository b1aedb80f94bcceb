"""Which rows of an event deviate: the windows that find it are wider than what is odd in them."""

import numpy as np

from caps.arrays import FloatArray
from caps.events.config import EventConfig
from caps.neighbours import Counterpart


def excess(values: FloatArray, counterpart: Counterpart, config: EventConfig) -> FloatArray | None:
    """How far each row of an event is from its counterpart, over the least deviation.

    More than 1 deviates, rows that were not observed have 0. None where too little is known of
    the counterpart to say.
    """
    if counterpart.error is None:
        return None
    away = np.abs(np.nan_to_num(values - counterpart.expected))
    error, tail = config.least_errors * counterpart.error, config.tail * float(away.max())
    return np.asarray(away / max(error, tail, config.least_deviation))


def deviating(excesses: list[FloatArray], config: EventConfig) -> tuple[int, int] | None:
    """From the first to the last of the rows that deviate in any channel, with their edges.

    >>> first, second = np.array([0.6, 0.1, 1.2, 0.3, 0.0]), np.array([0.0, 0.2, 0.4, 3.0, 0.9])
    >>> deviating([first, second], EventConfig())
    (2, 5)
    """
    largest = np.max(excesses, axis=0)
    rows = np.flatnonzero(largest > 1)
    if len(rows) == 0:
        return None
    quiet = np.flatnonzero(largest <= config.edge)
    before, after = quiet[quiet < rows[0]], quiet[quiet > rows[-1]]
    start = int(before[-1]) + 1 if len(before) else 0
    return start, int(after[0]) if len(after) else len(largest)
