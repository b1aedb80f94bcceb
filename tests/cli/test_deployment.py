"""For servers: units and a recipe whose commands exist, and a page whose example runs."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from caps.cli.main import app

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy").glob("*.service"))
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
RECIPE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_command_of_a_unit_is_understood(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=/opt/caps/bin/caps (.+)$", unit.read_text("utf-8"), re.M)
    command, bound, _ = app.parse_args(shlex.split(line))
    assert command.__name__ == unit.name.split("-")[1].split(".")[0].rstrip("@")
    assert len(bound.arguments) >= 4


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_no_fault(unit: Path, tmp_path: Path) -> None:
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    copy = tmp_path / unit.name
    text = unit.read_text("utf-8").replace("/opt/caps/bin/caps", sys.executable)
    copy.write_text(text, encoding="utf-8")
    found = subprocess.run(
        [systemd, "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    ours = [line for line in found.stderr.splitlines() if unit.name in line]
    assert (found.returncode, ours) == (0, [])


def test_the_container_starts_a_command_that_is_understood() -> None:
    (entry,), (given,) = (
        re.findall(rf"^{key} (\[.+\])$", RECIPE, re.M) for key in ("ENTRYPOINT", "CMD")
    )
    assert json.loads(entry) == ["caps"]
    command, bound, _ = app.parse_args(json.loads(given))
    assert command.__name__ == "serve"
    assert bound.arguments["host"] == "0.0.0.0"
    for copied in re.findall(r"^COPY (\S+)", RECIPE, re.M):
        assert (ROOT / copied).is_file()


def test_the_page_names_every_file() -> None:
    for file in (ROOT / "deploy").iterdir():
        assert f"`deploy/{file.name}`" in PAGE


def test_the_example_measures_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "deployment.md", "exec"), {})
    assert re.fullmatch(
        r"[\d.]+ ms a row: [\d,]+ series a core at one row a minute\n", capsys.readouterr().out
    )
