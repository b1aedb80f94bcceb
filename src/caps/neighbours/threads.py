"""Work of numpy in as many threads as the process is granted."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def granted() -> int:
    """Threads that this process may use: its processors, or fewer by OMP_NUM_THREADS."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(processors, int(asked)) if asked.isdigit() and int(asked) else processors


def in_threads(work: Callable[[Job], Made], jobs: Sequence[Job]) -> Iterator[Made]:
    """What `work` makes of each job, in their order."""
    threads = min(granted(), len(jobs))
    if threads < 2:
        yield from map(work, jobs)
        return
    with _single_products(), ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)


def _single_products() -> AbstractContextManager[Any]:
    """Matrix products in one thread each: two in two threads would wait for each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # where nothing is fitted, scikit-learn and what it brings may be missing
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits
