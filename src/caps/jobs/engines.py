"""From tasks to results, in processes of this machine or on a Ray cluster."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol, Self, TypeVar

from caps.errors import InputError
from caps.jobs.threads import ONE_THREAD, cores
from caps.jobs.worker import Lost, Report, Worker

Task = TypeVar("Task")
Result = TypeVar("Result")
EngineName = Literal["local", "ray"]
Function = Callable[[Any], Any]
Ended = list[tuple[Any, Any]]  # tasks with their results, or Lost

FOREVER = float("inf")
TICK = 1.0  # seconds between checks of the limits


class Engine(Protocol):
    """Takes tasks and hands their results back in the order they end."""

    @property
    def slots(self) -> int:
        """How many tasks are worked on at the same time."""

    def submit(self, function: Function, task: Any) -> None:
        """Begin with a task."""

    def collect(self) -> Ended:
        """Wait until something ended; everything that did."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class ProcessEngine:
    """Processes of this machine, one core each, kept for all tasks; `seconds` limits each task."""

    def __init__(self, workers: int | None = None, *, seconds: float = FOREVER) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"{workers} workers", "give 1 or more")
        self.slots, self.seconds = workers or cores(), seconds
        self.busy: dict[Worker, Any] = {}
        self.idle: list[Worker] = []
        self.ending, self.started = ExitStack(), 0

    def submit(self, function: Function, task: Any) -> None:
        if not self.idle:
            self.started += 1
            self.idle.append(Worker(self.folder / f"{self.started}.txt"))
            self.ending.callback(self.idle[0].stop)
        worker = self.idle.pop()
        self.busy[worker] = task
        worker.give(function, task)

    def collect(self) -> Ended:
        ended: Ended = []
        while not ended:
            ready = wait([worker.connection for worker in self.busy], timeout=TICK)
            for worker, task in list(self.busy.items()):
                if worker.connection in ready:
                    result = worker.receive()
                elif worker.left(self.seconds) <= 0:
                    result = worker.give_up(self.seconds)
                else:
                    continue
                if isinstance(result, Report):
                    continue
                del self.busy[worker]
                if worker.process.is_alive():
                    self.idle.append(worker)
                ended.append((task, result))
        return ended

    def __enter__(self) -> Self:
        self.folder = Path(self.ending.enter_context(TemporaryDirectory(prefix="caps-jobs-")))
        return self

    def __exit__(self, *error: object) -> None:
        self.ending.close()


class RayEngine:
    """A Ray cluster, or one that Ray starts on this machine; a connection that is there is used."""

    def __init__(
        self, address: str | None = None, workers: int | None = None, *, seconds: float = FOREVER
    ) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray  # an extra that few have, seconds to import
        except ImportError:
            raise InputError("Ray is not installed", "pip install 'caps-tsad[ray]'") from None
        self.ray: Any = ray
        self.most, self.seconds = workers, seconds
        self.is_ours = not ray.is_initialized()
        if self.is_ours:
            given: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
            if address is None:
                # Ray's workers give way to all else by default: on a busy machine, a standstill.
                os.environ.setdefault("RAY_worker_niceness", "0")
                address = "local"
                given |= {"num_cpus": workers or cores(), "include_dashboard": False}
            try:
                ray.init(address=address, **given)
            except Exception as error:  # of many kinds, and Exception itself when Ray is slow
                raise InputError(
                    f"no Ray cluster answers at {address} ({error})",
                    "start one with `ray start --head` and name it, leave Ray to start its own, or "
                    "use --engine local; from Ray 2.59 on a cluster may ask for a token: then set "
                    "RAY_AUTH_MODE=token here too",
                ) from None
        # A task that is lost with its node comes back here, to be counted and tried again.
        options = {"num_cpus": 1, "max_retries": 0, "runtime_env": {"env_vars": ONE_THREAD}}
        self.remote = ray.remote(**options)(lambda function, task: function(task))
        self.running: dict[Any, tuple[Any, float]] = {}

    @property
    def slots(self) -> int:
        """The cores of all nodes that are there now."""
        there = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        return there if self.most is None else min(there, self.most)

    def submit(self, function: Function, task: Any) -> None:
        self.running[self.remote.remote(function, task)] = task, time.monotonic()

    def collect(self) -> Ended:
        ended: Ended = []
        while not ended:
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=TICK)
            for handle, (task, began) in list(self.running.items()):
                seconds = time.monotonic() - began
                if handle in ready:
                    result = self._received(handle, seconds)
                elif seconds > self.seconds:
                    self.ray.cancel(handle, force=True)
                    problem = f"not done after {self.seconds / 60:g} minutes"
                    result = Lost("timeout", problem, seconds=seconds)
                else:
                    continue
                del self.running[handle]
                ended.append((task, result))
        return ended

    def _received(self, handle: Any, seconds: float) -> Any:
        try:
            return self.ray.get(handle)
        except self.ray.exceptions.RayTaskError as error:
            problem = f"{type(error.cause).__name__}: {error.cause}"
            return Lost("error", problem, str(error), seconds)
        except Exception as error:  # a worker or node that died; Ray has many errors for it
            return Lost("crash", f"{type(error).__name__}: {error}", seconds=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self.running:
            self.ray.cancel(handle, force=True)
        self.running.clear()
        if self.is_ours:
            self.ray.shutdown()


def open_engine(
    engine: EngineName | Engine,
    *,
    workers: int | None = None,
    seconds: float = FOREVER,
    ray_address: str | None = None,
) -> Engine:
    """The engine of that name, or the one that is given."""
    if not isinstance(engine, str):
        return engine
    if engine == "ray":
        return RayEngine(ray_address, workers, seconds=seconds)
    if ray_address is not None:
        raise InputError("--ray-address without Ray", "add --engine ray")
    return ProcessEngine(workers, seconds=seconds)


def run_tasks(
    tasks: Iterable[Task],
    function: Callable[[Task], Result],
    engine: Engine,
    *,
    retries: int = 0,
    failed: Callable[[Result | Lost], bool] = lambda result: isinstance(result, Lost),
) -> Iterator[tuple[Task, Result | Lost, int]]:
    """Each task with its result and how often it was tried, in the order they end.

    A task whose result has `failed` goes to the end of the line, `retries` times at most. What is
    finished is known by what the caller writes down of it, not here: stop at any time.
    """
    if retries < 0:
        raise InputError(f"{retries} retries", "give 0 or more")
    waiting, running = deque(tasks), 0
    tried: Counter[int] = Counter()
    while waiting or running:
        while waiting and running < engine.slots:
            engine.submit(function, waiting.popleft())
            running += 1
        for task, result in engine.collect():
            running -= 1
            tried[id(task)] += 1
            if failed(result) and tried[id(task)] <= retries:
                waiting.append(task)
            else:
                yield task, result, tried[id(task)]
