"""The examples of the page on fleets run, and its tables name what there is."""

import inspect
import re
from pathlib import Path

import pytest
from small_fleet import Fleet, InlineEngine

from caps.cli.fleet import Running, fit, refit, score
from caps.fleet.tables import COLUMNS
from caps.scoring import FitOptions

PAGE = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")


def test_the_examples_in_python_run_on_a_fleet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fleet: Fleet, settings: FitOptions
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("caps.scoring.FitOptions", lambda **_: settings)
    monkeypatch.setattr("caps.fleet.fleet.open_engine", lambda *_, **__: InlineEngine())
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "bad.csv").write_text("time,load\n")
    results, from_python = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(from_python, names)
    assert [each["series"] for each in names["result"].failures] == ["bad"]
    exec(results.replace("fleet/", f"{fleet.out}/"), names)
    assert set(names["worst"]["series"]) <= {fleet.result.series[0]["series"]}
    assert list(names["events"]) == list(COLUMNS["events"])


def test_the_options_named_are_those_of_the_commands() -> None:
    named = {
        name.removeprefix("--").replace("-", "_") for name in re.findall(r"--[a-z][a-z-]*", PAGE)
    }
    options = {
        name
        for takes in (fit, refit, score, Running)
        for name in inspect.signature(takes).parameters
    }
    options.add("config")  # called otherwise in Python, where a fit has a `config`
    assert {name for name in named if name not in ("series", "small", "json")} <= options


def test_the_columns_named_are_those_of_the_files() -> None:
    for kind in ("scores", "events"):
        (line,) = re.findall(rf"`{kind}/ID.parquet` \| (.*?) \|", PAGE)
        named = re.findall(r"\w+", line.replace("their rows", "").replace("of every row", ""))
        assert set(named) <= set(COLUMNS[kind])
