"""From tasks to results: keep every slot busy, try again what failed, at most so many times."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from caps.errors import InputError
from caps.jobs.engines import Engine
from caps.jobs.worker import Lost

Task = TypeVar("Task")
Result = TypeVar("Result")


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
