"""`caps pretrain`: killed, out of time, resumed, refused, in two processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import held_pretrain
import pytest

from caps.artifacts import read_manifest
from caps.cli.main import main
from caps.realize import Pretrained
from patience import PATIENCE, wait_until

COMMAND = ("pretrain", "--preset", "tiny", "--workers", "1")
SHORT = ("--pairs", "48", "--steps", "2")
GROUPS = 9  # representation, router, codes, 3 experts, 3 priors


@pytest.fixture(autouse=True)
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks on fewer unseen pairs than a real run's; other processes keep the real number."""
    monkeypatch.setattr("caps.realize.pretrain.CHECKED", 240)


def run(*options: object) -> int:
    """Run the command in this process and give its exit code."""
    try:
        main([*COMMAND, *map(str, options)])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def start(*command: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=pipe, stderr=pipe, text=True, env=os.environ
    )


def manifest(folder: Path) -> dict[str, Any]:
    return read_manifest(folder, kind="caps.pretrained", version=1)


def newest_step(stage: Path) -> int:
    return max((int(path.name[5:]) for path in stage.glob("step-*")), default=0)


def kill_in(stage: str, out: Path, *options: object) -> None:
    """Start or resume the run and kill it as soon as the stage has made a few steps."""
    folder = out.with_name(f"{out.name}-work") / stage
    before = newest_step(folder)
    with start(held_pretrain.__file__, stage, *COMMAND, "--out", out, *options) as process:
        wait_until(
            lambda: process.poll() is not None or newest_step(folder) >= before + 3,
            f"three steps of {stage}",
        )
        process.kill()
    assert process.returncode == -signal.SIGKILL, "the run ended by itself"
    assert 3 <= newest_step(folder) - before <= held_pretrain.STEPS
    assert not out.exists()


@pytest.mark.slow
def test_a_run_killed_in_every_stage_ends_in_the_same_bits_as_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--out", tmp_path / "whole", "--json") == 0
    checks = json.loads(capsys.readouterr().out)
    killed = tmp_path / "killed"
    kill_in("representation", killed)
    kill_in("expert-periodic", killed, "--resume")
    kill_in("router", killed, "--resume")
    assert run("--out", killed, "--resume", "--json") == 0
    printed = capsys.readouterr()
    assert "simulating" not in printed.err, "the pairs of the first sitting are read back"
    first, second = manifest(tmp_path / "whole"), manifest(killed)
    assert second["sha256"] == first["sha256"]
    assert len(first["sha256"]) == GROUPS
    assert second["checks"] == first["checks"] == checks == json.loads(printed.out)
    for stage, facts in first["stages"].items():
        assert second["stages"][stage]["curves"] == facts["curves"]


@pytest.mark.slow
def test_when_time_is_up_the_command_says_how_to_go_on_and_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my run"
    assert run("--out", out, *SHORT, "--seed", "3", "--minutes", "0.0001") == 0
    printed = capsys.readouterr()
    assert "time is up" in printed.err
    assert "--resume" in printed.err
    assert printed.out == ""
    assert not out.exists()
    assert run("--out", out, *SHORT, "--seed", "3", "--resume") == 0
    printed = capsys.readouterr()
    assert f"written to {out}" in printed.err
    assert "router accuracy" in printed.out
    assert [mode.name for mode in Pretrained.load(out).modes] == ["point", "periodic", "trend"]
    before = manifest(out)
    assert run("--out", out, *SHORT, "--seed", "3") == 2
    assert "holds a pretraining already" in capsys.readouterr().err
    assert run("--out", out, *SHORT, "--seed", "4", "--resume") == 2
    assert "other settings" in capsys.readouterr().err
    assert manifest(out) == before


def test_a_run_out_of_time_asks_for_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--out", tmp_path / "run", *SHORT, "--seed", "3", "--minutes", "0.0001")
    assert "the same command and --resume" in capsys.readouterr().err


def test_the_sizes_are_shown_beside_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    run("--out", tmp_path / "run", *SHORT, "--minutes", "0.0001")
    rows = [line.split("│") for line in capsys.readouterr().err.splitlines() if "│" in line]
    table = {row[1].strip(): (row[2].strip(), row[3].strip()) for row in rows}
    assert table["latent dimensions"] == ("z_s 128, z_a 48", "z_s 128, z_a 48")
    assert table["simulated pairs"] == ("48,000", "48")
    assert table["U-Net"] == (
        "channels (64, 128, 256, 256), patch 1",
        "channels (16, 24), patch 8",
    )


@pytest.mark.slow
def test_two_processes_pretrain_together(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ("--out", out, *SHORT, "--check-pairs", "60", "--devices", "2", "--json")
    with start("-m", "caps.cli.main", *COMMAND, *options) as both:
        printed, said = both.communicate(timeout=PATIENCE)
    assert both.returncode == 0, said
    assert json.loads(printed) == manifest(out)["checks"], "printed by one process only"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run-work"}
    assert [stage["steps"] for stage in manifest(out)["stages"].values()] == [2] * 5
    assert len(manifest(out)["sha256"]) == GROUPS
    (checkpoint,) = (tmp_path / "run-work" / "representation").iterdir()
    settings = read_manifest(checkpoint, kind="training checkpoint", version=1)["configuration"]
    assert settings["number of processes"] == 2


def test_settings_that_cannot_be_used_are_refused_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--out", tmp_path / "run", "--steps", "0") == 2
    assert "steps is 0" in capsys.readouterr().err
    assert run("--out", tmp_path / "run", "--without", "everything") == 2
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [["--pairs", "2"], ["--pairs", "48", "--clusters=-1"], ["--pairs", "48", "--seed=-1"]],
    ids=" ".join,
)
def test_settings_that_no_run_can_use_are_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert run("--out", tmp_path / "run", "--steps", "2", *options) == 2
    assert "fix:" in capsys.readouterr().err
    assert not (tmp_path / "run-work" / "representation").exists()
