"""Workers end when the process that started them is killed."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE

A_RUN = """
import sys
from small_jobs import waiting
from caps.jobs import ProcessEngine, run_tasks

if __name__ == "__main__":
    with ProcessEngine(2) as engine:
        list(run_tasks([sys.argv[1]] * 2, waiting, engine))
"""
A_SIMULATION = """
import sys
from small_jobs import waiting
from caps.simulate import simulator

def block(index):
    waiting(sys.argv[1])

if __name__ == "__main__":
    list(simulator._simulated(block, range(2), 2))
"""


@pytest.mark.parametrize("script", [A_RUN, A_SIMULATION], ids=["run", "simulate"])
def test_the_workers_of_a_killed_process_end(tmp_path: Path, script: str) -> None:
    (tmp_path / "script.py").write_text(script)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    paths = os.pathsep.join([*(path for path in sys.path if path), str(Path(__file__).parent)])
    with (
        subprocess.Popen(
            [sys.executable, str(tmp_path / "script.py"), str(fifo)],
            env={**os.environ, "PYTHONPATH": paths},
        ) as process,
        fifo.open() as stream,
    ):
        workers = [int(stream.readline()) for _ in range(2)]
        process.kill()
        # Every worker holds the other end: it closes when the last of them is gone.
        closed, _, _ = select.select([stream], [], [], PATIENCE)
        if not closed:
            for worker in workers:
                os.kill(worker, 9)
        assert closed
        assert stream.read() == ""
