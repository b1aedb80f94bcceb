"""Time the metrics side by side with TSB-AD, print the table and write it into the docs.

PYTHONPATH=tools python tools/perf/metrics.py PEER_PYTHON docs/performance.md
"""

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from sections import Rows, machine, markdown, rewrite
from workload import EVENTS, LEVELS, SIZES, WINDOW, workload

from caps.metrics import affiliation, evaluate, vus

COMPARED_SIZE = 100_000
REPEATS = 5


def best_seconds(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


@dataclass(frozen=True)
class Comparison:
    task: str
    ours: float  # seconds
    peer: float
    wanted: int  # times faster

    @property
    def ratio(self) -> float:
        return self.peer / self.ours

    def row(self) -> tuple[str, ...]:
        ratio, wanted = f"{self.ratio:,.0f}x", f"{self.wanted}x"
        return self.task, readable(self.ours), readable(self.peer), ratio, wanted


def against_peer(peer_python: str) -> tuple[list[Comparison], int]:
    """Return the comparisons and how many levels TSB-AD was timed on."""
    script = Path(__file__).with_name("peer.py")
    answer = subprocess.run(
        [peer_python, script, str(COMPARED_SIZE)], check=True, capture_output=True, text=True
    )
    peer = json.loads(answer.stdout)
    scores, labels = workload(COMPARED_SIZE)
    sweep = best_seconds(lambda: affiliation(scores, labels))
    volume = best_seconds(lambda: vus(scores, labels, window=WINDOW))
    everything = best_seconds(lambda: evaluate(scores, labels, window=WINDOW))
    comparisons = [
        Comparison("VUS-PR and VUS-ROC", volume, peer["vus"], 100),
        Comparison("Affiliation-F, per threshold", sweep / LEVELS, peer["affiliation_level"], 100),
        Comparison(f"all metrics, {LEVELS:,} levels", everything, peer["all"], 200),
    ]
    return comparisons, peer["measured_levels"]


def growth() -> Rows:
    """Rows of size, time, time per n log n, peak extra memory."""
    rows = []
    for size in SIZES:
        scores, labels = workload(size)
        taken = best_seconds(lambda s=scores, y=labels: evaluate(s, y, window=WINDOW))
        peak = peak_megabytes(lambda s=scores, y=labels: evaluate(s, y, window=WINDOW))
        unit = taken / (size * np.log2(size)) * 1e9
        rows.append((f"{size:,}", readable(taken), f"{unit:.1f} ns", f"{peak:.0f} MB"))
    return rows


def readable(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:,.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds * 1e6:.3g} us"


def report(comparisons: list[Comparison], measured_levels: int) -> str:
    rows = [comparison.row() for comparison in comparisons]
    return (
        f"Machine: {machine()}, one thread used. Best of {REPEATS} runs for CAPS, one run for "
        "TSB-AD, in the same minutes.\n\n"
        f"{COMPARED_SIZE:,} points, {EVENTS} events, window {WINDOW}:\n\n"
        + markdown(("task", "CAPS", "TSB-AD 1.5", "times faster", "wanted"), rows)
        + f"\nPer threshold, CAPS's time is that of one sweep divided by {LEVELS:,} thresholds. "
        f"TSB-AD's threshold metrics were timed on {measured_levels} of the {LEVELS:,} levels "
        "and scaled. It has no F1_T, so `all` is VUS (`opt`), AUC, Standard-F1 and Affiliation-F "
        "for TSB-AD and those plus F1_T and its corrected form for CAPS.\n\n"
        f"All metrics of the `caps` protocol, {EVENTS} events, window {WINDOW}; peak memory is "
        "what `tracemalloc` sees beyond the inputs:\n\n"
        + markdown(("points", "time", "time / (n log2 n)", "peak extra memory"), growth())
    )


def main(peer_python: str, document: Path) -> int:
    comparisons, measured_levels = against_peer(peer_python)
    text = report(comparisons, measured_levels)
    Console(width=110, highlight=False).print(text, markup=False)
    rewrite(document, "metrics", text)
    return int(any(comparison.ratio < comparison.wanted for comparison in comparisons))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
