"""A process that works for this one: what crashes, hangs or prints there costs one task only.

It leads a process group of its own, so that what a task started ends with it; it ends when this
process does, computes in one thread, and is used again, so that torch is imported once.
"""

import faulthandler
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from caps.jobs.threads import ONE_THREAD, environment

KEPT_OUTPUT = 4000  # characters of what a failed task printed
STARTING = 300.0  # seconds for a process to import what it needs, on a busy machine
LAST_WORDS = 2.0  # seconds for a hanging process to tell where it hangs
BETWEEN = 0.1  # seconds between reports on the same stage


@dataclass(frozen=True, slots=True)
class Report:
    """Where a task stands; the first of a task says that it has begun."""

    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a task has no result: its function raised, its process died, or it took too long."""

    kind: Literal["error", "crash", "timeout"]
    problem: str
    output: str = ""  # the traceback, or the last that the process printed
    seconds: float = 0.0


class Worker:
    """A process that is given one task after another; its output goes to a file if one is named."""

    def __init__(self, output: Path | None = None) -> None:
        context = get_context("spawn")  # a fork would inherit the locks of torch's threads
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, output), daemon=False)
        self.output, self.given, self.begun = output, 0.0, False
        if output is not None:
            output.touch()
        with environment(ONE_THREAD):  # the libraries look when they are imported
            self.process.start()
        theirs.close()
        assert self.process.pid is not None
        self.pid = self.process.pid

    def give(self, function: Callable[[Any], Any], task: Any) -> None:
        """Send a task; `function` must be one that another process can import."""
        self.given, self.begun = time.monotonic(), False
        message = pickle.dumps((function, task))
        # In a thread: a process that still starts does not read yet.
        threading.Thread(target=self._send, args=(message,), daemon=True).start()

    def receive(self) -> Any:
        """The next Report, or the result of the task, or Lost; waits for it."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(LAST_WORDS)
            problem = f"the child process ended with code {self.process.exitcode}"
        except Exception as error:
            problem = f"the child process answered what cannot be read ({error})"
        else:
            if isinstance(message, Report) and not self.begun:
                self.given, self.begun = time.monotonic(), True
            return message
        self.stop()
        return Lost("crash", problem, _tail(self.output), self.seconds)

    @property
    def seconds(self) -> float:
        """Since it began with its task or, until then, since it got it."""
        return time.monotonic() - self.given

    def left(self, seconds: float) -> float:
        """Until it must be given up if its task may take so long."""
        return (seconds if self.begun else STARTING) - self.seconds

    def give_up(self, seconds: float) -> Lost:
        """Have it write where it hangs, then end it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
        self.process.join(LAST_WORDS)
        self.stop()
        done = f"done after {seconds / 60:g} minutes" if self.begun else "even begun"
        return Lost("timeout", f"not {done}", _tail(self.output), self.seconds)

    def stop(self) -> None:
        """End it and everything it started."""
        if self.connection.closed:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # of a process that is gone, `receive` tells
            self.connection.send_bytes(message)


# What a task in a worker knows of it; elsewhere nothing.
_inside: Any = SimpleNamespace(connection=None, output=None, reported=0.0, text="")


def report(text: str, share: float) -> None:
    """Tell the parent where the task stands, as often as a person can read."""
    now = time.monotonic()
    if _inside.connection is None or (text == _inside.text and now - _inside.reported < BETWEEN):
        return
    _inside.reported, _inside.text = now, text
    _inside.connection.send(Report(text, share))


def printed() -> str:
    """The last that the task has printed."""
    sys.stdout.flush()
    sys.stderr.flush()
    return _tail(_inside.output)


def _work(connection: Connection, output: Path | None) -> None:
    """Do tasks until the pipe closes."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if output is not None:
        file = os.open(output, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, 1)
        os.dup2(file, 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    _inside.connection, _inside.output = connection, output
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send(_result(message))


def _result(message: bytes) -> Any:
    try:
        # What the parent sent through its own pipe; here, so that a task that cannot be loaded
        # is a failure of that task and not the end of the worker.
        function, task = pickle.loads(message)
        if _inside.output is not None:
            os.truncate(_inside.output, 0)
        _inside.text = ""
        report("starting", 0.0)
        return function(task)
    except (Exception, SystemExit) as error:
        return Lost("error", f"{type(error).__name__}: {error}", traceback.format_exc())


def _tail(output: Path | None) -> str:
    if output is None:
        return ""
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - 4 * KEPT_OUTPUT))
        lines = stream.read().decode(errors="replace").splitlines()
    # A crash ends with a list of every module there is, which tells nothing.
    kept = [line for line in lines if not line.startswith("Extension modules:")]
    return "\n".join(kept)[-KEPT_OUTPUT:]


def end_with_parent() -> None:
    """Have this worker end when its parent does, and with it what it started in its own group.

    A process that is killed cannot end its workers.
    """
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
    parent = parent_process()
    assert parent is not None, "not started by multiprocessing"
    parent.join()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
