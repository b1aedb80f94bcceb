"""Streams of one model in a process that imports nothing else: their memory and the time of a row.

`python -m tools.deployment.live_series FOLDER TRAIN CHANNELS`, for `sizing`.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from caps import CAPS
from tools.machine import resident, size_of

SERIES = 16  # loaded at once, for their memory
FILLED, TIMED = 1_200, 10  # rows of each stream before it is looked at, and timed one at a time
DAY = 288  # rows
START, STEP = np.datetime64("2024-01-01", "ns"), np.timedelta64(5, "m")


def series(rows: int, channels: int, first: int = 0) -> pd.DataFrame:
    """Requests with a day, each channel with noise of its own."""
    steps = np.arange(first, first + rows)
    day = 2 * np.pi * steps[:, None] / DAY
    wave = 50 + 12 * np.sin(day) + 4 * np.sin(2 * day + np.arange(channels))
    noise = np.random.default_rng(first).standard_normal((rows, channels))
    names = [f"channel {channel}" for channel in range(channels)]
    return pd.DataFrame(wave + noise, pd.DatetimeIndex(START + STEP * steps), names)


def live(folder: Path, train: int, channels: int) -> dict[str, float]:
    """What streams take in this process."""
    filling = series(FILLED, channels, train)
    warm = CAPS.load(folder / "model").stream()
    warm.extend(filling.to_numpy()[:8], filling.index.to_numpy()[:8])
    before = resident()
    streams = [CAPS.load(folder / "model").stream() for _ in range(SERIES)]
    for stream in streams:
        stream.extend(filling.to_numpy(), filling.index.to_numpy())
    memory = (resident() - before) / SERIES
    coming = series(TIMED, channels, train + FILLED)
    begun = time.process_time()
    for moment, values in zip(coming.index.to_numpy(), coming.to_numpy(), strict=True):
        for stream in streams:
            stream.update(values, moment)
    spent = time.process_time() - begun
    streams[0].save(folder / "state")
    return {
        "memory": memory / 1e6,
        "process": before / 1e6,
        "row": 1e3 * spent / (len(coming) * SERIES),
        "state": size_of(folder / "state"),
    }


if __name__ == "__main__":
    print(json.dumps(live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
