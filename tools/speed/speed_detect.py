"""`caps detect` and scoring: time and memory.

Processor seconds count beside the clock: they stay true on a machine that others use too.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from caps import CAPS
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.series import Series, read
from tools.machine import machine
from tools.series_files import read_table

SHORT, LONG, QUICK_LONG = 4_000, 1_000_000, 20_000  # rows
MOST_FILES = 3  # of those given
WANTED = {"the default": 50_000, "`memory=False`": 200_000}  # points a second


def speed_detect(run: StudyRun) -> Report:
    """Costs of the command on short series and a long one, and points scored a second."""
    length = QUICK_LONG if run.quick else LONG
    rows: list[list[Entry]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"simulated": _simulated(folder / "short.csv", SHORT)}
        for file in run.files[:MOST_FILES]:
            files[file.name.removesuffix(".csv")] = folder / file.name
            read_table(file)[0].to_csv(folder / file.name, index=False)
        for label, path in files.items():
            count = sum(1 for _ in path.open()) - 1
            for threads in (1, 2):
                task = f"`caps detect`, {label}, {count:,} rows, threads: {threads}"
                run.say(task)
                cost = _cost(threads, "detect", path, "--out", folder / "out")
                rows.append([task, *cost, "5 s, 500 MB"])
        path = files["simulated"]
        task = f"`caps detect --detector`, simulated, {SHORT:,} rows"
        run.say(task)
        rows.append([task, *_cost(2, "detect", path, "--detector", "--out", folder / "both"), "-"])
        bad = folder / "bad.csv"
        bad.write_text("time,load\n2024-01-01,high\n2024-01-02,low\n", encoding="utf-8")
        rows.append(
            ["`caps detect`, a file without numbers", *_cost(2, "detect", bad, code=2), "0.5 s"]
        )
        load = os.getloadavg()[0]
        path = _simulated(folder / "long.csv", length)
        run.say(f"{length:,} rows")
        cost = _cost(2, "detect", path, "--out", folder / "long")
        rows.append([f"`caps detect`, simulated, {length:,} rows", *cost, "300 s, 2,000 MB"])
        series = read(path)
        models = {
            "the default": CAPS.load(folder / "long" / "model"),
            "`memory=False`": CAPS(detector="auto", memory=False).fit(series[:20_000]),
        }
        rates = {name: _scoring_rate(model, series) for name, model in models.items()}
    on = [f"Machine: {machine()}; load before the longest {load:.1f}."]
    header = ["task", "wall", "processor", "peak memory", "wanted"]
    return Report(
        "Speed of detection",
        [],
        [
            Table("detect", "Detection", header, rows, on),
            Table(
                "detect: scoring",
                f"Scoring, {length:,} points, all threads",
                ["model", "points a second", "wanted"],
                [[name, f"{rates[name]:,.0f}", f"{least:,}"] for name, least in WANTED.items()],
            ),
        ],
        wanted="as many points a second as the table names",
        passed=all(rates[name] >= least for name, least in WANTED.items()),
    )


def _simulated(path: Path, rows: int) -> Path:
    """A daily and a weekly pattern with noise and one event."""
    rng, time_ = np.random.default_rng(3), np.arange(rows)
    values = np.sin(2 * np.pi * time_ / 288) + 0.4 * np.sin(2 * np.pi * time_ / 2016)
    values += 0.1 * rng.standard_normal(rows)
    values[rows * 3 // 4 : rows * 3 // 4 + 20] += 3
    pd.DataFrame({"Data": values}).to_csv(path, index=False)
    return path


def _cost(threads: int, *arguments: str | Path, code: int = 0) -> list[str]:
    """Wall time, processor time and peak memory of one `caps` command in a process of its own."""
    command = [sys.executable, "-m", "caps.cli.main", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.monotonic()
    quiet = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_WRONLY, 0) for end in (1, 2)]
    child = os.posix_spawn(sys.executable, command, environment, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != code:
        raise SystemExit(f"caps {' '.join(map(str, arguments))} failed")
    wall, processor = time.monotonic() - start, used.ru_utime + used.ru_stime
    return [f"{wall:.1f} s", f"{processor:.1f} s", f"{used.ru_maxrss / 1e3:,.0f} MB"]


def _scoring_rate(model: CAPS, series: Series) -> float:
    """Points a second by the clock, all threads, the better of two runs."""
    fitted = model.fitted_
    fitted.score(series[:10_000])
    times = []
    for _ in range(2):
        start = time.monotonic()
        fitted.score(series)
        times.append(time.monotonic() - start)
    return len(series) / min(times)
