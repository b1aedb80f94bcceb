"""Where the work is done: processes of this machine, or a Ray cluster."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from caps.errors import InputError
from caps.fleet.jobs import Outcome, Task, work
from caps.orphans import end_with

EngineName = Literal["local", "ray"]
PATIENCE = 1.0  # seconds between looks at what a cluster has


@dataclass(frozen=True, slots=True)
class Lost:
    """The process or machine that worked on a series is gone."""

    reason: str


Ended = list[tuple[Task, Outcome | Lost]]


class Engine(Protocol):
    """Takes tasks and hands their outcomes back in the order they end."""

    # Whether the death of one process loses the tasks of others, so that blame is not known.
    shares_fate: bool

    @property
    def slots(self) -> int:
        """How many series are worked on at the same time."""

    def submit(self, task: Task) -> None:
        """Begin, or wait in line."""

    def collect(self) -> Ended:
        """Wait until something ended; everything that did."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class LocalEngine:
    """Processes of this machine, one core each, kept for all series."""

    shares_fate = True

    def __init__(self, workers: int | None = None, job: Callable[[Task], Outcome] = work) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"{workers} workers", "give 1 or more")
        self.slots = workers or _cores()
        self.job = job
        self.pool: ProcessPoolExecutor | None = None
        self.running: dict[Future[Outcome], Task] = {}

    def submit(self, task: Task) -> None:
        if self.pool is None:
            self.pool = ProcessPoolExecutor(
                self.slots,
                # A forked child would inherit the locks of torch's threads.
                multiprocessing.get_context("spawn"),
                initializer=end_with,
                initargs=(os.getpid(),),
            )
        try:
            self.running[self.pool.submit(self.job, task)] = task
        except BrokenProcessPool as error:
            broken: Future[Outcome] = Future()
            broken.set_exception(error)
            self.running[broken] = task

    def collect(self) -> Ended:
        ended, _ = wait(self.running, return_when=FIRST_COMPLETED)
        found: Ended = []
        for future in ended:
            task = self.running.pop(future)
            try:
                found.append((task, future.result()))
            except BrokenProcessPool:
                found.append((task, Lost("its process died (out of memory?)")))
        if any(isinstance(outcome, Lost) for _, outcome in found):
            found += [(task, Lost("a process beside it died")) for task in self.running.values()]
            self._stop()
        return found

    def _stop(self) -> None:
        self.running.clear()
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()


class RayEngine:
    """A Ray cluster, or one that Ray starts on this machine; the job is the local engine's."""

    shares_fate = False

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        job: Callable[[Task], Outcome] = work,
    ) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise InputError("Ray is not installed", "pip install 'caps-tsad[ray]'") from None
        self.ray: Any = ray
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is None:
            # Ray's workers give way to everything else by default: on a busy machine, a standstill.
            os.environ.setdefault("RAY_worker_niceness", "0")
            options |= {"num_cpus": workers or _cores(), "include_dashboard": False}
            options["address"] = "local"
        else:
            options["address"] = address
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"no Ray cluster answers at {address} ({error})",
                "start one with `ray start --head`, or leave out --ray-address; from Ray 2.59 on a "
                "cluster may ask for a token: then set RAY_AUTH_MODE=token here too",
            ) from None
        self.most = workers
        # A task that is lost with its node comes back here, to be counted and tried again.
        self.remote = ray.remote(num_cpus=1, max_retries=0)(job)
        self.running: dict[Any, Task] = {}

    @property
    def slots(self) -> int:
        """The cores of all nodes that are there now."""
        cores = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        return cores if self.most is None else min(cores, self.most)

    def submit(self, task: Task) -> None:
        self.running[self.remote.remote(task)] = task

    def collect(self) -> Ended:
        ended: list[Any] = []
        while not ended:
            ended, _ = self.ray.wait(list(self.running), num_returns=1, timeout=PATIENCE)
        found: Ended = []
        for reference in ended:
            task = self.running.pop(reference)
            try:
                found.append((task, self.ray.get(reference)))
            except self.ray.exceptions.RayTaskError as error:
                # The job itself never raises: it could not be loaded there.
                reason = f"the job does not run there: {error.cause}"
                found.append((task, Outcome(task.entry.id, "failed", reason=reason)))
            except self.ray.exceptions.RayError as error:
                found.append((task, Lost(f"its node or process died ({type(error).__name__})")))
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        self.running.clear()
        self.ray.shutdown()


def open_engine(
    name: EngineName, *, workers: int | None = None, ray_address: str | None = None
) -> Engine:
    """The engine of that name."""
    if name == "ray":
        return RayEngine(ray_address, workers)
    if ray_address is not None:
        raise InputError("--ray-address without Ray", "add --engine ray")
    return LocalEngine(workers)


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
