"""Tasks end on Ray as they do in processes of this machine."""

import os
import sys

import pytest
import small_jobs

from caps.jobs import ONE_THREAD, Lost, RayEngine, run_tasks


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_what_goes_wrong_on_ray_is_told_as_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    with RayEngine(workers=2) as engine:
        assert engine.slots == 2
        tasks = ["deadly", "fine"]
        found = {task: result for task, result, _ in run_tasks(tasks, small_jobs.deadly, engine)}
        assert found["fine"] == "fine done"
        assert isinstance(found["deadly"], Lost)
        assert found["deadly"].kind == "crash"
        ((_, raised, tried),) = run_tasks(["raises"], small_jobs.odd, engine, retries=1)
        assert isinstance(raised, Lost)
        assert (raised.kind, raised.problem) == ("error", "ZeroDivisionError: no luck today")
        assert tried == 2
        ((_, threads, _),) = run_tasks([list(ONE_THREAD)], small_jobs.environment_of, engine)
        assert threads == ONE_THREAD
        engine.seconds = 0.0
        ((_, late, _),) = run_tasks(["a"], small_jobs.hanging, engine)
        assert isinstance(late, Lost)
        assert late.kind == "timeout"
