"""A month of one metric with five obvious incidents, and a model fitted from its middle on."""

import numpy as np
import pandas as pd

ROWS, FIRST, LAST = 4320, 34, 2470  # of the file; of training, which does not begin with it
INCIDENTS = ((2600, 2612), (3000, 3018), (3400, 3401), (3800, 3860), (4220, 4260))
# Ways of scoring the same file: the row it is cut at, and whether its times are given.
WAYS = {
    "from the start": (0, True),
    "from training": (FIRST, True),
    "new rows only": (LAST, True),
    "half of training": ((FIRST + LAST) // 2, True),
    "without times": (0, False),
}


def incident_frame(seed: int = 0) -> pd.DataFrame:
    """Daily waves of ten-minute rows: three level shifts, a spike and a stuck sensor."""
    rng = np.random.default_rng(seed)
    day = 2 * np.pi * np.arange(ROWS) / 144
    load = 10 + 3 * np.sin(day) + 0.8 * np.sin(2 * day + 1) + 0.25 * rng.standard_normal(ROWS)
    for (start, end), size in zip(INCIDENTS[:4], (6, -6, 8, 4), strict=True):
        load[start:end] += size
    load[slice(*INCIDENTS[4])] = load[INCIDENTS[4][0]]
    time = pd.date_range("2024-03-01", periods=ROWS, freq="10min")
    return pd.DataFrame({"time": time, "load": load})


def scored_in(way: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The part of the file that is scored in one of the ways."""
    first, timed = WAYS[way]
    return frame.iloc[first:] if timed else frame.iloc[first:][["load"]]


def incidents_found(way: str, spans: list[tuple[int, int]]) -> int:
    """How many incidents have an event, given as rows of what was scored."""
    first = WAYS[way][0]
    return sum(
        any(start + first < end_ and end + first > start_ for start, end in spans)
        for start_, end_ in INCIDENTS
    )
