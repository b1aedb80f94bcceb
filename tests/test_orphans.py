"""Workers end when the process that started them is killed."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE = 120  # seconds on a machine that does other things; half a second is usual
FLEET = Path(__file__).parent / "fleet"

A_FLEET = """
from pathlib import Path
from small_fleet import bare_entry, waiting_job
from caps.fleet import LocalEngine
from caps.scoring import FitOptions
from caps.fleet.jobs import Task

if __name__ == "__main__":
    with LocalEngine(2, job=waiting_job) as engine:
        for id in "ab":
            engine.submit(Task(bare_entry(id), FitOptions(), Path("unused")))
        engine.collect()
"""
A_SIMULATION = """
import os, time
from caps.simulate import simulator

def waiting(index):
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(3600)

if __name__ == "__main__":
    list(simulator._simulated(waiting, range(2), 2))
"""


@pytest.mark.parametrize("script", [A_FLEET, A_SIMULATION], ids=["fleet", "simulate"])
def test_the_workers_of_a_killed_process_end(tmp_path: Path, script: str) -> None:
    (tmp_path / "script.py").write_text(script)
    paths = os.pathsep.join([*(path for path in sys.path if path), str(FLEET)])
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    ) as process:
        assert process.stdout is not None
        workers = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        # Every worker holds the other end: it closes when the last of them is gone.
        closed, _, _ = select.select([process.stdout], [], [], PATIENCE)
        if not closed:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        assert closed
        assert process.stdout.read() == b""
