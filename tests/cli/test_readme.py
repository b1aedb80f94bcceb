"""What the README shows runs as printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from caps.cli.main import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_example_runs_and_finds_its_anomaly(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in example.splitlines() if line]) == 5
    outcome = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, cwd=tmp_path
    )
    assert outcome.stderr == ""
    said, event = outcome.stdout.strip().splitlines()
    assert said.startswith("1 event in 2,000 rows; learned from the first 1,000")
    assert event.startswith("2024-01-11 10:00"), "row 1500 of ten minutes each"


def test_the_commands_run_after_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^caps (.+)$", README, re.MULTILINE)
    assert len(commands) == 3
    for command in ["demo", *commands]:
        with pytest.raises(SystemExit) as stop:
            main(command.split())
        assert stop.value.code == 0, capsys.readouterr().err
