import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import small_stage as small

from patience import PATIENCE, wait_until

PROGRAM = Path(small.__file__)


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, PROGRAM, folder, "--devices", "2", *options])


def results(out: Path) -> tuple[list[dict[str, np.ndarray]], list[dict[str, object]]]:
    weights = [dict(np.load(out / f"rank-{rank}.npz")) for rank in range(2)]
    return weights, [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stage that two processes trained without a stop, each with a folder of its own."""
    folder = tmp_path_factory.mktemp("whole")
    with start(folder / "RANK", "--out", str(folder / "out")) as process:
        assert process.wait(PATIENCE) == 0
    return folder


@pytest.mark.slow
def test_two_processes_train_one_stage(whole: Path) -> None:
    weights, reports = results(whole / "out")
    for name, array in weights[0].items():
        assert array.tobytes() == weights[1][name].tobytes(), name
    assert [report["processes"] for report in reports] == [2, 2]
    assert reports[0]["curves"] == reports[1]["curves"]
    assert not set(reports[0]["seen"]) & set(reports[1]["seen"]), "both saw the same batch"
    losses = reports[0]["curves"]["loss"]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    assert (whole / "rank-0" / "small").is_dir()
    assert not (whole / "rank-1").exists(), "only the first process writes"


@pytest.mark.slow
def test_two_processes_stop_together_and_resume_exactly(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    with start(folder, "--hold", "10") as process:
        wait_until(lambda: process.poll() is not None or small.newest_step(folder) >= 10, "step 10")
        process.terminate()
        (folder / "go").touch()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    (checkpoint,) = (folder / "small").iterdir()
    assert 10 <= int(checkpoint.name[5:]) < small.SCHEDULE.steps
    with start(folder, "--resume", "--out", str(tmp_path / "resumed-out")) as process:
        assert process.wait(PATIENCE) == 0
    expected, reports = results(whole / "out")
    resumed, resumed_reports = results(tmp_path / "resumed-out")
    for rank in range(2):
        for name, array in expected[rank].items():
            assert array.tobytes() == resumed[rank][name].tobytes(), name
        assert reports[rank]["curves"] == resumed_reports[rank]["curves"]
