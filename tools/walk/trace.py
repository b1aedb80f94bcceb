"""The walk of a row through `caps detect`: rooms, files and functions passed.

PYTHONPATH=src python tools/walk/trace.py [--detector] [--functions]

Counted are the named functions and methods under src/caps that are entered, in whatever thread,
once each however often they are called. Module and class bodies, lambdas, comprehensions and the
methods that dataclasses generate are not.
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

from example import TRAIN, example

import caps
from caps.cli.main import main

SOURCE = Path(caps.__file__).parent

Walk = dict[str, list[CodeType]]  # the functions of each room, in the order of entrance


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


def calls_of_detect(*options: str) -> Counter[CodeType]:
    """Run `caps detect` on the example."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "load.csv"
        example().to_csv(file, index=False)
        command = ["detect", str(file), "--train", str(TRAIN), *options]
        command += ["--out", str(Path(folder) / "found")]
        printed = io.StringIO()
        silenced = contextlib.redirect_stdout(printed)
        with tracing() as calls, silenced, contextlib.suppress(SystemExit):
            main(command)
    if "1 event" not in printed.getvalue():
        raise SystemExit(f"the outage was not found:\n{printed.getvalue()}")
    return calls


def rooms(calls: Counter[CodeType]) -> Walk:
    """The functions of CAPS by package, or by module where it stands alone."""
    walk: Walk = {}
    for code in calls:
        named = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if named and code.co_filename.startswith(f"{SOURCE}/"):
            walk.setdefault(file_of(code).parts[0], []).append(code)
    return walk


def file_of(code: CodeType) -> Path:
    return Path(code.co_filename).relative_to(SOURCE)


def table(walk: Walk, calls: Counter[CodeType]) -> str:
    """Rooms in the order in which they are entered, in Markdown."""
    everything = [code for codes in walk.values() for code in codes]
    lines = ["| room | files | functions | calls |", "|---|---|---|---|"]
    for room, codes in {**walk, "**together**": everything}.items():
        files = len({file_of(code) for code in codes})
        lines.append(f"| {room} | {files} | {len(codes)} | {sum(calls[c] for c in codes):,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detector", action="store_true", help="train a detector too")
    parser.add_argument("--functions", action="store_true", help="name every function")
    arguments = parser.parse_args()
    calls = calls_of_detect(*(["--detector"] if arguments.detector else []))
    walk = rooms(calls)
    if arguments.functions:
        for code in (code for codes in walk.values() for code in codes):
            print(f"{file_of(code)}: {code.co_qualname} x {calls[code]:,}")
    print(table(walk, calls))
