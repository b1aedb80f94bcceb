"""One worker alone: it reports, has one thread and no more than the environment it needs."""

import os

import pytest
import small_jobs

from caps.jobs import ONE_THREAD, Report, Worker, printed, report


def messages(worker: Worker) -> list[object]:
    """All reports, then the result."""
    found = [worker.receive()]
    while isinstance(found[-1], Report):
        found.append(worker.receive())
    return found


def test_a_worker_reports_every_stage_and_no_stage_too_often() -> None:
    worker = Worker()
    try:
        worker.give(small_jobs.telling, "a")
        *reports, result = messages(worker)
    finally:
        worker.stop()
    assert result == "a"
    assert reports[:2] == [Report("starting", 0.0), Report("reading", 0.0)]
    assert 0 < len(reports[2:]) < 500
    assert {each.text for each in reports[2:] if isinstance(each, Report)} == {"counting"}


def test_a_worker_finds_one_thread_and_this_process_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    worker = Worker()
    try:
        worker.give(small_jobs.environment_of, list(ONE_THREAD))
        assert messages(worker)[-1] == ONE_THREAD
    finally:
        worker.stop()
        worker.stop()  # twice is no harm
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_outside_of_workers_nobody_is_told() -> None:
    report("reading", 0.5)
    assert printed() == ""
