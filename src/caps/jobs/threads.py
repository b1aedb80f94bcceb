"""How many threads numpy and torch take: told before they are imported, or while they run."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any, TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")

# Idle OpenMP threads that spin slow everything down many times on a shared machine.
CALM = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
ONE_THREAD = {
    name: "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
} | CALM


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_default_threads(values: Mapping[str, str] = CALM) -> None:
    """Set what the user has not, for libraries that are imported after this."""
    for name, value in values.items():
        os.environ.setdefault(name, value)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """What a process that is started now will find."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch in one thread: small steps are no faster in two, and far slower on a busy machine."""
    import torch  # a second of start-up that who only starts processes need not wait for

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def single_products() -> AbstractContextManager[Any]:
    """Matrix products of numpy in one thread each, from now until the end of the context."""
    controller = _products()
    if controller is None:
        return nullcontext()
    limits: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limits


@cache
def _products() -> Any:
    """Who tells the libraries behind numpy their threads; looking for them takes milliseconds."""
    try:
        from threadpoolctl import ThreadpoolController  # 0.01 s; comes with scikit-learn
    except ImportError:
        return None
    return ThreadpoolController()


def granted() -> int:
    """Threads that this process may use: its processors, or fewer by OMP_NUM_THREADS."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores(), int(asked)) if asked.isdigit() and int(asked) else cores()


def in_threads(work: Callable[[Job], Made], jobs: Sequence[Job]) -> Iterator[Made]:
    """What `work` makes of each job, in their order."""
    return _in_pool(work, jobs, granted())


def in_torch_threads(
    work: Callable[[Job], Made], jobs: Sequence[Job], stop: Callable[[], None] | None = None
) -> Iterator[Made]:
    """What `work` makes of each job, in their order, as many at a time as torch has threads.

    Torch takes one thread for each, so that the same bits come out whatever their number. `stop`
    is called when a job has failed or the user has had enough, to end those that run.
    """
    import torch  # a second of start-up, as above

    threads = torch.get_num_threads()
    with one_thread():
        # A new thread does not know the limit: its first convolution would take all processors.
        yield from _in_pool(work, jobs, threads, partial(torch.set_num_threads, 1), stop)


def _in_pool(
    work: Callable[[Job], Made],
    jobs: Sequence[Job],
    threads: int,
    begin: Callable[[], object] | None = None,
    stop: Callable[[], None] | None = None,
) -> Iterator[Made]:
    threads = min(threads, len(jobs))
    if threads < 2:
        yield from map(work, jobs)
        return
    # Matrix products in one thread each: two in two threads would wait for each other.
    with single_products(), ThreadPoolExecutor(threads, initializer=begin) as pool:
        try:
            yield from pool.map(work, jobs)
        except BaseException:
            if stop is not None:
                stop()  # now: the pool waits for its threads
            raise
