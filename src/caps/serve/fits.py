"""Fits in the background: a bounded queue, one process for each fit, progress, cancelling."""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caps.errors import CapsError
from caps.jobs import Lost, Report, Worker
from caps.serve.answers import FitState
from caps.serve.child import fit as do_fit
from caps.serve.files import DATA, ModelFolder, Pending, SeriesFolder
from caps.serve.monitoring import Monitor
from caps.serve.refusals import busy, taken
from caps.serve.settings import Settings

log = logging.getLogger("caps.serve")

RETRY_FIT = 30  # seconds, told to those who find the queue full
STOPPED, CANCELLED = "the service stopped during this fit", "the fit was cancelled"
UNKNOWN = "the fit did not end well", "see the service's log; fit again"
AGAIN = "make room on its disk, and start the service again or fit again"


@dataclass(slots=True)
class Fit:
    """One fit that waits or runs."""

    name: str
    request: dict[str, Any]
    out: Path
    stage: str = "waiting"
    share: float = 0.0
    started: float | None = None  # on the monotonic clock
    cancelled: str = STOPPED  # why, if it is
    task: asyncio.Task[dict[str, str]] = field(init=False)  # gives the problem, if there is one

    @property
    def state(self) -> FitState:
        """How far it is, and how long it will take once there is something to judge by."""
        if self.started is None:
            return FitState(state="waiting", stage=self.stage)
        seconds, share = time.monotonic() - self.started, self.share
        left = None if share < 0.02 else seconds * (1 - share) / share
        return FitState(state="running", stage=self.stage, share=share, seconds=seconds, left=left)


class Fits:
    """All fits that wait or run."""

    def __init__(
        self, settings: Settings, models: ModelFolder, series: SeriesFolder, monitor: Monitor
    ) -> None:
        self.settings, self.models, self.series = settings, models, series
        self.monitor = monitor
        self.active: dict[str, Fit] = {}
        self.untold: dict[str, tuple[str, str]] = {}  # failures that could not be written down
        self.turns = asyncio.Semaphore(settings.fits)

    def ask(self, name: str, request: dict[str, Any]) -> None:
        """Queue a fit of the model `name`; needs a running event loop."""
        if name in self.active:
            raise taken(f"a fit of {name!r} is under way", "wait for it or cancel it")
        if self.waiting >= self.settings.waiting_fits:
            raise busy("fits", RETRY_FIT)
        fit = Fit(name, request, self.models.begin(name, request))
        self.untold.pop(name, None)
        self.active[name] = fit
        fit.task = asyncio.create_task(self._run(fit))
        fit.task.add_done_callback(lambda _: self._conclude(fit))

    def state(self, name: str, pending: Pending | None) -> FitState | None:
        """The fit under way, or the last one if it failed."""
        if name in self.active:
            return self.active[name].state
        if pending is None:
            return None
        problem, remedy = pending.problem, pending.remedy
        if not pending.failed:
            problem, remedy = self.untold.get(name, UNKNOWN)
        return FitState(state="failed", problem=problem, remedy=remedy)

    @property
    def waiting(self) -> int:
        """Fits that have not begun."""
        return sum(fit.started is None for fit in self.active.values())

    @property
    def running(self) -> int:
        """Fits that have."""
        return len(self.active) - self.waiting

    async def cancel(self, name: str, why: str = CANCELLED) -> None:
        """End the fit of `name`, if there is one, and wait until its process is gone."""
        fit = self.active.get(name)
        if fit is not None:
            fit.cancelled = why
            fit.task.cancel()
            await asyncio.wait([fit.task])

    async def stop(self) -> None:
        """Give a running fit a moment to finish, then end it; keep what is finished."""
        for name in [fit.name for fit in self.active.values() if fit.started is None]:
            await self.cancel(name, STOPPED)
        if self.active:
            running = [fit.task for fit in self.active.values()]
            await asyncio.wait(running, timeout=self.settings.grace_seconds)
        for name in list(self.active):
            await self.cancel(name, STOPPED)

    async def _run(self, fit: Fit) -> dict[str, str]:
        async with self.turns:
            fit.started, fit.stage = time.monotonic(), "starting"
            worker = Worker()
            try:
                worker.give(do_fit, self._job(fit))
                async with asyncio.timeout(self.settings.fit_seconds):
                    while isinstance(message := await _next(worker), Report):
                        fit.stage, fit.share = message.text, message.share
            except TimeoutError:
                return {
                    "problem": f"the fit took more than {self.settings.fit_seconds:g} seconds",
                    "remedy": "give fewer channels or a shorter training part",
                }
            finally:
                worker.stop()
        if not isinstance(message, Lost):
            return dict(message)
        if message.output:  # what a process that died had to say is in the log already
            log.error("the fit of %s: %s", fit.name, message.output)
        return {
            "problem": f"the fit's process ended with code {worker.process.exitcode}",
            "remedy": "give fewer rows or channels; see the service's log",
        }

    def _job(self, fit: Fit) -> dict[str, Any]:
        name, pretrained = fit.request["series"], self.settings.pretrained
        return {
            "data": str((self.series.existing(name) / DATA).absolute()),
            "options": self.series.facts(name).options,
            "request": fit.request,
            "feedback": self.models.feedback(fit.name).to_list(),
            "estimator": dict(self.settings.estimator),
            "pretrained": None if pretrained is None else str(pretrained.absolute()),
            "out": str(fit.out.absolute()),
            "niceness": self.settings.fit_niceness,
        }

    def _conclude(self, fit: Fit) -> None:
        # Finished is what has its folder, also when it was cancelled a moment later.
        if fit.out.is_dir():
            self._settle(fit, "fitted")
        elif fit.task.cancelled():
            outcome = "stopped" if fit.cancelled == STOPPED else "cancelled"
            self._settle(fit, outcome, fit.cancelled, "fit again")
        elif error := fit.task.exception():
            log.error("the fit of %s", fit.name, exc_info=error)
            self._settle(fit, "failed", "the fit could not be run", "see the service's log")
        else:
            self._settle(fit, "failed", **fit.task.result())

    def _settle(self, fit: Fit, outcome: str, problem: str = "", remedy: str = "") -> None:
        """Write the outcome down, and let go of the fit."""
        try:
            if problem:
                self.models.fail(fit.name, problem, remedy)
            else:
                self.models.commit(fit.name)
        except (CapsError, OSError) as error:
            log.exception("the outcome of the fit of %s could not be written", fit.name)
            if not problem:
                problem, remedy = f"the fit could not be put in force ({error})", AGAIN
            self.untold[fit.name], outcome = (problem, remedy), "failed"
        finally:
            self.active.pop(fit.name, None)
            self.monitor.fits.labels(outcome).inc()


async def _next(worker: Worker) -> Any:
    """What it sends next, without keeping requests waiting."""
    loop, readable, pipe = asyncio.get_running_loop(), asyncio.Event(), worker.connection.fileno()
    loop.add_reader(pipe, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(pipe)
    return worker.receive()
