"""`caps demo` writes what it says, calls its score a stand-in, and its files evaluate alike."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps.cli.demo import demo, stand_in_score
from caps.cli.main import main
from caps.series import read
from caps.simulate.telemetry import month_of_telemetry


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    demo(out=out, seed=4)
    return out


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_the_file_holds_the_simulated_month(folder: Path) -> None:
    month = month_of_telemetry(4)
    frame = pd.read_csv(folder / "telemetry.csv")
    assert list(frame) == ["time", *month.metrics, "label"]
    assert np.array_equal(frame[list(month.metrics)], month.values, equal_nan=True)
    assert np.array_equal(frame["label"], month.labels)
    series = read(folder / "telemetry.csv", exclude="label")
    assert np.array_equal(series.time, month.time)


def test_the_picture_is_a_picture(folder: Path) -> None:
    assert (folder / "overview.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == [
        "overview.png",
        "scores.csv",
        "telemetry.csv",
    ]


def test_it_says_plainly_that_detection_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = " ".join(run(capsys, "demo", "--out", str(tmp_path)).split())
    assert "Detection is not part of this version yet" in shown
    assert "stand-in, not CAPS" in shown
    for incident in month_of_telemetry(0).incidents:
        assert incident.name in shown
    for text in ("2 gaps in time", "VUS-PR", "random", "all ones", "telemetry.csv"):
        assert text in shown


def test_json_equals_evaluating_the_written_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json.loads(run(capsys, "demo", "--out", str(tmp_path), "--seed", "4", "--json"))
    scores = str(tmp_path / "scores.csv")
    options = ["--score", "stand_in_score", "--label", "label", "--window", "144", "--json"]
    assert json.loads(run(capsys, "evaluate", scores, *options)) == facts["metrics"]
    assert "not CAPS" in facts["score"]
    assert len(facts["incidents"]) == 5
    assert facts["floors"]["random"]["vus_pr"] < facts["metrics"]["vus_pr"]
    assert all(Path(path).is_file() for path in facts["files"])


def test_without_matplotlib_it_says_how_to_get_the_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run(capsys, "demo", "--out", str(tmp_path))
    assert "caps-tsad[plots]" in shown
    assert not (tmp_path / "overview.png").exists()


def test_the_stand_in_measures_distance_from_the_usual_time_of_day() -> None:
    day = np.arange(144)
    wobble = np.tile([-1.0, 1.0, -1.0, 1.0, 0.0], (144, 1)).T
    values = np.concatenate([(day + wobble).ravel(), day + 3.0])
    values[-1] = np.nan
    time = np.datetime64("2024-01-01T00:00:00") + np.arange(6 * 144) * np.timedelta64(600, "s")
    series = read({"time": time, "load": values})
    score = stand_in_score(series[: 5 * 144], series[5 * 144 :])
    assert np.allclose(score[:-1], 3.0)
    assert score[-1] == 0


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [(["--out", "taken"], "name a folder with --out"), (["--seed", "-1"], "positive")],
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
