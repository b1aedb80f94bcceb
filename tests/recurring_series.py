"""A series with a harmless pattern that recurs, and one incident of another shape."""

import numpy as np
import pandas as pd

DAY, DAYS, TRAINED = 96, 20, 12
START = 20  # row of the day at which the backup begins
BACKUPS = {13: 5.0, 15: 5.4, 17: 4.7, 19: 5.1}  # day and size
INCIDENT = slice(16 * DAY + 60, 16 * DAY + 80)
TRAIN = TRAINED * DAY


def recurring(seed: int = 0) -> pd.DataFrame:
    """Quarter hours of 20 days; the first 12 are quiet."""
    rows = np.arange(DAYS * DAY)
    load = 5 + 2 * np.sin(2 * np.pi * rows / DAY)
    load += 0.12 * np.random.default_rng(seed).standard_normal(len(rows))
    for day, size in BACKUPS.items():
        load[backup(day)] += size
    load[INCIDENT] -= 4
    return pd.DataFrame(
        {"time": pd.date_range("2024-03-01", periods=len(rows), freq="15min"), "load": load}
    )


def backup(day: int) -> slice:
    """The rows of a backup."""
    return slice(day * DAY + START, day * DAY + START + 10)
