"""Versions of a model: what each was fitted on, which is in force, and every change noted."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS, read
from caps.errors import ArtifactError, InputError
from caps.refit import Refit, confirmed_spans, reason_to_refit, refit
from caps.scoring import FitOptions
from caps.series import Series
from caps.store import Store
from recurring_series import BACKUPS, DAY, INCIDENT, TRAIN, recurring

OPTIONS = FitOptions(train=TRAIN, alarms="1/week")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return recurring()


@pytest.fixture(scope="module")
def series(frame: pd.DataFrame) -> Series:
    return read(frame)


@pytest.fixture
def store(tmp_path: Path, series: Series) -> Store:
    store = Store.create(tmp_path / "versions")
    refit(store, series[: 15 * DAY], OPTIONS, source="march.csv", why="first")
    return store


def again(store: Store, series: Series, **more: object) -> Refit:
    return refit(store, series, **more)  # type: ignore[arg-type]


def test_the_first_version_is_in_force_and_says_what_it_was_fitted_on(
    store: Store, series: Series
) -> None:
    version = store.current
    assert (version.name, version.rows, version.source) == ("v1", 15 * DAY, "march.csv")
    assert (version.start, version.end) == ("2024-03-01T00:00:00", "2024-03-15T23:45:00")
    same = Store.create(store.folder.parent / "other")
    refit(same, series[: 15 * DAY], OPTIONS)
    assert same.current.data == version.data


def test_a_new_version_is_compared_takes_over_when_told_and_is_rolled_back(
    store: Store, series: Series, frame: pd.DataFrame
) -> None:
    def alarms() -> int:
        return sum(each.alarm for each in CAPS.load(store.folder).analyze(frame).events)

    before = alarms()
    made = again(store, series)
    assert made.change is not None
    assert made.change.lost  # it learned from the backups
    assert (store.current.name, alarms()) == ("v1", before)
    store.promote(made.version.name)
    assert alarms() == before - len(made.change.lost) + len(made.change.gained)
    assert store.rollback() == "v1"
    assert alarms() == before
    with pytest.raises(InputError, match="no other version was in force"):
        store.rollback()


def test_feedback_outlives_versions(store: Store, series: Series, frame: pd.DataFrame) -> None:
    model = CAPS.load(store.folder)
    model.dismiss(frame, 1, note="backup")
    store.set_feedback(model.feedback_)
    again(store, series, options=OPTIONS, promote=True)
    loaded = CAPS.load(store.folder)
    assert store.current.name == "v2"
    silent = [each.peak // DAY for each in loaded.analyze(frame).events if not each.alarm]
    assert silent == sorted(BACKUPS)


def test_confirmed_incidents_are_kept_out_of_the_next_fit(
    store: Store, series: Series, frame: pd.DataFrame
) -> None:
    model = CAPS.load(store.folder)
    events = model.analyze(frame).events
    incident = next(each for each in events if INCIDENT.start <= each.peak < INCIDENT.stop)
    model.confirm(frame, incident)
    store.set_feedback(model.feedback_)
    assert confirmed_spans(store.feedback, series) == [(incident.start, incident.end)]
    assert confirmed_spans(store.feedback, series[:100]) == []
    bank = CAPS().fit(series, known_anomalies=confirmed_spans(store.feedback, series))
    again(store, series, options=FitOptions(), promote=True)
    channel, same = (each.fitted_.channels[0] for each in (CAPS.load(store.folder), bank))
    np.testing.assert_array_equal(channel.bank, same.bank)


@pytest.mark.slow
def test_the_oldest_versions_go_and_the_way_back_stays(store: Store, series: Series) -> None:
    short = series[: 13 * DAY]
    for _ in range(3):
        again(store, short, options=OPTIONS)
    store.promote("v4")
    made = again(store, short, options=OPTIONS, keep=2)
    assert made.removed == ("v2", "v3")
    assert [each.name for each in store.facts.versions] == ["v1", "v4", "v5"]
    assert sorted(path.name for path in store.folder.glob("v*")) == ["v1", "v4", "v5"]
    assert store.rollback() == "v1"
    with pytest.raises(InputError, match="keep 2 or more"):
        store.prune(1)


def test_every_change_is_a_line_of_the_audit(store: Store, series: Series) -> None:
    again(store, series[: 13 * DAY], options=OPTIONS, promote=True)
    store.rollback()
    lines = [json.loads(line) for line in (store.folder / "audit.jsonl").read_text().splitlines()]
    assert [(each["what"], each["version"]) for each in lines] == [
        ("added", "v1"),
        ("added", "v2"),
        ("promoted", "v2"),
        ("rolled back", "v1"),
    ]
    assert lines[2]["change"]["rows"][1] == 13 * DAY
    assert all(each["time"] for each in lines)


def test_a_refit_is_due_by_the_clock_or_by_drift(store: Store, series: Series) -> None:
    week = np.timedelta64(7, "D")
    made = datetime.fromisoformat(store.current.made.replace("Z", "+00:00"))
    early, late = made + timedelta(days=6), made + timedelta(days=7)
    assert reason_to_refit(store, series) == "asked for"
    assert reason_to_refit(store, series, every=week, now=early) is None
    assert reason_to_refit(store, series, every=week, now=late) == "schedule"
    assert reason_to_refit(store, series, on_drift=True) is None


@pytest.mark.slow
def test_a_refit_is_due_when_the_scores_drift(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(5), np.arange(5000)
    load = 5 + 2 * np.sin(2 * np.pi * rows / DAY) + 0.12 * rng.standard_normal(len(rows))
    times = pd.date_range("2024-03-01", periods=len(rows), freq="15min")
    usual = pd.DataFrame({"time": times, "load": load})
    store = Store.create(tmp_path / "versions")
    refit(store, read(usual[:3000]), FitOptions())
    assert reason_to_refit(store, read(usual), on_drift=True) is None
    other = usual.assign(load=np.where(rows < 3000, load, 5 + 3 * rng.standard_normal(len(rows))))
    assert reason_to_refit(store, read(other), on_drift=True) == "drift"


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        Store.create(tmp_path)
    assert not Store.is_at(tmp_path)
    store = Store.create(tmp_path / "new")
    with pytest.raises(InputError, match="has no version yet"):
        CAPS.load(store.folder)
    with pytest.raises(InputError, match="name one of: none so far"):
        store.promote("v1")
    (store.folder / "manifest.json").write_text('{"kind": "caps.versions", "version": 1}')
    with pytest.raises(ArtifactError, match="odd or missing entries"):
        _ = store.current
