"""Cells in child processes: a method that crashes, hangs or prints costs only its own cell.

Children are reused, so that torch is imported once for many cells. A child leads a process group of
its own: what a method started ends with it. Messages are JSON.
"""

import faulthandler
import json
import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from caps.orphans import end_with

if TYPE_CHECKING:
    from caps.bench.cells import Cell, Record
    from caps.bench.datasets import SeriesFile
    from caps.bench.settings import MakeMethod

ONE_THREAD = {
    name: "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
} | {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
BEGUN = "begun"
KEPT_OUTPUT = 4000  # characters of what a failed method printed
STARTING = 300.0  # seconds for a child to import what it needs, on a busy machine
LAST_WORDS = 2.0  # seconds for a hanging child to tell where it hangs


@dataclass(frozen=True, slots=True)
class Task:
    """A cell to compute and the series it needs."""

    cell: "Cell"
    file: "SeriesFile"


@dataclass(frozen=True, slots=True)
class Work:
    """What all children of a run are told."""

    out: Path
    make: "MakeMethod"
    save_scores: bool
    minutes: float  # limit of one cell


@dataclass(slots=True)
class Child:
    """A process and the task it has."""

    process: BaseProcess
    connection: Connection
    output: Path
    task: Task | None = None
    given: float = 0.0  # when it got the task or, once it has begun, when it began
    begun: bool = False

    def give(self, task: Task) -> None:
        """Send a task."""
        self.task, self.given, self.begun = task, time.monotonic(), False
        message = {"cell": asdict(task.cell), "file": asdict(task.file)}
        with suppress(OSError):  # a child that is gone is found by `wait`
            self.connection.send_bytes(json.dumps(message).encode())

    def deadline(self, minutes: float) -> float:
        """When to give up on it."""
        return self.given + (60 * minutes if self.begun else STARTING)

    def stop(self) -> None:
        """End the child and everything it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()

    def last_words(self) -> None:
        """Have a hanging child write where it hangs, then end it."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, signal.SIGUSR1)
        self.process.join(LAST_WORDS)
        self.stop()


def run_in_children(
    tasks: Iterable[Task], work: Work, jobs: int
) -> Iterator[tuple[Task, "Record"]]:
    """Compute every task, at most `jobs` at a time; yields each with its record, as they end."""
    waiting, busy, idle = deque(tasks), list[Child](), list[Child]()
    with TemporaryDirectory(prefix="caps-bench-") as folder:
        try:
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    child = idle.pop() if idle else _start(work, Path(folder))
                    child.give(waiting.popleft())
                    busy.append(child)
                for child, record in _ended(busy, work):
                    task, child.task = child.task, None
                    assert task is not None
                    busy.remove(child)
                    if child.process.is_alive():
                        idle.append(child)
                    yield task, record
        finally:
            for child in (*busy, *idle):
                child.stop()


def _ended(busy: list[Child], work: Work) -> Iterator[tuple[Child, "Record"]]:
    """Children whose task has ended: with an answer, with a crash, or past the limit."""
    soonest = min(child.deadline(work.minutes) for child in busy)
    patience = max(0.0, soonest - time.monotonic())
    ready = wait([child.connection for child in busy], timeout=patience)
    for child in list(busy):
        if child.connection in ready:
            record = _answer(child, work)
            if record is not None:
                yield child, record
        elif time.monotonic() >= child.deadline(work.minutes):
            child.last_words()
            done = f"done after {work.minutes:g} minutes" if child.begun else "even begun"
            yield child, _lost(child, work, "timeout", f"not {done}")


def _answer(child: Child, work: Work) -> "Record | None":
    """The record of a cell; None where the child only says that it has begun."""
    try:
        record = json.loads(child.connection.recv_bytes())
        if record == BEGUN:
            child.given, child.begun = time.monotonic(), True
            return None
        if isinstance(record, dict):
            return record
        problem = f"the child process answered {record!r}"
    except (EOFError, OSError):
        child.process.join(LAST_WORDS)
        problem = f"the child process ended with code {child.process.exitcode}"
    except ValueError as error:
        problem = f"the child process answered no JSON ({error})"
    child.stop()
    return _lost(child, work, "crash", problem)


def _lost(child: Child, work: Work, kind: str, problem: str) -> "Record":
    """Write the record that the child could not write."""
    from caps.bench.cells import failed_record, write_cell

    assert child.task is not None
    facts = {"seconds": {"lost": time.monotonic() - child.given}}
    record = failed_record(child.task.cell, kind, problem, _tail(child.output), facts)
    write_cell(work.out, child.task.cell, record)
    return record


def _start(work: Work, folder: Path) -> Child:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    output = folder / f"{time.monotonic_ns()}.txt"
    output.touch()
    process = context.Process(target=_child, args=(theirs, work, output, os.getpid()), daemon=False)
    with _environment(ONE_THREAD):
        process.start()
    theirs.close()
    return Child(process, ours, output)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set before the child starts: the libraries look when they are imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _child(connection: Connection, work: Work, output: Path, parent: int) -> None:
    """Compute cells until the pipe closes."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    capture = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(capture, 1)
    os.dup2(capture, 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    from caps.bench.cells import Cell, write_cell
    from caps.bench.datasets import SeriesFile
    from caps.bench.execution import run_cell

    while True:
        try:
            message = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        connection.send_bytes(json.dumps(BEGUN).encode())
        os.ftruncate(capture, 0)
        cell = Cell(**message["cell"])
        record, scores = run_cell(cell, SeriesFile(**message["file"]), work.make)
        if record["status"] == "failed":
            record["output"] = _tail(output)
        write_cell(work.out, cell, record, scores if work.save_scores else None)
        connection.send_bytes(json.dumps(record).encode())


def _tail(output: Path) -> str:
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - 4 * KEPT_OUTPUT))
        lines = stream.read().decode(errors="replace").splitlines()
    # A crash ends with a list of every module there is, which tells nothing.
    told = [line for line in lines if not line.startswith("Extension modules:")]
    return "\n".join(told)[-KEPT_OUTPUT:]
