"""Time `caps detect` and scoring, print the table and write it into the docs.

PYTHONPATH=tools python tools/perf/detect.py docs/performance.md [SERIES.csv ...]

Processor seconds count beside the clock: they stay true on a machine that others use too.
"""

import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sections import Rows, machine, markdown, rewrite

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


def scoring_rate(model: Path, series: Path) -> tuple[float, float]:
    """Points a processor second, one thread, and the peak memory of this process."""
    import torch

    from caps import CAPS
    from caps.series import read

    torch.set_num_threads(1)
    fitted, read_series = CAPS.load(model).fitted_, read(series)
    fitted.score(read_series[:10_000])
    start = time.process_time()
    fitted.score(read_series)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return len(read_series) / seconds, peak


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
        series = simulated(folder / "long.csv", LONG)
        cost = command(1, "detect", series, "--out", folder / "long")
        rows.append(cost.row(f"`caps detect`, simulated, {LONG:,} rows", "300 s, 2,000 MB"))
        print(*rows[-1], sep=" | ", flush=True)
        rate, peak = scoring_rate(folder / "long" / "model", series)
    header = ("task", "wall", "processor", "peak memory", "wanted")
    text = (
        f"Machine: {machine()}; load {os.getloadavg()[0]:.1f}, so the clock is no measure of the "
        f"program alone.\n\n{markdown(header, rows)}\n"
        f"Scoring: {rate:,.0f} points a processor second (wanted 200,000), {LONG:,} points, one "
        f"thread, peak {peak:,.0f} MB.\n"
    )
    print(text)
    rewrite(document, "detect", text)
    return int(rate < 200_000)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2:]))
