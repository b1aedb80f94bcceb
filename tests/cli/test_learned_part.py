"""What a command learned from is said first, in text, JSON and report."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ran_command import run

import caps
from caps import CAPS
from untrained_weights import noisy_wave

ROWS = 900


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hours of one metric: an incident in the first half, one after it."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"when": pd.date_range("2024-03-01", periods=ROWS, freq="h"), "load": noisy_wave(ROWS)}
    )
    frame.loc[200:205, "load"] += 9
    frame.loc[800:815, "load"] += 9
    frame.to_csv("metrics.csv", index=False)
    return tmp_path / "metrics.csv"


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ([], "the first 450 of 900 rows, 2024-03-01 to 2024-03-19: give --train to choose another"),
        (["--train", "all"], "all 900 rows, 2024-03-01 to 2024-04-07"),
        (["--train", "600"], "the first 600 of 900 rows, 2024-03-01 to 2024-03-25"),
    ],
    ids=["left out", "all", "rows"],
)
def test_the_first_line_of_detect_says_what_was_learned_from(
    capsys: pytest.CaptureFixture[str], metrics: Path, train: list[str], said: str
) -> None:
    first = run(capsys, "detect", metrics, *train).splitlines()[0]
    assert first.startswith(f"learned from {said}")
    assert "=" not in first


def test_json_report_and_model_tell_the_same_rows(
    capsys: pytest.CaptureFixture[str], metrics: Path
) -> None:
    facts = json.loads(run(capsys, "detect", metrics, "--out", "found", "--json"))
    assert (facts["train"], facts["train_rows"]) == ([0, 450], 450)
    assert facts["learned"].startswith("learned from the first 450 of 900 rows")
    assert "1 in the part learned from" in facts["headline"]
    spans = [(each["start_row"], each["end_row"]) for each in facts["events"]]
    for start, end in ((200, 206), (800, 816)):
        assert any(first < end and last > start for first, last in spans)
    assert any("longer patterns are not seen" in note for note in facts["notes"])
    page = Path("found/report.html").read_text()
    assert "the first 450 of 900 rows, 2024-03-01 to 2024-03-19" in page
    assert "longer patterns are not seen" in page
    learned = CAPS.load("found/model").learned_
    assert (learned.start, learned.end) == (0, 450)


def test_fit_learns_from_all_of_its_file_and_says_so(
    capsys: pytest.CaptureFixture[str], metrics: Path
) -> None:
    first = run(capsys, "fit", metrics, "--out", "model").splitlines()[0]
    assert first == (
        "learned from all 900 rows, 2024-03-01 to 2024-04-07: give --train to choose another part"
    )


def test_the_library_proposes_a_part_of_what_it_scores_and_fits_all_it_is_given() -> None:
    values = noisy_wave(ROWS)
    found = caps.detect(values, detector=None)
    assert (found.learned.start, found.learned.end) == (0, 450)
    assert "give train= to choose another part" in found.learned.sentence
    assert len(caps.detect(values, detector=None, train="all").learned) == ROWS
    assert len(CAPS(detector=None).fit(values).learned_) == ROWS
    assert len(CAPS(detector=None, train="steady").fit(values).learned_) == 450


@pytest.mark.parametrize("timed", [True, False])
def test_a_part_in_the_middle_is_learned_from_and_known_again(timed: bool, tmp_path: Path) -> None:
    values = noisy_wave(2000)
    values[:200] += 30
    values[1600:1612] += 9
    columns = {"load": values}
    if timed:
        columns["time"] = pd.date_range("2024-03-01", periods=2000, freq="h")
    found = caps.detect(pd.DataFrame(columns), detector=None)
    start, end = found.learned.start, found.learned.end
    assert 200 <= start < 300
    assert end == start + 1000
    assert found.analysis.scores.overlap.spans == ((start, end, 0),)
    assert found.scores["flag"][1600:1612].any()
    assert np.mean(found.scores["flag"][start:end]) < 0.05
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"rows {start} to {end - 1:,} of 2,000" in page
    assert "after a change at about" in page
