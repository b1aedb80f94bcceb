"""Work of numpy in as many threads as the process is granted."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from caps.jobs import cores, single_products

Job = TypeVar("Job")
Made = TypeVar("Made")


def granted() -> int:
    """Threads that this process may use: its processors, or fewer by OMP_NUM_THREADS."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores(), int(asked)) if asked.isdigit() and int(asked) else cores()


def in_threads(work: Callable[[Job], Made], jobs: Sequence[Job]) -> Iterator[Made]:
    """What `work` makes of each job, in their order."""
    threads = min(granted(), len(jobs))
    if threads < 2:
        yield from map(work, jobs)
        return
    # Matrix products in one thread each: two in two threads would wait for each other.
    with single_products(), ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)
