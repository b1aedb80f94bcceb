"""A level that stays: by how much it differs, once it counts as the new normal."""

import numpy as np

from caps.arrays import FloatArray
from caps.events.config import EventConfig


def lasting_shift(values: FloatArray, start: int, end: int, config: EventConfig) -> float | None:
    """The level after the rows [start, end) less that before; None where it went back.

    >>> steps = np.repeat([0.0, 5.0], [400, 600]) + np.sin(np.arange(1000.0))
    >>> round(lasting_shift(steps, 400, 700, EventConfig()))
    5
    >>> growth = np.arange(1000.0) / 50
    >>> lasting_shift(growth + np.sin(np.arange(1000.0)), 400, 700, EventConfig()) is None
    True
    """
    if end - start < config.staying_rows:
        return None
    beside = min(end - start, config.staying_beside)
    sides = values[max(0, start - beside) : start], values[end : end + beside]
    before, after = (side[np.isfinite(side)] for side in sides)
    if min(len(before), len(after)) < config.staying_rows // 2:
        return None
    shift = float(np.median(after) - np.median(before))
    # What grows evenly is as much higher afterwards as it grew before.
    half = len(before) // 2
    pace = float(np.median(before[-half:]) - np.median(before[:half])) / half
    beyond = min(abs(shift), abs(shift - pace * (end - start + beside)))
    # Both sides span whole swings, as a rule: their std is no less than that of a cycle.
    usual = max(float(before.std()), float(after.std()))
    return shift if beyond > config.staying_size * usual else None
