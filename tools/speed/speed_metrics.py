"""The metrics side by side with TSB-AD's."""

import json
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import InputError
from caps.metrics import affiliation, evaluate, vus
from tools import ROOT
from tools.machine import machine
from tools.speed.workload import EVENTS, LEVELS, SIZES, WINDOW, workload

COMPARED_SIZE = 100_000
QUICK_SIZES = SIZES[:2]
PEER_PYTHON = ROOT / ".venv-parity" / "bin" / "python"  # of `make parity`
REPEATS = 5


def speed_metrics(run: StudyRun) -> Report:
    """Ratios to TSB-AD, and how time and memory grow."""
    comparisons, measured_levels = _against_peer()
    against = Table(
        "metrics",
        f"{COMPARED_SIZE:,} points, {EVENTS} events, window {WINDOW}",
        ["task", "CAPS", "TSB-AD 1.5", "times faster", "wanted"],
        [
            [task, _readable(ours), _readable(peer), f"{peer / ours:,.0f}x", f"{wanted}x"]
            for task, ours, peer, wanted in comparisons
        ],
        [
            f"Machine: {machine()}, one thread used. Best of {REPEATS} runs for CAPS, one run for "
            "TSB-AD, in the same minutes. "
            f"Per threshold, CAPS's time is that of one sweep divided by {LEVELS:,} thresholds. "
            f"TSB-AD's threshold metrics were timed on {measured_levels} of the {LEVELS:,} levels "
            "and scaled. It has no F1_T, so `all` is VUS (`opt`), AUC, Standard-F1 and "
            "Affiliation-F for TSB-AD and those plus F1_T and its corrected form for CAPS."
        ],
    )
    growth = Table(
        "metrics: growth",
        f"All metrics of the `caps` protocol, {EVENTS} events, window {WINDOW}",
        ["points", "time", "time / (n log2 n)", "peak extra memory"],
        _growth(QUICK_SIZES if run.quick else SIZES),
        ["Peak memory is what `tracemalloc` sees beyond the inputs."],
    )
    return Report(
        "Speed of the metrics",
        [],
        [against, growth],
        wanted="as many times faster as the table names",
        passed=all(peer / ours >= wanted for _, ours, peer, wanted in comparisons),
    )


def _best_seconds(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _peak_megabytes(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def _against_peer() -> tuple[list[tuple[str, float, float, int]], int]:
    """Tasks with our seconds, TSB-AD's, and how much faster ours shall be; the levels it swept."""
    if not PEER_PYTHON.exists():
        raise InputError("TSB-AD is not installed in .venv-parity", "run `make parity`")
    command = [PEER_PYTHON, Path(__file__).with_name("peer.py"), str(COMPARED_SIZE)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    peer = json.loads(answer.stdout)
    scores, labels = workload(COMPARED_SIZE)
    sweep = _best_seconds(lambda: affiliation(scores, labels))
    volume = _best_seconds(lambda: vus(scores, labels, window=WINDOW))
    everything = _best_seconds(lambda: evaluate(scores, labels, window=WINDOW))
    comparisons = [
        ("VUS-PR and VUS-ROC", volume, peer["vus"], 100),
        ("Affiliation-F, per threshold", sweep / LEVELS, peer["affiliation_level"], 100),
        (f"all metrics, {LEVELS:,} levels", everything, peer["all"], 200),
    ]
    return comparisons, peer["measured_levels"]


def _growth(sizes: Sequence[int]) -> list[list[Entry]]:
    """Rows of size, time, time per n log n, peak extra memory."""
    rows: list[list[Entry]] = []
    for size in sizes:
        scores, labels = workload(size)
        taken = _best_seconds(lambda s=scores, y=labels: evaluate(s, y, window=WINDOW))
        peak = _peak_megabytes(lambda s=scores, y=labels: evaluate(s, y, window=WINDOW))
        unit = taken / (size * np.log2(size)) * 1e9
        rows.append([f"{size:,}", _readable(taken), f"{unit:.1f} ns", f"{peak:.0f} MB"])
    return rows


def _readable(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:,.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds * 1e6:.3g} us"
