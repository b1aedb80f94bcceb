"""A day of a thousand series in one `caps watch`: share of the core, memory a series, lag.

The watch is the real one: it asks a server over HTTP as it asks Prometheus, has a model for each
series, saves its state, is scraped every minute, and sends alerts to an Alertmanager and a webhook.
Only the clock is simulated, so that a day takes as long as its rows take. Server and watch are
processes of their own; what the watch takes is processor time.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from caps import CAPS
from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from caps.fleet import file_name
from caps.watch import series_id
from tools.deployment.minute_series import KINDS, STEP, name, training
from tools.deployment.watched_day import ALERTS_FILE, MINUTES_FILE
from tools.machine import free_port, machine

SERIES, QUICK_SERIES = 1000, 20
MINUTES, QUICK_MINUTES = 1440, 10
HOUR = 60  # minutes
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)  # as one process on one core


def watch_load(run: StudyRun) -> Report:
    """Feed a minute after the other and measure what each takes."""
    series = QUICK_SERIES if run.quick else SERIES
    minutes = QUICK_MINUTES if run.quick else MINUTES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run.say("fitting")
        _fit(folder, series)
        run.say(f"watching {series} series for {minutes} minutes")
        _watch(folder, series, minutes)
        rows, passed = _measured(folder, series)
    return Report(
        "A thousand live series",
        [f"One process, one thread for rows, one row a minute of each series, {machine()}."],
        [Table("watch load", "`caps watch`, many series", ["what", "measured"], rows)],
        wanted="a minute's rows take less than a minute of one core, and none is lost",
        passed=passed,
    )


def _fit(folder: Path, series: int) -> None:
    """A model for each series, of as many kinds as there are."""
    for kind in range(KINDS):
        model = CAPS(causal=True, alarms="1/week", train="all").fit(training(kind))
        model.save(folder / f"kind-{kind}")
    for k in range(series):
        id = series_id({"__name__": "load", "host": name(k)})
        shutil.copytree(folder / f"kind-{k % KINDS}", folder / "models" / file_name(id))


def _watch(folder: Path, series: int, minutes: int) -> None:
    port = free_port()
    environment = os.environ | ONE_THREAD
    start = [sys.executable, "-m"]
    server = subprocess.Popen(
        [*start, "tools.deployment.minute_series", str(series), str(port)], env=environment
    )
    try:
        subprocess.run(
            [*start, "tools.deployment.watched_day", str(folder), str(port), str(minutes)],
            env=environment,
            check=True,
        )
    finally:
        server.terminate()
        server.wait()


def _measured(folder: Path, series: int) -> tuple[list[list[str]], bool]:
    """The figures of a run, and whether it kept up."""
    lines = (folder / MINUTES_FILE).read_text().splitlines()
    before, first, *rest = [json.loads(line) for line in lines]
    plain = np.array([each["processor"] for each in rest if not each["saved"]])
    saving = [each["processor"] - np.median(plain) for each in rest if each["saved"]]
    scrape = float(np.mean([each["scrape"] for each in rest]))
    hours = [each["resident"] for each in rest[HOUR - 2 :: HOUR]] or [rest[-1]["resident"]]
    told = [json.loads(line) for line in (folder / ALERTS_FILE).read_text().splitlines()]
    rows = [
        ["series", f"{series:,}"],
        ["minutes of simulated time", f"{len(rest) + 1:,}"],
        ["models loaded, and a first row each", f"{first['processor']:.1f} s"],
        ["processor time of a row, all told", f"{1000 * plain.mean() / series:.2f} ms"],
        ["share of one core, rows and alerts", f"{plain.mean() / STEP:.1%}"],
        ["the busiest minute", f"{plain.max() / STEP:.1%}"],
        ["lag on a core of its own: a minute's rows, mean", f"{plain.mean():.1f} s"],
        ["the same, largest", f"{plain.max():.1f} s"],
        ["a scrape of the metrics", f"{scrape:.2f} s"],
        *([["a save of the state, mean", f"{np.mean(saving):.1f} s"]] if saving else []),
        ["memory a series, with its model, after each hour", _memory(before, hours, series)],
        ["incidents told", f"{sum(bool(line.get('alert')) for line in told):,}"],
    ]
    lost = series * (len(rest) + 1) - told[-1]["rows"]
    rows.append(["rows lost", f"{lost:,}"])
    return rows, bool(plain.max() < STEP) and lost == 0


def _memory(before: dict[str, Any], resident: list[int], series: int) -> str:
    each = [f"{(bytes - before['resident']) / series / 1e6:.1f}" for bytes in resident]
    return ", ".join(each) + " MB"
