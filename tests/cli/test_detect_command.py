"""`caps detect`, `fit`, `score` and `events` on files: outputs, summaries, errors."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ran_command import run

from caps import CAPS
from caps.cli.main import main
from untrained_weights import hurry, noisy_wave, save_untrained_weights

ROWS = 900


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(folder)
    return str(folder)


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024-03-01", periods=ROWS, freq="h"),
            "load": noisy_wave(ROWS),
            "heat": noisy_wave(ROWS, seed=1),
            "note": "fine",
        }
    )
    frame.loc[800:815, "load"] += 9
    frame = frame.drop(index=range(200, 210))
    path = tmp_path_factory.mktemp("data") / "metrics.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_detect_writes_report_scores_events_and_model(
    capsys: pytest.CaptureFixture[str], metrics: Path, weights: str
) -> None:
    shown = run(
        capsys, "detect", metrics, "--train", "2024-03-25", "--alarms", "1/day", "--seed", "3",
        "--known", "2024-03-05..2024-03-05 06:00", "--pretrained", weights, "--json",
    )  # fmt: skip
    facts = json.loads(shown)
    assert [Path(path).name for path in facts["files"]] == [
        "report.html",
        "scores.csv",
        "events.csv",
        "model",
    ]
    assert facts["channels"] == ["load", "heat"]
    assert facts["train_rows"] == 24 * 24 - 10
    assert facts["alarms"] == "1/day"
    assert any(
        note.endswith("--detector trains a detector on their kinds too") for note in facts["notes"]
    )
    assert any("1 gap in time" in note for note in facts["notes"])
    folder = Path("metrics-caps")
    assert "<html" in (folder / "report.html").read_text()
    scores = pd.read_csv(folder / "scores.csv")
    given = pd.read_csv(metrics)
    assert scores["when"].equals(given["when"])
    assert scores["score"].between(0, 1).all()
    assert "expected_load" not in scores
    events = pd.read_csv(folder / "events.csv")
    assert len(events) == len(facts["events"])
    for listed, event in zip(facts["events"], events.itertuples(), strict=True):
        assert (listed["start_row"], listed["end_row"]) == (event.start_row, event.end_row)
        assert given["when"][event.start_row] == event.start
        assert (scores["event"][event.start_row : event.end_row] == event.event).all()
    loaded = CAPS.load(folder / "model")
    run(capsys, "score", folder / "model", metrics, "--out", "banded.csv", "--bands")
    banded, expected = pd.read_csv("banded.csv"), loaded.score_frame(metrics, bands=True)
    for name in ("expected_load", "lower_load", "upper_heat"):
        assert np.allclose(banded[name], expected[name], equal_nan=True)
    assert np.allclose(loaded.decision_function(metrics), scores["score"], atol=1e-9)


def test_the_summary_names_notes_budget_events_and_files(
    capsys: pytest.CaptureFixture[str], metrics: Path, weights: str
) -> None:
    shown = run(
        capsys, "detect", metrics, "--columns", "load", "--alarms", "1/20", "--out", "found",
        "--format", "parquet", "--pretrained", weights,
    )  # fmt: skip
    for text in ("1 gap in time", "alarm budget 1/20", "per 1000 rows", "event", "report.html"):
        assert text in shown
    scores = pd.read_parquet("found/scores.parquet")
    assert list(scores) == ["when", "score", "p_value", "flag", "event"]


def test_fit_score_and_events_are_detect_in_steps(
    capsys: pytest.CaptureFixture[str], metrics: Path, weights: str
) -> None:
    fitted = json.loads(
        run(
            capsys,
            "fit",
            metrics,
            "--train",
            "0.5",
            "--columns",
            "load",
            "--out",
            "model",
            "--pretrained",
            weights,
            "--json",
        )
    )
    assert fitted["channels"] == ["load"]
    facts = json.loads(run(capsys, "score", "model", metrics, "--out", "scores.csv", "--json"))
    scores = pd.read_csv("scores.csv")
    assert facts["rows"] == len(scores) == ROWS - 10
    assert facts["flagged"] == scores["flag"].sum()
    listed = json.loads(
        run(capsys, "events", "model", metrics, "--pretrained", weights, "--out", "e.csv", "--json")
    )
    assert len(listed) == facts["events"] == len(pd.read_csv("e.csv"))
    for event in listed:
        assert set(event) >= {"start", "end", "score", "p_value", "kind", "reason"}
    more = json.loads(
        run(
            capsys, "score", "model", metrics, "--out", "more.parquet", "--alarms", "1/10", "--json"
        )
    )
    assert more["threshold"] < facts["threshold"]
    assert "events" in run(capsys, "score", "model", metrics, "--out", "again.csv")
    run(capsys, "events", "model", metrics, "--pretrained", weights)


def test_rows_without_times_are_numbered(
    capsys: pytest.CaptureFixture[str], weights: str, tmp_path: Path
) -> None:
    pd.DataFrame({"load": noisy_wave(400)}).to_csv("plain.csv", index=False)
    run(capsys, "fit", "plain.csv", "--out", "model", "--pretrained", weights)
    run(capsys, "score", "model", "plain.csv", "--out", "scores.csv")
    assert pd.read_csv("scores.csv")["row"].tolist() == list(range(400))


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["detect", "missing.csv"], "missing.csv"),
        (["detect", "FILE", "--known", "yesterday"], "START..END"),
        (["detect", "FILE", "--columns", "cpu"], "load, heat"),
        (["detect", "FILE", "--columns", ","], "--columns cpu,load"),
        (["detect", "FILE", "--alarms", "often"], "1/day"),
        (["detect", "FILE", "--train", "1999-01-01"], "both parts"),
        (["detect", "FILE", "--out", "taken"], "a new or an empty folder"),
        (["fit", "FILE", "--out", "taken"], "a new or an empty folder"),
        (["score", "WEIGHTS", "FILE", "--out", "scores.txt"], ".parquet"),
        (["score", "WEIGHTS", "FILE", "--out", "FILE"], "another file with --out"),
        (["detect", "FILE", "--out", "FOLDER"], "a new or an empty folder"),
        (["detect", "found/a.csv", "--out", "found"], "name another --out"),
    ],
    ids=lambda value: " ".join(value)[-24:] if isinstance(value, list) else None,
)
def test_bad_input_names_the_remedy(
    capsys: pytest.CaptureFixture[str],
    metrics: Path,
    weights: str,
    arguments: list[str],
    remedy: str,
) -> None:
    Path("taken").write_text("")
    filled = [
        {"FILE": str(metrics), "FOLDER": str(metrics.parent), "WEIGHTS": weights}.get(each, each)
        for each in arguments
    ]
    if arguments[0] != "score":
        filled += ["--pretrained", weights]
    assert remedy in run(capsys, *filled, code=2)


def test_a_folder_that_is_no_model_fails(
    capsys: pytest.CaptureFixture[str], metrics: Path, weights: str
) -> None:
    shown = run(capsys, "score", weights, metrics, "--out", "scores.csv", code=1)
    assert "caps.model" in shown


def test_a_detector_is_trained_if_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
    metrics: Path,
    weights: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hurry(monkeypatch)
    trained = {}
    for flag in ([], ["--detector"]):
        out = f"model{len(flag)}"
        run(capsys, "fit", metrics, "--train", 600, "--pretrained", weights, "--out", out, *flag)
        model = CAPS.load(out)
        trained[out] = [each.detector is not None for each in model.fitted_.channels]
    assert trained == {"model0": [False, False], "model1": [True, True]}


def test_progress_tells_every_step_from_the_first_on(
    capsys: pytest.CaptureFixture[str], metrics: Path
) -> None:
    with pytest.raises(SystemExit):
        main(["detect", str(metrics), "--train", "600", "--out", "found"])
    lines = capsys.readouterr().err.splitlines()
    begun = [line for line in lines if "%" not in line]  # others come now and then
    assert begun[0] == lines[0] == "reading metrics.csv"
    assert [line.split()[0] for line in begun[1:]] == ["learning", "scoring", "explaining"]
