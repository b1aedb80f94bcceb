"""Every task ends once, retries are bounded, and a death is blamed on the right task."""

from collections.abc import Callable
from typing import Any, Self

import pytest
import small_jobs

from caps.errors import InputError
from caps.jobs import Lost, ProcessEngine, open_engine, run_tasks


class Scripted:
    """An engine of this process that notes what was tried."""

    slots = 2

    def __init__(self) -> None:
        self.ended: list[tuple[Any, Any]] = []
        self.tried: list[str] = []

    def submit(self, function: Callable[[Any], Any], task: Any) -> None:
        assert len(self.ended) < self.slots
        self.tried.append(task)
        self.ended.append((task, function((task, self.tried.count(task)))))

    def collect(self) -> list[tuple[Any, Any]]:
        return [self.ended.pop(0)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


def results(tasks: list[str], function: Callable[[Any], Any], **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for task, result, attempts in run_tasks(tasks, function, Scripted(), **options):
        assert task not in found
        found[task] = result, attempts
    return found


def in_processes(tasks: list[str], function: Callable[[Any], Any], **options: Any) -> Any:
    with ProcessEngine(2, **options) as engine:
        return {task: result for task, result, _ in run_tasks(tasks, function, engine)}


def test_a_failure_is_tried_again_at_most_so_many_times() -> None:
    lost = Lost("crash", "disk full")
    assert results(["a", "b"], lambda given: lost, retries=2) == {"a": (lost, 3), "b": (lost, 3)}


def test_a_task_that_succeeds_in_the_end_is_done() -> None:
    found = results(
        ["a", "b", "c"],
        lambda given: Lost("crash", "gone") if given[1] == 1 else given[0],
        retries=1,
    )
    assert found == {"a": ("a", 2), "b": ("b", 2), "c": ("c", 2)}


def test_what_counts_as_failed_is_the_callers_choice() -> None:
    answers = {"a": "refused", "b": "failed"}
    found = results(
        ["a", "b"], lambda given: answers[given[0]], retries=5, failed=lambda each: each == "failed"
    )
    assert found == {"a": ("refused", 1), "b": ("failed", 6)}


def test_numbers_that_make_no_sense_name_the_remedy() -> None:
    with pytest.raises(InputError, match="0 or more"):
        results(["a"], lambda given: given, retries=-1)
    with pytest.raises(InputError, match="1 or more"):
        ProcessEngine(0)
    with pytest.raises(InputError, match="--engine ray"):
        open_engine("local", ray_address="127.0.0.1:6379")


def test_only_the_task_that_kills_its_process_is_lost() -> None:
    fine = [f"fine-{number}" for number in range(4)]
    found = in_processes(["deadly", *fine], small_jobs.deadly)
    lost = found.pop("deadly")
    assert found == {task: f"{task} done" for task in fine}
    assert (lost.kind, lost.output) == ("crash", "last words")
    assert "ended with code -9" in lost.problem


def test_what_a_function_raises_prints_or_returns_stays_with_its_task() -> None:
    found = in_processes(["one", "raises", "exits", "odd result", "two"], small_jobs.odd)
    assert (found["one"], found["two"]) == ("one", "two")
    assert found["raises"].problem == "ZeroDivisionError: no luck today"
    assert 'raise ZeroDivisionError("no luck today")' in found["raises"].output
    assert (found["exits"].kind, found["exits"].problem) == ("error", "SystemExit: done with you")
    assert found["odd result"].kind == "crash"
    assert "pickle" in found["odd result"].output


def test_a_task_that_hangs_tells_where_when_its_time_is_up() -> None:
    found = in_processes(["a"], small_jobs.hanging, seconds=3)
    assert (found["a"].kind, found["a"].problem) == ("timeout", "not done after 0.05 minutes")
    assert "in hanging" in found["a"].output
