"""The walk of a row through `caps detect`, from file to event: rooms, files and functions passed.

PYTHONPATH=src python tools/trace_walk.py [--functions]

Counted are the named functions and methods under src/caps that are entered, in whatever thread,
once each however often they are called; module and class bodies, lambdas and comprehensions are
not, nor what a command does at import.
"""

import argparse
import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
import pandas as pd

import caps
from caps.cli.main import main

SOURCE = Path(caps.__file__).parent
ROWS, TRAIN, OUTAGE = 2000, 1200, slice(1500, 1530)


def write_example(path: Path) -> None:
    """The series of the README: a wave with an outage."""
    load = np.sin(np.arange(ROWS) * np.pi / 72) + np.random.default_rng(0).normal(0, 0.1, ROWS)
    load[OUTAGE] = 2.5
    time = pd.date_range("2024-01-01", periods=ROWS, freq="10min")
    pd.DataFrame({"time": time, "load": load}).to_csv(path, index=False)


@contextlib.contextmanager
def tracing() -> Iterator[Counter[CodeType]]:
    """Count the calls of every Python function while the block runs."""
    calls: Counter[CodeType] = Counter()

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def named_functions(calls: Counter[CodeType]) -> dict[CodeType, Path]:
    """Functions of CAPS in the order in which they were first entered, with their files."""
    return {
        code: Path(code.co_filename).relative_to(SOURCE)
        for code in calls
        if code.co_filename.startswith(f"{SOURCE}/")
        and code.co_flags & inspect.CO_OPTIMIZED
        and not code.co_name.startswith("<")
    }


def report(calls: Counter[CodeType], *, functions: bool) -> str:
    """Rooms in the order in which they are entered, with files, functions and calls."""
    walked = named_functions(calls)
    rooms: dict[str, list[CodeType]] = {}
    for code, path in walked.items():
        rooms.setdefault(path.parts[0], []).append(code)
    lines = [f"{'room':<16}{'files':>6}{'functions':>11}{'calls':>10}"]
    for room, codes in rooms.items():
        files = len({walked[code] for code in codes})
        lines.append(f"{room:<16}{files:>6}{len(codes):>11}{sum(calls[c] for c in codes):>10,}")
        if functions:
            lines += [f"    {walked[code]}: {code.co_qualname} x {calls[code]:,}" for code in codes]
    lines.append(
        f"{'together':<16}{len(set(walked.values())):>6}{len(walked):>11}"
        f"{sum(calls[code] for code in walked):>10,}"
    )
    return "\n".join(lines)


def walk() -> Counter[CodeType]:
    """Run `caps detect` on the example."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "load.csv"
        write_example(file)
        command = ["detect", str(file), "--train", str(TRAIN), "--out", str(Path(folder) / "found")]
        printed = io.StringIO()
        silenced = contextlib.redirect_stdout(printed)
        with tracing() as calls, silenced, contextlib.suppress(SystemExit):
            main(command)
        if "1 event" not in printed.getvalue():
            raise SystemExit(f"the outage was not found:\n{printed.getvalue()}")
    return calls


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", action="store_true", help="name every function")
    print(report(walk(), functions=parser.parse_args().functions))
