"""Models that a watch keeps fresh: due by age or by drift, compared, shown, then in force."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from minute_load import ORIGIN, TRAIN
from played_watch import FIRST, HOST, SECOND, STARTS, Played, frame, look

import caps.watch.refits
from caps import CAPS
from caps.refit import versions_of
from caps.renewal import renew_due
from caps.store import Store
from caps.watch import Refits, SourceConfig, WatchConfig
from caps.watch.refits import Refitter

DAY = 86400.0
NOW = ORIGIN + 60.0 * (TRAIN + 20)


class AtOnce:
    """As `Worker`, in this process: a round has ended when the watch looks next."""

    def __init__(self) -> None:
        self.connection = SimpleNamespace(poll=lambda: True)

    def give(self, function: Any, task: Any) -> None:
        self.ended = function(task)

    def receive(self) -> Any:
        return self.ended

    def stop(self) -> None: ...


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caps.watch.refits, "Worker", AtOnce)


def saved(folder: Path, model: CAPS, seconds: float) -> Path:
    """A model that is as old at the time of the watch."""
    model.save(folder)
    os.utime(folder / "manifest.json", (NOW - seconds, NOW - seconds))
    return folder


def refitter(folder: Path, rows: Path, **refits: Any) -> Refitter:
    config = WatchConfig(
        models=folder, sources=(SourceConfig(file=str(rows)),), refits=Refits(**refits)
    )
    return Refitter(config, renew_due, lambda: NOW)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    frame(0, TRAIN + 20).to_csv(tmp_path / "recent.csv", index=False)
    return tmp_path / "recent.csv"


def turns(refitter: Refitter, drift: bool = False) -> list[dict[str, Any]]:
    """A round, if one is due, and its end."""
    lines: list[dict[str, Any]] = []
    streams: Any = {"": SimpleNamespace(drift=SimpleNamespace(found=drift))}
    refitter.turn(streams, lines.extend)
    refitter.turn(streams, lines.extend)
    return lines


@pytest.mark.usefixtures("at_once")
def test_a_model_is_fitted_again_when_it_is_old_enough(
    tmp_path: Path, rows: Path, model: CAPS
) -> None:
    young = refitter(saved(tmp_path / "young", model, 6 * DAY), rows, every=7 * DAY)
    assert turns(young) == []
    assert young.next_at == pytest.approx(NOW + DAY, abs=2)
    assert not Store.is_at(tmp_path / "young")
    old = refitter(saved(tmp_path / "old", model, 7 * DAY), rows, every=7 * DAY)
    (line,) = turns(old)
    assert (line["version"], line["why"], line["waits"]) == ("v2", "schedule", False)
    assert (line["gained"], line["lost"]) == ([], [])
    store = Store(tmp_path / "old")
    assert store.current.name == "v2"
    promoted = store.audit()[-1]
    assert (promoted["what"], promoted["why"], promoted["change"]["kept"]) == (
        "promoted", "schedule", 0,
    )  # fmt: skip
    assert old.counts == {"in force": 1}
    store.rollback()
    before = CAPS.load(store.folder).fitted_.calibration
    assert before.to_dict() == model.fitted_.calibration.to_dict()


@pytest.mark.usefixtures("at_once")
def test_a_version_to_be_reviewed_waits_beside_the_one_in_force(
    tmp_path: Path, rows: Path, model: CAPS
) -> None:
    folder = saved(tmp_path / "model", model, 0)
    (line,) = turns(refitter(folder, rows, on_drift=True, review=True), drift=True)
    assert (line["why"], line["waits"]) == ("drift", True)
    store = Store(folder)
    assert (store.current.name, len(store.facts.versions)) == ("v1", 2)
    # Begun anew, the watch does not ask for what waits already.
    assert turns(refitter(folder, rows, on_drift=True, review=True), drift=True) == []
    assert len(store.facts.versions) == 2


@pytest.mark.usefixtures("at_once")
def test_drift_is_asked_for_once_and_only_where_it_counts(
    tmp_path: Path, rows: Path, model: CAPS
) -> None:
    folder = saved(tmp_path / "model", model, 0)
    assert turns(refitter(folder, rows, every=7 * DAY), drift=True) == []
    asking = refitter(folder, rows, on_drift=True)
    assert [line["version"] for line in turns(asking, drift=True)] == ["v2"]
    asking.not_before = 0.0
    assert turns(asking, drift=True) == []  # the stream has not begun anew yet
    assert turns(asking) == []
    assert [line["version"] for line in turns(asking, drift=True)] == ["v3"]


@pytest.mark.usefixtures("at_once")
def test_a_refit_that_fails_is_told_and_tried_again_later(
    tmp_path: Path, model: CAPS, capsys: pytest.CaptureFixture[str]
) -> None:
    frame(0, 20).to_csv(tmp_path / "short.csv", index=False)
    folder = saved(tmp_path / "model", model, 8 * DAY)
    failing = refitter(folder, tmp_path / "short.csv", every=7 * DAY)
    assert turns(failing) == []
    assert "no refit of short" in capsys.readouterr().err
    assert failing.counts == {"failed": 1}
    assert failing.next_at == pytest.approx(NOW + 3600, abs=2)


def test_a_model_becomes_the_first_of_its_versions(tmp_path: Path, model: CAPS) -> None:
    folder = saved(tmp_path / "model", model, DAY)
    store = versions_of(folder)
    first = store.current
    assert (first.name, first.rows, first.end) == ("v1", TRAIN, "2024-05-01T11:39:00")
    assert first.made == "2024-04-30T12:00:00Z"
    same = CAPS.load(folder)
    assert same.threshold_ == model.threshold_
    assert [each["what"] for each in versions_of(folder).audit()] == ["added"]


@pytest.mark.slow
def test_a_running_watch_fits_again_and_goes_on_by_the_new_version(played: Played) -> None:
    played.since = "11h"
    played.row = TRAIN + 20
    saved(played.folder / "model", CAPS.load(played.folder / "model"), 8 * DAY)

    def fitted(play: Played) -> None:
        """Wait for the process that fits."""
        if any(line["what"] == "refit" for line in play.lines):
            look(play)
        else:
            play.steps = iter([fitted, *play.steps])

    def later(play: Played) -> None:
        play.row = SECOND + 30

    summary = played.play(fitted, later, last='[refits]\nevery = "7d"\n')
    (line,) = (each for each in played.lines if each["what"] == "refit")
    assert (line["series"], line["version"], line["why"]) == (HOST, "v2", "schedule")
    assert Store(played.folder / "model").current.name == "v2"
    assert played.watch.figures is not None
    assert 'caps_watch_refits_total{outcome="in force"} 1.0' in played.watch.figures.text().decode()
    assert played.told() == [STARTS, STARTS]
    assert summary["rows"] == SECOND + 30 - (TRAIN + 20 - 660) + 1
    assert FIRST > TRAIN + 20
