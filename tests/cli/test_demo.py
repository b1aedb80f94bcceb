"""`caps demo` writes what it says, judges itself by its incidents, and its files evaluate alike."""

import json
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ran_command import run

from caps.cli.demo import demo
from caps.cli.main import main
from caps.series import read
from caps.simulate.telemetry import month_of_telemetry


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo writes."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module", autouse=True)
def facts(folder: Path) -> dict[str, Any]:
    """What the demo prints as JSON."""
    printed = StringIO()
    with redirect_stdout(printed):
        demo(out=folder, seed=4, json_output=True)
    return dict(json.loads(printed.getvalue()))


def test_the_file_holds_the_simulated_month(folder: Path) -> None:
    month = month_of_telemetry(4)
    frame = pd.read_csv(folder / "telemetry.csv")
    assert list(frame) == ["time", *month.metrics, "label"]
    assert np.array_equal(frame[list(month.metrics)], month.values, equal_nan=True)
    assert np.array_equal(frame["label"], month.labels)
    series = read(folder / "telemetry.csv", exclude="label")
    assert np.array_equal(series.time, month.time)


def test_it_writes_report_picture_scores_and_events(folder: Path) -> None:
    assert (folder / "overview.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir()) == [
        "events.csv",
        "manifest.json",
        "overview.png",
        "report.html",
        "scores.csv",
        "telemetry.csv",
    ]


def test_it_finds_the_incidents_and_says_what_had_happened(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = " ".join(run(capsys, "demo", "--out", str(tmp_path)).split())
    for incident in month_of_telemetry(0).incidents:
        assert incident.name in shown
    for text in ("2 gaps in time", "VUS-PR", "random", "report.html"):
        assert text in shown
    counts = re.search(r"(\d) of 5 incidents found, (\d+) false events?", shown)
    assert counts is not None
    assert int(counts[1]) >= 4
    assert int(counts[2]) <= 3
    assert "caps-tsad[plots]" in shown
    assert not (tmp_path / "overview.png").exists()


def test_json_equals_evaluating_the_written_scores(
    folder: Path, facts: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--score", "score", "--label", "label", "--window", "144", "--json"]
    evaluated = run(capsys, "evaluate", str(folder / "scores.csv"), *options)
    assert json.loads(evaluated) == facts["metrics"]
    assert all(Path(path).is_file() for path in facts["files"])
    check_judgement(facts)


def check_judgement(facts: dict[str, Any]) -> None:
    """Every event belongs to an incident or is a false one."""
    month = month_of_telemetry(4)
    events, incidents = facts["events"], facts["incidents"]
    true = set()
    for listed, incident in zip(incidents, month.incidents, strict=True):
        for number in listed["events"]:
            event = events[number - 1]
            assert np.datetime64(event["start"]) < incident.end
            assert np.datetime64(event["end"]) >= incident.start
            assert max(event["contributions"][metric] for metric in incident.metrics) >= 0.2
            true.add(number)
    assert facts["incidents_found"] == sum(bool(listed["events"]) for listed in incidents)
    assert sorted([*true, *facts["false_events"]]) == [event["event"] for event in events]


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [(["--out", "taken"], "a new or an empty folder"), (["--seed", "-1"], "positive")],
)
def test_unusable_options_name_the_remedy(
    arguments: list[str],
    remedy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    with pytest.raises(SystemExit) as stop:
        main(["demo", *arguments])
    assert stop.value.code == 2
    assert remedy in capsys.readouterr().err
