"""How many live series a core carries, and what memory and disk each of them takes.

Every size is measured in a process of its own: models are loaded, each gets a stream, the streams
are filled, and rows come one at a time. Processor time, so that other work on the machine counts
little.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import fill

from caps import CAPS
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.deployment.live_series import FILLED, SERIES, series
from tools.machine import machine, processor_seconds, size_of

SIZES = ((1_000, 1), (5_000, 1), (20_000, 1), (5_000, 4), (5_000, 16))  # training rows, channels
QUICK_SIZES = SIZES[:1]
MINUTE = 60_000  # milliseconds
WIDEST = 118  # of a page's line
BUSY = 0.7  # of a core: the rest is for refits, bursts and everything else


def sizing(run: StudyRun) -> Report:
    """One row for each size of training part and number of channels."""
    rows: list[list[Entry]] = []
    for train, channels in QUICK_SIZES if run.quick else SIZES:
        run.say(f"{train:,} rows, {channels} channel{'s' * (channels > 1)}")
        rows.append(_row(train, channels))
    header = [
        "training rows", "channels", "fit", "model on disk", "state on disk", "memory",
        "a live row", "series a core, one row a minute",
    ]  # fmt: skip
    note = (
        "Processor seconds of a fit; memory of a loaded model and its stream, the mean of "
        f"{SERIES} in one process, after {FILLED:,} rows; the process itself takes "
        f"{rows[0][-1]} MB more. Rows came one at a time; series a core leave {1 - BUSY:.0%} "
        f"of it free. {machine()}."
    )
    notes = [fill(note, WIDEST, break_long_words=False, break_on_hyphens=False)]
    table = Table("sizing", "What a live series takes", header, [row[:-1] for row in rows], notes)
    return Report(
        "Sizing",
        ["Models without a detector, as by default, `causal=True`."],
        [table],
        wanted="figures of every size",
        passed=True,
    )


def _row(train: int, channels: int) -> list[Entry]:
    with tempfile.TemporaryDirectory() as folder:
        begun = processor_seconds(own=True)
        model = CAPS(causal=True, alarms="1/day").fit(series(train, channels))
        fit = processor_seconds(own=True) - begun
        model.save(Path(folder) / "model")
        command = [
            sys.executable,
            "-m",
            "tools.deployment.live_series",
            folder,
            str(train),
            str(channels),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        live = json.loads(done.stdout)
        disk = size_of(Path(folder) / "model")
    return [
        f"{train:,}",
        str(channels),
        f"{fit:.1f} s",
        f"{disk / 1e6:.2f} MB",
        f"{live['state'] / 1e6:.2f} MB",
        f"{live['memory']:.1f} MB",
        f"{live['row']:.1f} ms",
        f"{BUSY * MINUTE / live['row']:,.0f}",
        f"{live['process']:.0f}",
    ]
