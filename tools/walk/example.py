"""The series of the README: a wave with an outage."""

import numpy as np
import pandas as pd

ROWS, TRAIN, OUTAGE = 2000, 1200, slice(1500, 1530)


def example() -> pd.DataFrame:
    load = np.sin(np.arange(ROWS) * np.pi / 72) + np.random.default_rng(0).normal(0, 0.1, ROWS)
    load[OUTAGE] = 2.5
    time = pd.date_range("2024-01-01", periods=ROWS, freq="10min")
    return pd.DataFrame({"time": time, "load": load})
