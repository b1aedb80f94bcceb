"""What a person sees of a training run: a bar on a terminal, else a line now and then."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress


@dataclass(frozen=True, slots=True)
class Report:
    """Where a stage stands; `losses` are means since the last report.

    >>> print(Report("router", 50, 200, {"loss": 0.25}, steps_per_second=2.0))
    router: step 50 of 200, loss 0.25, 2.0 steps/s, 0:01:15 left
    """

    name: str
    step: int
    steps: int
    losses: Mapping[str, float]
    steps_per_second: float

    @property
    def time_left(self) -> timedelta:
        """Until the last step, at the rate of this sitting."""
        seconds = (self.steps - self.step) / max(self.steps_per_second, 1e-9)
        return timedelta(seconds=round(min(seconds, 1e9)))

    def figures(self) -> str:
        """The losses, the rate and the time left."""
        losses = "".join(f"{name} {value:.3g}, " for name, value in self.losses.items())
        return f"{losses}{self.steps_per_second:.1f} steps/s, {self.time_left} left"

    def __str__(self) -> str:
        return f"{self.name}: step {self.step} of {self.steps}, {self.figures()}"


class Progress(Protocol):
    """What `train` reports to: every `every` seconds and at the end, then `close`."""

    every: float

    def report(self, report: Report) -> None:
        """Show where the stage stands."""

    def close(self) -> None:
        """The stage has ended, for whatever reason."""


class Lines:
    """Gives one line of text to `write` every `every` seconds."""

    def __init__(self, write: Callable[[str], object], every: float = 10.0) -> None:
        self.write = write
        self.every = every

    def report(self, report: Report) -> None:
        """Write the report as one line."""
        self.write(str(report))

    def close(self) -> None:
        """Nothing stays open."""


class Bar:
    """A progress bar on stderr, one for each stage."""

    every = 0.25

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.bar: RichProgress | None = None
        self.task = TaskID(0)

    def report(self, report: Report) -> None:
        """Move the bar; the first report of a stage opens it."""
        if self.bar is None:
            name, figures = TextColumn("{task.description}"), TextColumn("{task.fields[figures]}")
            columns = (name, BarColumn(bar_width=24), MofNCompleteColumn(), figures)
            self.bar = RichProgress(*columns, console=self.console)
            self.task = self.bar.add_task(report.name, total=report.steps, figures="")
            self.bar.start()
        self.bar.update(self.task, completed=report.step, figures=report.figures())

    def close(self) -> None:
        """Leave the bar as it stands and give the terminal back."""
        if self.bar is not None:
            self.bar.stop()
        self.bar = None


def bar_or_lines(write: Callable[[str], object]) -> Progress:
    """A bar where stderr is a terminal, else lines given to `write`."""
    return Bar() if sys.stderr.isatty() else Lines(write)
