"""A watch of a thousand series: share of the core, memory a series, lag.

Everything is as with a Prometheus server, but for the server: one model for each series, loaded by
itself, a row of each every simulated minute, metrics kept. The clock is simulated, so that a day
takes as long as its rows take.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from caps import CAPS
from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from caps.watch import Source, Watcher
from caps.watch.records import Record
from tools.machine import machine

SERIES, QUICK_SERIES = 1000, 50
MINUTES, QUICK_MINUTES = 60, 10
TRAIN = 2000
KINDS = 8  # different models, each loaded many times
STEP = 60 * 10**9
START = np.datetime64("2024-01-01", "ns").astype(np.int64)


class Simulated:
    """A source that brings a row of every series each time it is read."""

    name, lines, malformed, again, failure, timed = "simulated", 0, 0, True, None, True
    channels, step = ("value",), np.timedelta64(STEP, "ns")

    def __init__(self, series: int, minutes: int) -> None:
        self.series, self.minutes, self.minute = series, minutes, 0
        self.complain = lambda complaint: None
        self.rng = np.random.default_rng(1)

    @property
    def ended(self) -> bool:
        return self.minute == self.minutes

    @property
    def upto(self) -> int:
        return int(START) + STEP * (TRAIN + self.minute)

    def read(self, patience: float) -> list[Record]:
        row, self.minute = TRAIN + self.minute, self.minute + 1
        noise = self.rng.standard_normal(self.series).tolist()
        return [
            Record(f"s{k:04d}", int(START) + STEP * row, [_value(k % KINDS, row) + noise[k]])
            for k in range(self.series)
        ]

    def labels(self, series: str) -> dict[str, str]:
        return {"series": series}

    def facts(self) -> dict[str, object]:
        return {}

    def restore(self, facts: object) -> None: ...


def _value(kind: int, row: int) -> float:
    day = 2 * np.pi * (row + 180 * kind) / 1440
    return float(50 + 10 * np.sin(day) + (3 + kind) * np.sin(2 * np.pi * row / (40 + 11 * kind)))


def watch_load(run: StudyRun) -> Report:
    """Feed a minute after the other and measure what each takes."""
    series = QUICK_SERIES if run.quick else SERIES
    minutes = QUICK_MINUTES if run.quick else MINUTES
    with tempfile.TemporaryDirectory() as work:
        run.say("fitting")
        folders = [_fitted(Path(work), kind) for kind in range(KINDS)]
        before = _resident()
        source: Source = Simulated(series, minutes)  # type: ignore[assignment]
        told: list[str] = []
        watcher = Watcher(
            lambda name: CAPS.load(folders[int(name[1:]) % KINDS]), [source], told.append
        )
        run.say(f"watching {series} series for {minutes} minutes")
        seconds, wall = [], []
        while not source.ended:
            used, began = time.process_time(), time.monotonic()
            watcher._turn(source, 0.0)
            seconds.append(time.process_time() - used)
            wall.append(time.monotonic() - began)
    first, rest = seconds[0], np.array(seconds[1:])
    rows = [
        ["series", f"{series:,}"],
        ["minutes of simulated time", f"{minutes:,}"],
        ["models loaded, and a first row each", f"{first:.1f} s"],
        ["processor time of a row, mean", f"{1000 * rest.mean() / series:.2f} ms"],
        ["share of one core", f"{rest.mean() / 60:.1%}"],
        ["lag: until the last series is scored, mean (wall)", f"{np.mean(wall[1:]):.1f} s"],
        ["lag, largest (wall)", f"{max(wall[1:]):.1f} s"],
        ["memory a series, with its model", f"{(_resident() - before) / series / 1e6:.2f} MB"],
        ["alerts", str(sum('"alert": true' in line for line in told))],
    ]
    return Report(
        "A thousand live series",
        [f"One process, one row a minute of each series, {machine()}."],
        [Table("watch load", "`caps watch`, many series", ["what", "measured"], rows)],
        wanted="a minute's rows take less than a minute of one core",
        passed=bool(rest.max() < 60),
    )


def _fitted(folder: Path, kind: int) -> Path:
    rng = np.random.default_rng(kind)
    values = [_value(kind, row) + rng.standard_normal() for row in range(TRAIN)]
    times = pd.date_range("2024-01-01", periods=TRAIN, freq="min")
    model = CAPS(causal=True, alarms="1/week", train="all")
    model.fit(pd.DataFrame({"time": times, "value": values}))
    model.save(folder / str(kind))
    return folder / str(kind)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
