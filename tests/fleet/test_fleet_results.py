"""What a fleet leaves behind, and that a second run goes on where the first was."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_fleet import JUMP, ROWS, TRAIN, Fleet, InlineEngine, frame_of

from caps import CAPS
from caps.errors import InputError
from caps.fleet import Entry, ScoreOptions, find_series, fit_fleet, score_fleet
from caps.scoring import FitOptions
from caps.series import read


def bytes_under(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def scoring(options: FitOptions) -> ScoreOptions:
    """With the same alarm budget and the same weights."""
    return ScoreOptions(alarms=options.alarms, pretrained=options.pretrained)


def test_every_series_has_a_model_that_is_the_estimators_own(
    fleet: Fleet, settings: FitOptions
) -> None:
    model = CAPS.load(fleet.out / "models" / "host-1")
    own = CAPS(train=TRAIN, alarms="1/day", pretrained=settings.pretrained).fit(frame_of(1))
    assert np.array_equal(
        model.decision_function(frame_of(1)), own.decision_function(frame_of(1)), equal_nan=True
    )


def test_scores_and_events_are_data_sets_with_the_series_as_a_column(fleet: Fleet) -> None:
    scores = pd.read_parquet(fleet.out / "scores")
    assert scores.groupby("series").size().to_dict() == {f"host-{n}": ROWS for n in range(3)}
    one = scores[scores["series"] == "host-2"].sort_values("row")
    assert one["time"].tolist() == frame_of(2)["time"].tolist()
    model = CAPS.load(fleet.out / "models" / "host-2")
    assert np.allclose(one["score"], model.decision_function(frame_of(2)))
    events = pd.read_parquet(fleet.out / "events")
    for event in events[events["series"] == "host-2"].itertuples():
        assert (one["event"][one["row"].between(event.start_row, event.end_row - 1)] > 0).all()
        assert event.start == frame_of(2)["time"][event.start_row]
        assert event.end == frame_of(2)["time"][event.end_row - 1]
        assert one["score"].iloc[event.peak_row] == event.score


def test_the_table_of_series_ranks_by_severity_and_lists_failures_last(fleet: Fleet) -> None:
    table = pd.read_parquet(fleet.out / "series.parquet")
    assert table["status"].tolist() == ["done"] * 3 + ["refused"]
    assert table["severity"][:3].is_monotonic_decreasing
    assert table["series"].tolist()[-1] == "broken"
    assert "2024-01-01" in table["reason"].tolist()[-1]
    events = pd.read_parquet(fleet.out / "events")
    rarest = events.groupby("series")["p_value"].min()
    for row in table[:3].itertuples():
        assert row.events == (events["series"] == row.series).sum()
        if row.events:
            assert row.severity == pytest.approx(-np.log10(rarest[row.series]))
        assert row.train_rows == TRAIN
        assert row.learned.startswith(f"the first {TRAIN} of {ROWS} rows, 2024-03-01 to ")


def test_a_part_of_each_series_is_learned_from_if_none_is_named(
    tmp_path: Path, settings: FitOptions
) -> None:
    proposed, whole = Entry("half", read(frame_of(0)), ""), Entry("all", read(frame_of(0)), "")
    entries = [proposed, replace(whole, train="all")]
    result = fit_fleet(entries, tmp_path / "out", settings, engine=InlineEngine())
    rows = {each["series"]: each["train_rows"] for each in result.done}
    assert rows == {"half": ROWS // 2, "all": ROWS}
    page = (tmp_path / "out" / "summary.html").read_text()
    assert f"the first {ROWS // 2} of {ROWS} rows" in page


def test_the_page_opens_offline_and_shows_ranking_and_failures(fleet: Fleet) -> None:
    page = (fleet.out / "summary.html").read_text()
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert "<script" not in page
    positions = [page.index(f'<th scope="row">{each["series"]}') for each in fleet.result.series]
    assert positions == sorted(positions)
    assert fleet.result.failures[0]["series"] == "broken"


def test_names_of_series_cannot_run_as_a_page(
    tmp_path: Path, fleet: Fleet, settings: FitOptions
) -> None:
    entry = Entry("<script>../x", read(frame_of(0)), "", train=str(TRAIN))
    fit_fleet([entry], tmp_path / "out", settings, engine=InlineEngine())
    assert "<script>" not in (tmp_path / "out" / "summary.html").read_text()
    (model,) = (tmp_path / "out" / "models").iterdir()
    assert CAPS.load(model).notes_ is not None


def test_a_second_run_does_only_what_is_missing_or_changed(
    fleet: Fleet, settings: FitOptions, tmp_path: Path
) -> None:
    entries = find_series(fleet.source, train=str(TRAIN))
    good = [entry for entry in entries if entry.id != "broken"]
    out, engine = tmp_path / "out", InlineEngine()
    fit_fleet(good[:1], out, settings, engine=engine)
    before = bytes_under(out / "models")
    result = fit_fleet(good[:2], out, settings, engine=engine)
    assert engine.worked == ["host-0", "host-1"]
    assert result.skipped == 1
    assert {name: bytes_under(out / "models")[name] for name in before} == before
    (out / "done" / "host-1.json").write_text("{cut o")
    fit_fleet(good[:2], out, settings, engine=engine)
    assert engine.worked[2:] == ["host-1"]
    fit_fleet(good[:1], out, replace(settings, seed=5), engine=engine)
    assert engine.worked[3:] == ["host-0"]


def test_two_processes_give_the_same_models_as_one(
    fleet: Fleet, settings: FitOptions, tmp_path: Path
) -> None:
    entries = find_series(fleet.source, train=str(TRAIN))
    seen: list[tuple[str, float]] = []
    result = fit_fleet(
        entries,
        tmp_path / "out",
        settings,
        workers=2,
        progress=lambda text, share: seen.append((text, share)),
    )
    assert bytes_under(tmp_path / "out" / "models") == bytes_under(fleet.out / "models")
    assert [each["series"] for each in result.series] == [
        each["series"] for each in fleet.result.series
    ]
    assert seen[-1] == ("4 of 4 series, 1 failed", 1.0)


def test_new_rows_are_scored_by_the_models_of_their_ids(
    fleet: Fleet, settings: FitOptions, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    later.mkdir()
    frame_of(0).to_csv(later / "host-0.csv", index=False)
    frame_of(9).to_csv(later / "stranger.csv", index=False)
    result = score_fleet(
        find_series(later), fleet.out, tmp_path / "out", scoring(settings), engine=InlineEngine()
    )
    assert [each["series"] for each in result.done] == ["host-0"]
    assert "fit this series first" in result.failures[0]["reason"]
    scores = pd.read_parquet(tmp_path / "out" / "scores")
    fitted = pd.read_parquet(fleet.out / "scores" / "host-0.parquet")
    assert np.allclose(scores["score"], fitted["score"])
    assert scores["score"][list(JUMP)].notna().all()


def test_folders_that_are_no_fleet_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="--out"):
        fit_fleet([], tmp_path, engine=InlineEngine())
    with pytest.raises(InputError, match="not a folder"):
        fit_fleet([], tmp_path / "letter.txt", engine=InlineEngine())
    with pytest.raises(InputError, match="caps fleet fit"):
        score_fleet([], tmp_path, tmp_path / "out", engine=InlineEngine())
    with pytest.raises(InputError, match="--out"):
        score_fleet([], fleet.out, fleet.out, engine=InlineEngine())


def test_a_machine_without_the_shared_folder_says_so(settings: FitOptions, tmp_path: Path) -> None:
    from caps.fleet.work import Task, work

    entry = Entry("a", read(frame_of(0)), "")
    outcome = work(Task(entry, settings, tmp_path / "elsewhere"))
    assert outcome["status"] == "refused"
    assert "share" in outcome["reason"]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_models_as_local(
    fleet: Fleet, settings: FitOptions, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    entries = find_series(fleet.source, train=str(TRAIN))
    result = fit_fleet(entries, tmp_path / "out", settings, engine="ray", workers=2)
    assert bytes_under(tmp_path / "out" / "models") == bytes_under(fleet.out / "models")
    assert json.dumps(result.failures) == json.dumps(fleet.result.failures)


def test_a_series_is_scored_once(
    fleet: Fleet, settings: FitOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = []
    real = CAPS.analyze
    monkeypatch.setattr(CAPS, "analyze", lambda self, X: scored.append(X) or real(self, X))
    entries = [entry for entry in find_series(fleet.source) if entry.id == "host-0"]
    score_fleet(entries, fleet.out, tmp_path / "scored", scoring(settings), engine=InlineEngine())
    assert len(scored) == 1
    fit_fleet(entries, tmp_path / "fitted", settings, engine=InlineEngine())
    assert len(scored) == 2


def test_results_of_other_settings_are_not_called_finished_when_half_replaced(
    fleet: Fleet, settings: FitOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [entry for entry in find_series(fleet.source) if entry.id == "host-0"]
    out, options = tmp_path / "out", scoring(settings)
    other = replace(options, alarms="1/20")
    score_fleet(entries, fleet.out, out, options, engine=InlineEngine())
    with monkeypatch.context() as patch:
        patch.setattr("caps.fleet.work.write_text", lambda *_: 1 / 0)  # the marker, written last
        score_fleet(entries, fleet.out, out, other, engine=InlineEngine(), retries=0)
    engine = InlineEngine()
    again = score_fleet(entries, fleet.out, out, options, engine=engine)
    assert engine.worked == ["host-0"]
    assert again.skipped == 0
