"""The same cells as tasks of a Ray cluster (extra `ray`)."""

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from caps.bench.cells import Record, failed_record, write_cell
from caps.bench.execution import run_cell
from caps.bench.workers import ONE_THREAD, Task, Work
from caps.errors import InputError

TICK = 1.0  # seconds between looks at the limits


def run_on_ray(tasks: Iterable[Task], work: Work, jobs: int) -> Iterator[tuple[Task, Record]]:
    """Compute every task, at most `jobs` at a time; results are written here, not by the nodes.

    The nodes read the data by its path, so it must lie on storage that all of them see.
    """
    ray, is_ours = _connected(jobs)
    remote = ray.remote(num_cpus=1, max_retries=0, runtime_env={"env_vars": ONE_THREAD})(run_cell)
    waiting, running = deque(tasks), dict[Any, tuple[Task, float]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                handle = remote.remote(task.cell, task.file, work.make)
                running[handle] = task, time.monotonic()
            ended, _ = ray.wait(list(running), timeout=TICK)
            for handle in ended:
                task, began = running.pop(handle)
                yield task, _received(ray, handle, task, work, began)
            for handle, (task, began) in list(running.items()):
                if time.monotonic() - began > 60 * work.minutes:
                    ray.cancel(handle, force=True)
                    del running[handle]
                    problem = f"not done after {work.minutes:g} minutes"
                    yield task, _lost(task, work, "timeout", problem, began)
    finally:
        for handle in running:
            ray.cancel(handle, force=True)
        if is_ours:
            ray.shutdown()


def _connected(jobs: int) -> tuple[Any, bool]:
    """Ray, and whether the connection is ours to end.

    A connection that is there is used; else the cluster that RAY_ADDRESS names; else one on this
    machine.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError("Ray is not installed", "pip install 'caps-tsad[ray]'") from None
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if "RAY_ADDRESS" not in os.environ:
        options |= {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    try:
        ray.init(**options)
    except Exception as error:  # Ray raises many kinds here, and Exception itself when it is slow
        raise InputError(
            f"Ray did not start or answer ({error})",
            "try again, start a cluster and set RAY_ADDRESS, or use --engine local",
        ) from None
    return ray, True


def _received(ray: Any, handle: Any, task: Task, work: Work, began: float) -> Record:
    try:
        record, scores = ray.get(handle)
    except Exception as error:  # a worker that crashed; Ray has many errors for it
        return _lost(task, work, "crash", f"{type(error).__name__}: {error}", began)
    write_cell(work.out, task.cell, record, scores if work.save_scores else None)
    return dict(record)


def _lost(task: Task, work: Work, kind: str, problem: str, began: float) -> Record:
    facts = {"seconds": {"lost": time.monotonic() - began}}
    record = failed_record(task.cell, kind, problem, "", facts)
    write_cell(work.out, task.cell, record)
    return record
