"""The page on feedback, planned events and versions: its examples run, its numbers are true."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps.cli.main import app, main
from caps.events import LikenessConfig
from caps.planned import Planned
from caps.store import KEEP

PAGE = (Path(__file__).parents[1] / "docs" / "fresh.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "fresh.md", "exec"), {})
    dry, dismissed, confirmed = re.split(r"\n(?= +start)", capsys.readouterr().out)
    assert dry.startswith("3 alarms lost, 0 gained, 1 kept")
    assert (dismissed.count("False"), dismissed.count("f1")) == (3, 3)
    assert "False" not in confirmed
    assert confirmed.count("disk full") == 1
    assert (tmp_path / "model" / "manifest.json").is_file()


def test_the_planned_events_are_read() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    planned = Planned.from_dict(tomllib.loads(text))
    assert [each.name for each in planned.entries] == ["release 4.2", "nightly backup", "holidays"]


def test_every_command_shown_is_understood() -> None:
    shown = re.findall(r"^(caps .*?)(?:  +#.*)?$", PAGE, re.MULTILINE)
    assert len(shown) == 15
    for line in shown:
        app.parse_args(shlex.split(line)[1:], print_error=False, exit_on_error=False)


def test_the_commands_of_versions_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _daily(0).to_csv("history.csv", index=False)
    _daily(600).to_csv("recent.csv", index=False)
    for folder, begin in (("past", 0), ("recent", 600)):
        Path(folder).mkdir()
        for name in ("db-1", "db-2"):
            _daily(begin).to_csv(f"{folder}/{name}.csv", index=False)
    assert _run("caps fit history.csv --out model/") == 0
    assert _run("caps fleet fit past/ --out fleet/") == 0
    (block,) = re.findall(r"```\n(caps model refit .*?)```", PAGE, re.DOTALL)
    commands = [line.split("  #")[0].strip() for line in block.splitlines()]
    commands.remove("caps fleet refit --config caps.toml")  # has a test with a source of its own
    capsys.readouterr()
    for command in commands:
        assert _run(command) == 0, command
    out = " ".join(capsys.readouterr().out.split())
    for said in (
        "v2 is in force",
        "v1 is in force again",
        "no refit is due",
        "rolled back v1",
        "0 of 2 models fitted again",
        "db-2: as it was",
    ):
        assert said in out


def _daily(begin: int, rows: int = 600) -> pd.DataFrame:
    positions = np.arange(begin, begin + rows)
    noise = np.random.default_rng(begin).standard_normal(rows)
    times = pd.date_range("2026-01-01", periods=begin + rows, freq="h")[begin:]
    return pd.DataFrame({"time": times, "value": np.sin(positions * np.pi / 12) + noise / 10})


def _run(command: str) -> int | str | None:
    """What the command exits with."""
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    return ended.value.code


def test_numbers_are_those_of_the_code() -> None:
    config = LikenessConfig()
    assert f"{config.far:g} times as far as its own recurrences" in PROSE
    assert f"or {config.share:g} of what the event did" in PROSE
    assert f"last {config.shortest:g} to {config.lasting:g} times as long" in PROSE
    assert f"more than {config.rows:,} rows cannot be judged" in PROSE
    assert f"`--keep` ({KEEP}) versions" in PROSE
