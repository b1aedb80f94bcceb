"""Retries are bounded, bad input is not retried, and a death is blamed on the right series."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_fleet import InlineEngine, bare_entry, deadly_job

from caps.errors import InputError
from caps.fleet import LocalEngine
from caps.fleet.engines import Ended, Lost
from caps.fleet.jobs import Outcome, Task
from caps.fleet.running import run
from caps.scoring import FitOptions


def tasks(*ids: str) -> list[Task]:
    return [Task(bare_entry(id), FitOptions(), Path("unused")) for id in ids]


class Scripted(InlineEngine):
    """Answers each attempt on a series by what `answer` says."""

    def __init__(self, answer: Callable[[str, int], Outcome | Lost]) -> None:
        super().__init__()
        self.answer = answer

    def collect(self) -> Ended:
        task = self.waiting.pop(0)
        self.worked.append(task.entry.id)
        return [(task, self.answer(task.entry.id, self.worked.count(task.entry.id)))]


def outcomes(engine: InlineEngine | LocalEngine, ids: list[str], retries: int) -> dict[str, tuple]:
    found: dict[str, tuple] = {}

    def ended(outcome: Outcome, attempts: int) -> None:
        assert outcome.id not in found
        found[outcome.id] = (outcome.status, attempts, outcome.reason)

    with engine:
        run(tasks(*ids), engine, retries=retries, ended=ended)
    return found


def test_a_failure_is_tried_again_at_most_so_many_times() -> None:
    engine = Scripted(lambda id, attempt: Outcome(id, "failed", reason="disk full"))
    assert outcomes(engine, ["a"], retries=2) == {"a": ("failed", 3, "disk full")}
    assert engine.worked == ["a", "a", "a"]


def test_a_series_that_succeeds_in_the_end_is_done() -> None:
    engine = Scripted(lambda id, attempt: Outcome(id, "done" if attempt == 2 else "failed"))
    assert outcomes(engine, ["a", "b"], retries=1) == {"a": ("done", 2, ""), "b": ("done", 2, "")}


def test_bad_input_is_not_tried_again() -> None:
    engine = Scripted(lambda id, attempt: Outcome(id, "refused", reason="empty"))
    assert outcomes(engine, ["a"], retries=5) == {"a": ("refused", 1, "empty")}


def test_what_a_dead_node_worked_on_is_worked_on_elsewhere() -> None:
    engine = Scripted(lambda id, attempt: Lost("gone") if attempt == 1 else Outcome(id, "done"))
    found = outcomes(engine, ["a", "b", "c"], retries=1)
    assert {id: told[0] for id, told in found.items()} == {"a": "done", "b": "done", "c": "done"}


def test_negative_retries_name_the_remedy() -> None:
    with pytest.raises(InputError, match="0 or more"):
        outcomes(Scripted(lambda id, attempt: Outcome(id, "done")), ["a"], retries=-1)


def test_only_the_series_that_kills_its_process_fails() -> None:
    ids = ["deadly", *(f"fine-{number}" for number in range(4))]
    found = outcomes(LocalEngine(2, job=deadly_job), ids, retries=0)
    assert set(found) == set(ids)
    assert [id for id, told in found.items() if told[0] != "done"] == ["deadly"]
    assert "died" in found["deadly"][2]
