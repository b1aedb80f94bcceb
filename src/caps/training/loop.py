"""The one training loop: budget, checkpoints, exact resume, signals and progress."""

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal, Protocol

from torch import nn

from caps.errors import InputError
from caps.training.checkpoint import Checkpoints
from caps.training.run import Alone, Batches, Mean, Run, Stop
from caps.training.schedule import Schedule

if TYPE_CHECKING:
    from lightning_fabric import Fabric

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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

    def __str__(self) -> str:
        losses = "".join(f"{name} {value:.3g}, " for name, value in self.losses.items())
        rate = f"{self.steps_per_second:.1f} steps/s, {self.time_left} left"
        return f"{self.name}: step {self.step} of {self.steps}, {losses}{rate}"


class Progress(Protocol):
    """What `train` reports to: every `every` seconds and at the end, then `close`."""

    every: float

    def report(self, report: Report) -> None:
        """Show where the stage stands."""

    def close(self) -> None:
        """The stage has ended, for whatever reason."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What came of a stage; `dataclasses.asdict` of it is JSON."""

    name: str
    step: int
    steps: int
    finished: bool  # False: the time budget ended first, resume to go on
    seconds: float  # of training, all sittings together
    curves: dict[str, list[float]]  # "step" and every loss, at most about 400 points


def train(
    stage: nn.Module,
    batches: Batches,
    schedule: Schedule,
    *,
    seed: int,
    name: str,
    folder: Path | None = None,
    resume: bool = False,
    minutes: float | None = None,
    fabric: "Fabric | None" = None,
    progress: Progress | None = None,
    enough: Callable[[int], bool] | None = None,
) -> TrainingResult:
    """Train the parameters of `stage` that require gradients, in place.

    `batches(schedule.batch, generator)` makes one batch; `stage(batch)` returns named scalar
    losses, of which `"loss"` is minimised and the others are recorded. All randomness of a step,
    torch's included, is a function of (seed, name, step, process), so a run that was killed and
    resumed ends in the same bits as one that was not, on the same machine and number of threads.

    Checkpoints go to `folder / name`. SIGINT and SIGTERM write one before they take effect.
    After `minutes` the stage stops with a checkpoint and `finished=False`, and so it does as soon
    as `enough`, asked after every step with its number, says so. On return the stage is
    in evaluation mode and holds the averaged weights if the schedule asks for an average.

    >>> import torch
    >>> class Mean(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.level = nn.Parameter(torch.zeros(()))
    ...     def forward(self, batch):
    ...         return {"loss": (batch["x"] - self.level).square().mean()}
    >>> def batches(size, generator):
    ...     return {"x": torch.from_numpy(generator.normal(2.0, 0.1, size).astype("float32"))}
    >>> stage = Mean()
    >>> schedule = Schedule(steps=200, batch=8, learning_rate=0.05, decay="cosine")
    >>> train(stage, batches, schedule, seed=0, name="mean").finished
    True
    >>> round(stage.level.item(), 1)
    2.0
    """
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"the stage is named {name!r}", "give a name that can be a folder's")
    if resume and folder is None:
        raise InputError("there is nothing to resume without a folder", "give the folder")
    run = Run(stage, schedule, seed=seed, name=name, fabric=fabric or Alone())
    checkpoints = None
    if folder is not None:
        checkpoints = Checkpoints(folder / name, run.configuration())
        if not resume:
            checkpoints.refuse_any()
        elif (found := checkpoints.read()) is not None:
            run.restore(*found)
        run.fabric.barrier()  # no process writes before all have read
    try:
        with _stop_signals(active=checkpoints is not None) as caught:
            _Sitting(run, checkpoints, progress, minutes, enough).train(batches, caught)
    finally:
        if progress is not None:
            progress.close()
    run.leave()
    points = run.curves.points
    return TrainingResult(name, run.step, schedule.steps, run.finished, run.seconds, points)


def start_fabric(
    accelerator: str = "cpu",
    devices: int = 1,
    precision: Literal["32-true", "bf16-mixed"] = "32-true",
) -> "Fabric":
    """Start processes to train in; one on the CPU in full precision needs none of it."""
    from lightning_fabric import Fabric  # takes over a second: only where it is needed

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    fabric = Fabric(accelerator=accelerator, devices=devices, precision=precision)
    fabric.launch()
    return fabric


class _Sitting:
    """One call of `train`: its clock, and what the first process writes and shows."""

    def __init__(
        self,
        run: Run,
        checkpoints: Checkpoints | None,
        progress: Progress | None,
        minutes: float | None,
        enough: Callable[[int], bool] | None,
    ) -> None:
        self.run = run
        self.checkpoints = checkpoints if run.fabric.is_global_zero else None
        self.progress = progress if run.fabric.is_global_zero else None
        self.budget = math.inf if minutes is None else 60 * minutes
        self.first_step, self.seconds_before = run.step, run.seconds
        self.started = self.saved = self.reported = time.monotonic()
        self.recent = Mean()
        self.enough = enough or (lambda step: False)

    def train(self, batches: Batches, caught: list[int]) -> None:
        """Make steps until the schedule, the budget or a signal ends it."""
        run = self.run
        run.stage.train()
        stop = Stop()
        while not (run.finished or stop):
            over = time.monotonic() - self.started >= self.budget
            losses, stop = run.advance(batches, Stop(over, bool(caught)))
            self.recent.add(losses)
            stop = stop._replace(over=stop.over or self.enough(run.step))
            self._note(last=run.finished or bool(stop))
        run.fabric.barrier()  # the others leave when the last checkpoint is there
        if stop.interrupted:
            # Another process may have got the signal.
            number = caught[0] if caught else int(signal.SIGTERM)
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _note(self, last: bool) -> None:
        run, now = self.run, time.monotonic()
        elapsed = now - self.started
        run.seconds = self.seconds_before + elapsed
        if self.progress and (last or now - self.reported >= self.progress.every):
            rate = (run.step - self.first_step) / elapsed
            losses = self.recent.take()
            self.progress.report(Report(run.name, run.step, run.schedule.steps, losses, rate))
            self.reported = now
        if self.checkpoints and (last or now - self.saved >= run.schedule.checkpoint_seconds):
            self.checkpoints.write(run.step, run.facts(), run.arrays())
            self.saved = time.monotonic()


@contextmanager
def _stop_signals(active: bool) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of obeying; a second one takes effect at once."""
    caught: list[int] = []
    # Python hands signals to the main thread only.
    active = active and threading.current_thread() is threading.main_thread()
    numbers = STOP_SIGNALS if active else ()
    previous = {number: signal.getsignal(number) or signal.SIG_DFL for number in numbers}

    def catch(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        signal.signal(number, previous[signal.Signals(number)])

    for number in numbers:
        signal.signal(number, catch)
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
