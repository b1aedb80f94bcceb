"""Time `caps detect` and scoring, print the table and write it into the docs.

PYTHONPATH=tools python tools/perf/detect.py docs/performance.md [SERIES.csv ...]

Processor seconds count beside the clock: they stay true on a machine that others use too.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sections import Rows, machine, markdown, rewrite

from caps import CAPS
from caps.series import Series, read

LONG = 1_000_000


@dataclass(frozen=True)
class Cost:
    wall: float  # seconds
    processor: float
    megabytes: float  # peak

    def row(self, task: str, wanted: str) -> tuple[str, ...]:
        figures = f"{self.wall:.0f} s", f"{self.processor:.0f} s", f"{self.megabytes:,.0f} MB"
        return task, *figures, wanted


def simulated(path: Path, rows: int) -> Path:
    """A daily and a weekly pattern with noise and one event."""
    rng, time_ = np.random.default_rng(3), np.arange(rows)
    values = np.sin(2 * np.pi * time_ / 288) + 0.4 * np.sin(2 * np.pi * time_ / 2016)
    values += 0.1 * rng.standard_normal(rows)
    values[rows * 3 // 4 : rows * 3 // 4 + 20] += 3
    pd.DataFrame({"Data": values}).to_csv(path, index=False)
    return path


def command(threads: int, *arguments: str | Path) -> Cost:
    """What one `caps` command costs, in a process of its own."""
    caps = Path(sys.executable).with_name("caps")
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.monotonic()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(caps, [str(caps), *map(str, arguments)], environment, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"caps {' '.join(map(str, arguments))} failed")
    return Cost(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


def scoring_rate(model: CAPS, series: Series) -> float:
    """Points a second by the clock, all threads, the better of two runs."""
    fitted = model.fitted_
    fitted.score(series[:10_000])
    times = []
    for _ in range(2):
        start = time.monotonic()
        fitted.score(series)
        times.append(time.monotonic() - start)
    return len(series) / min(times)


def main(document: Path, given: list[str]) -> int:
    rows: Rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"simulated": simulated(folder / "short.csv", 4000)}
        files |= {Path(path).stem: Path(path) for path in given}
        for label, path in files.items():
            length = sum(1 for _ in path.open()) - 1
            for threads in (1, 2):
                cost = command(
                    threads, "detect", path, "--columns", "Data", "--out", folder / "out"
                )
                task = f"`caps detect`, {label}, {length:,} rows, threads: {threads}"
                rows.append(cost.row(task, "60 s, 1,500 MB"))
                print(*rows[-1], sep=" | ", flush=True)
        load = os.getloadavg()[0]
        path = simulated(folder / "long.csv", LONG)
        cost = command(2, "detect", path, "--out", folder / "long")
        rows.append(cost.row(f"`caps detect`, simulated, {LONG:,} rows", "300 s, 2,000 MB"))
        print(*rows[-1], sep=" | ", flush=True)
        series = read(path)
        rates = {
            "the default": (scoring_rate(CAPS.load(folder / "long" / "model"), series), 50_000),
            "`memory=False`": (
                scoring_rate(CAPS(memory=False).fit(series[:20_000]), series),
                200_000,
            ),
        }
    header = ("task", "wall", "processor", "peak memory", "wanted")
    speeds = [(name, f"{rate:,.0f}", f"{least:,}") for name, (rate, least) in rates.items()]
    text = (
        f"Machine: {machine()}; load before the longest {load:.1f}.\n\n{markdown(header, rows)}\n"
        f"Scoring, {LONG:,} points, two threads:\n\n"
        f"{markdown(('model', 'points a second', 'wanted'), speeds)}"
    )
    print(text)
    rewrite(document, "detect", text)
    return int(any(rate < least for rate, least in rates.values()))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2:]))
