"""Where long work stands: a bar where stderr is a terminal, else the same line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from caps.bench import Record, Run, Task
    from caps.training import Report

OFTEN, SELDOM = 0.25, 10.0  # seconds between frames of a bar, and between lines


class ProgressLine:
    """Called with what is being done and the share that is done; training can report to it too."""

    def __init__(self, console: "Console | None" = None) -> None:
        self.started = self.shown = time.monotonic()
        self.every = SELDOM if console is None else OFTEN
        self.bar, self.line = None, ""
        if console is not None:
            from rich.progress import BarColumn, Progress, TextColumn  # 0.07 s for terminals alone

            columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
            self.bar = Progress(*columns, console=console, transient=True)
            self.task = self.bar.add_task("", total=1.0)

    def begin(self, text: str) -> None:
        """Show at once what begins; the time left is judged from here on."""
        self.started = time.monotonic()
        self._show(text, 0.0)

    def __call__(self, text: str, share: float) -> None:
        """Show a line if it is time for one; the time left follows from the share."""
        now = time.monotonic()
        if now - self.shown < self.every or share <= 0:
            return
        left = timedelta(seconds=round((now - self.started) * (1 - share) / share))
        self._show(f"{text}: {100 * share:.0f} %, {left} left", share)

    def say(self, text: str) -> None:
        """Write something that stays."""
        if self.bar is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self.bar.console.print(text, highlight=False, markup=False)

    def cell(self, run: "Run", task: "Task", record: "Record") -> None:
        """A cell of the benchmark has ended."""
        if record["status"] == "failed":
            cell, problem = task.cell, record["error"][:200]
            self.say(f"failed: {cell.method} on {cell.series}: {problem}")
        done, failed = run.skipped + run.computed, f", {run.failed} failed" if run.failed else ""
        self(f"{done} of {run.total} cells{failed}", run.computed / (run.total - run.skipped))

    def report(self, report: "Report") -> None:
        """Training tells where a stage stands, as often as `every` asks and at its end."""
        self._show(str(report), report.step / report.steps)

    def close(self) -> None:
        """The stage has ended: where it ended stays to be read."""
        if self.bar is not None:
            self.say(self.line)

    def end(self) -> None:
        """Give the terminal back."""
        if self.bar is not None:
            self.bar.stop()

    def _show(self, line: str, share: float) -> None:
        self.shown, self.line = time.monotonic(), line
        if self.bar is None:
            self.say(line)
        else:
            self.bar.start()
            self.bar.update(self.task, description=line, completed=share)


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """A line for as long as the work takes."""
    console = None
    if sys.stderr.isatty():
        from rich.console import Console  # a tenth of a second before anything is read

        console = Console(stderr=True)
    line = ProgressLine(console)
    try:
        yield line
    finally:
        line.end()
