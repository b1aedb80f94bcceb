"""Small series with one known jump each, an engine without processes, and jobs that go wrong."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from caps.fleet import FleetResult
from caps.fleet.engines import Ended
from caps.fleet.jobs import Outcome, Task, work
from caps.fleet.plan import Entry
from caps.series import read
from untrained_weights import noisy_wave

ROWS, TRAIN = 480, 320
JUMP = range(400, 412)


@dataclass(frozen=True)
class Fleet:
    """A folder of series, and what fitting them left behind."""

    source: Path
    out: Path
    result: FleetResult


def frame_of(seed: int) -> pd.DataFrame:
    values = noisy_wave(ROWS, seed=seed)
    values[list(JUMP)] += 9 + seed
    return pd.DataFrame(
        {"time": pd.date_range("2024-03-01", periods=ROWS, freq="h"), "load": values}
    )


def write_series(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(count):
        frame_of(seed).to_csv(folder / f"host-{seed}.csv", index=False)
    return folder


class InlineEngine:
    """Works in this process, one series at a time, and counts them."""

    shares_fate = False
    slots = 1

    def __init__(self) -> None:
        self.waiting: list[Task] = []
        self.worked: list[str] = []

    def submit(self, task: Task) -> None:
        self.waiting.append(task)

    def collect(self) -> Ended:
        task = self.waiting.pop(0)
        self.worked.append(task.entry.id)
        return [(task, work(task))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.waiting.clear()


def bare_entry(id: str) -> Entry:
    return Entry(id, read(np.arange(4.0)), "")


def deadly_job(task: Task) -> Outcome:
    """Kills the process that works on the series "deadly"; all others are fine."""
    if task.entry.id == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(task.entry.id, "done")


def waiting_job(task: Task) -> Outcome:
    """Says which process it is and then does nothing for an hour."""
    os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(3600)
    return Outcome(task.entry.id, "done")
