"""Small series with one known jump each, and an engine without processes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pandas as pd

from caps.fleet import FleetResult
from caps.fleet.work import Row, Task
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

    slots = 1

    def __init__(self) -> None:
        self.ended: list[tuple[Task, Row]] = []
        self.worked: list[str] = []

    def submit(self, function: Callable[[Task], Row], task: Task) -> None:
        self.worked.append(task.entry.id)
        self.ended.append((task, function(task)))

    def collect(self) -> list[tuple[Task, Row]]:
        return [self.ended.pop()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.clear()
