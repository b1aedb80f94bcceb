"""What is read is the same for every command: labels are left out, choices are remembered."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ran_command import run

from caps import CAPS
from caps.fleet import ScoreOptions, find_series
from caps.fleet.work import Task, work
from caps.scoring import FitOptions
from untrained_weights import noisy_wave, save_untrained_weights

ROWS = 400
DAYS = pd.date_range("2024-03-01", periods=ROWS, freq="D")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(folder)
    return str(folder)


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    label = np.zeros(ROWS, dtype=int)
    label[350:360] = 1
    frame = pd.DataFrame({"load": noisy_wave(ROWS), "Label": label})
    frame.loc[350:360, "load"] += 9
    frame.to_csv(tmp_path / "labelled.csv", index=False)
    return tmp_path / "labelled.csv"


@pytest.fixture
def two_clocks(tmp_path: Path) -> Path:
    """Left to itself, `date` is the time; `stamp` has no name of a time and comes later."""
    frame = pd.DataFrame(
        {"date": DAYS, "stamp": DAYS[::-1] + pd.Timedelta("1h"), "heat": 1.0, "load": 0.0}
    )
    frame["load"] = noisy_wave(ROWS)
    frame["heat"] = noisy_wave(ROWS, seed=1)
    frame = frame.iloc[::-1]
    frame.to_csv(tmp_path / "two.csv", index=False)
    return tmp_path / "two.csv"


def test_a_label_is_left_out_by_every_command_and_may_stand_in_what_is_scored(
    capsys: pytest.CaptureFixture[str], labelled: Path, weights: str
) -> None:
    options = ["--train", "0.5", "--pretrained", weights, "--json"]
    detected = json.loads(run(capsys, "detect", labelled, "--out", "found", *options))
    fitted = json.loads(run(capsys, "fit", labelled, "--out", "model", *options))
    estimator = CAPS(train=0.5, pretrained=weights).fit(str(labelled))
    for channels, notes in (
        (detected["channels"], detected["notes"]),
        (fitted["channels"], fitted["notes"]),
        (list(estimator.fitted_.names), estimator.notes_),
    ):
        assert channels == ["load"]
        assert sum("'Label' is called like a label" in note for note in notes) == 1
        assert len(set(notes)) == len(notes)
    assert "is called like a label" in Path("found/report.html").read_text()

    bare = labelled.with_name("bare.csv")
    pd.read_csv(labelled).drop(columns="Label").to_csv(bare, index=False)
    scores = []
    for file in (labelled, bare):
        run(capsys, "score", "model", file, "--out", "scores.csv")
        scores.append(Path("scores.csv").read_text())
        run(capsys, "events", "model", file)
    assert scores[0] == scores[1]


def test_a_label_that_is_named_is_used_and_asked_for_again(
    capsys: pytest.CaptureFixture[str], labelled: Path, weights: str
) -> None:
    options = ["--columns", "load,Label", "--switches", "--pretrained", weights, "--json"]
    fitted = json.loads(run(capsys, "fit", labelled, "--out", "model", *options))
    assert fitted["channels"] == ["load", "Label"]
    run(capsys, "score", "model", labelled, "--out", "scores.csv")
    assert "Label" in pd.read_csv("scores.csv").columns.str.cat()


def test_a_model_reads_files_as_it_was_told_to_when_it_was_fitted(
    capsys: pytest.CaptureFixture[str], two_clocks: Path, weights: str
) -> None:
    options = ["--time", "stamp", "--columns", "load", "--train", "all", "--pretrained", weights]
    run(capsys, "detect", two_clocks, "--out", "found", *options)
    run(capsys, "fit", two_clocks, "--out", "model", *options)
    expected = pd.read_csv("found/scores.csv")
    assert expected.columns[0] == "stamp"
    for model in ("found/model", "model"):
        loaded = CAPS.load(model)
        assert (loaded.time, loaded.columns) == ("stamp", ["load"])
        run(capsys, "score", model, two_clocks, "--out", "scores.csv")
        pd.testing.assert_frame_equal(pd.read_csv("scores.csv"), expected)
        run(capsys, "events", model, two_clocks)


def test_a_fleet_leaves_labels_out_and_its_models_remember_the_time(
    labelled: Path, two_clocks: Path, weights: str, tmp_path: Path
) -> None:
    assert [entry.id for entry in find_series(labelled)] == ["load"]
    options = FitOptions(time="stamp")
    (tmp_path / "many").mkdir()
    two_clocks.rename(tmp_path / "many" / "two.csv")
    entries = find_series(tmp_path / "many", columns=("load",))
    out = tmp_path / "out"
    (out / "models").mkdir(parents=True)
    (out / "fleet.json").write_text("{}")
    outcome = work(Task(entries[0], options, out, weights))
    assert outcome["status"] == "done", outcome["reason"]
    loaded = CAPS.load(out / "models" / "two")
    assert (loaded.time, loaded.columns) == ("stamp", ["load"])
    again = work(Task(entries[0], ScoreOptions(), out, weights, out / "models"))
    assert again["status"] == "done", again["reason"]
    assert again["first_time"] == outcome["first_time"]
