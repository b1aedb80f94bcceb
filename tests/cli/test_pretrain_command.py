"""`caps pretrain` as a process: killed, out of time, resumed, refused, in two processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from caps.artifacts import read_manifest
from caps.realize import Pretrained

COMMAND = [sys.executable, "-m", "caps.cli.main", "pretrain", "--preset", "tiny"]
SHORT = ["--pairs", "48", "--steps", "2", "--workers", "1"]
# One thread in every process: the bits depend on it.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def pretrain(*options: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, env=ENVIRONMENT)


def manifest(folder: Path) -> dict[str, Any]:
    return read_manifest(folder, kind="caps.pretrained", version=1)


def newest_step(stage: Path) -> int:
    return max((int(path.name[5:]) for path in stage.glob("step-*")), default=0)


def kill_in(stage: str, out: Path, *options: object) -> None:
    """Start or resume the run and kill it as soon as the stage has made a few steps."""
    folder = out.with_name(f"{out.name}-work") / stage
    command = [*COMMAND, "--out", out, "--workers", "1", *options]
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    ) as process:
        deadline = time.monotonic() + 900
        while newest_step(folder) < 3:
            assert process.poll() is None, "the run ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert 3 <= newest_step(folder) < (20 if stage.startswith("expert") else 30)
    assert not out.exists()


@pytest.mark.slow
def test_a_run_killed_in_every_stage_ends_in_the_same_bits_as_one_that_was_not(
    tmp_path: Path,
) -> None:
    whole = pretrain("--out", tmp_path / "whole", "--json")
    assert whole.returncode == 0, whole.stderr
    checks = json.loads(whole.stdout)
    killed = tmp_path / "killed"
    kill_in("representation", killed)
    kill_in("expert-periodic", killed, "--resume")
    kill_in("router", killed, "--resume")
    resumed = pretrain("--out", killed, "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert "simulating" not in resumed.stderr, "the pairs of the first sitting are read back"
    first, second = manifest(tmp_path / "whole"), manifest(killed)
    assert second["sha256"] == first["sha256"]
    assert len(first["sha256"]) == 9  # representation, router, codes, 3 experts, 3 priors
    assert second["checks"] == first["checks"] == checks == json.loads(resumed.stdout)
    for stage, facts in first["stages"].items():
        assert second["stages"][stage]["curves"] == facts["curves"]


@pytest.mark.slow
def test_when_time_is_up_the_command_says_how_to_go_on_and_that_works(tmp_path: Path) -> None:
    out = tmp_path / "my run"
    stopped = pretrain("--out", out, *SHORT, "--seed", "3", "--minutes", "0.0001")
    assert stopped.returncode == 0, stopped.stderr
    assert "time is up" in stopped.stderr
    assert "--resume" in stopped.stderr
    assert stopped.stdout == ""
    assert not out.exists()
    resumed = pretrain("--out", out, *SHORT, "--seed", "3", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert f"written to {out}" in " ".join(resumed.stderr.split())
    assert "router accuracy" in resumed.stdout
    assert [mode.name for mode in Pretrained.load(out).modes] == ["point", "periodic", "trend"]
    again = pretrain("--out", out, *SHORT, "--seed", "3")
    assert again.returncode == 2
    assert "holds a pretraining already" in again.stderr
    assert "--resume" in again.stderr
    other = pretrain("--out", out, *SHORT, "--seed", "4", "--resume")
    assert other.returncode == 2
    assert "other settings" in other.stderr


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="the message leaves out --pairs, --steps, --seed, ...")
def test_the_command_to_go_on_is_complete(tmp_path: Path) -> None:
    stopped = pretrain("--out", tmp_path / "run", *SHORT, "--seed", "3", "--minutes", "0.0001")
    line = next(line for line in stopped.stderr.splitlines() if "--resume" in line)
    for option in ("--pairs 48", "--steps 2", "--seed 3"):
        assert option in line


@pytest.mark.slow
def test_two_processes_pretrain_together(tmp_path: Path) -> None:
    out = tmp_path / "run"
    both = pretrain("--out", out, *SHORT, "--devices", "2", "--json")
    assert both.returncode == 0, both.stderr
    json.loads(both.stdout)  # printed once
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run-work"}
    stages = manifest(out)["stages"]
    assert [stage["steps"] for stage in stages.values()] == [2] * 5
    pretrained = Pretrained.load(out)
    assert len(pretrained.modes) == 3
    alone = pretrain("--out", out, *SHORT, "--resume")
    assert alone.returncode == 2
    assert "number of processes" in alone.stderr


def test_settings_that_cannot_be_used_are_refused_with_a_remedy(tmp_path: Path) -> None:
    refused = pretrain("--out", tmp_path / "run", "--steps", "0")
    assert refused.returncode == 2
    assert "steps is 0" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="found out after training, with a traceback or a warning")
@pytest.mark.parametrize(
    "options", [["--pairs", "2"], ["--clusters", "-1"], ["--seed", "-1"]], ids=" ".join
)
def test_settings_that_no_run_can_use_are_refused_before_training(
    tmp_path: Path, options: list[str]
) -> None:
    refused = pretrain("--out", tmp_path / "run", *SHORT, *options)
    assert refused.returncode == 2
    assert "fix:" in refused.stderr
    assert not (tmp_path / "run-work" / "representation").exists()
