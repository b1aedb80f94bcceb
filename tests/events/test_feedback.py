"""What people say of events changes what alarms, until it is revoked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.errors import ArtifactError, InputError
from caps.events import Event, FeedbackBook
from recurring_series import BACKUPS, DAY, INCIDENT, TRAIN, backup, recurring


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return recurring()


@pytest.fixture(scope="module")
def fitted(frame: pd.DataFrame) -> CAPS:
    return CAPS(train=TRAIN, alarms="1/week").fit(frame)


@pytest.fixture
def model(fitted: CAPS) -> CAPS:
    """Without feedback; what a test says stays with it."""
    return fitted.set_feedback(FeedbackBook())


def of_day(model: CAPS, frame: pd.DataFrame, day: int) -> Event:
    rows = backup(day)
    return next(each for each in model.analyze(frame).events if rows.start <= each.peak < rows.stop)


def alarms(model: CAPS, frame: pd.DataFrame) -> list[int]:
    """Days with an alarm."""
    return [each.peak // DAY for each in model.analyze(frame).events if each.alarm]


def with_backup(frame: pd.DataFrame, change: Callable[[np.ndarray], None]) -> pd.DataFrame:
    """The series with the backup of the last day changed."""
    load = frame["load"].to_numpy().copy()
    change(load)
    return frame.assign(load=load)


def test_a_dismissed_pattern_is_silent_and_another_shape_alarms(
    model: CAPS, frame: pd.DataFrame
) -> None:
    before = model.analyze(frame)
    change = model.dismiss(before, of_day(model, frame, 13), note="backup")
    after = model.analyze(frame)
    assert [each.peak // DAY for each in change.lost] == sorted(BACKUPS)
    assert alarms(model, frame) == [INCIDENT.start // DAY]
    np.testing.assert_array_equal(after.score, before.score)
    silent = of_day(model, frame, 15)
    assert silent.silence is not None
    assert (silent.silence.why, silent.silence.name) == ("feedback", "f1")
    assert 'dismissed by feedback f1: "backup"' in after.explain(silent.number).reason
    assert after.flag[backup(15)].sum() == 0
    assert after.flag[INCIDENT].sum() > 0
    table = model.events(frame)
    assert table["alarm"].tolist() == [each.alarm for each in after.events]
    assert set(table["silenced_by"].dropna()) == {"f1"}


def test_a_dry_run_shows_what_changes_and_keeps_nothing(model: CAPS, frame: pd.DataFrame) -> None:
    before = alarms(model, frame)
    change = model.dismiss(frame, of_day(model, frame, 13), dry_run=True)
    assert (len(change.lost), len(change.gained), change.kept) == (4, 0, 1)
    assert (alarms(model, frame), len(model.feedback_)) == (before, 0)
    assert str(change).startswith("4 alarms lost, 0 gained, 1 kept in 1,920 rows, since 2024-03-01")


def test_revoked_feedback_leaves_everything_as_it_was(model: CAPS, frame: pd.DataFrame) -> None:
    before = alarms(model, frame)
    model.dismiss(frame, of_day(model, frame, 13))
    change = model.revoke("f1", frame)
    assert change is not None
    assert [each.peak // DAY for each in change.gained] == sorted(BACKUPS)
    assert alarms(model, frame) == before
    assert model.feedback_.entries[0].revoked is not None
    with pytest.raises(InputError, match="name one of: none so far"):
        model.revoke("f1")


@pytest.mark.parametrize(
    "name",
    ["twice as large", "the other way", "three times as long", "at another level", "one row"],
)
def test_what_differs_in_shape_level_or_size_is_an_alarm(
    model: CAPS, frame: pd.DataFrame, name: str
) -> None:
    model.dismiss(frame, of_day(model, frame, 13))
    rows = backup(19)
    size = BACKUPS[19]

    def change(load: np.ndarray) -> None:
        load[rows] -= size
        if name == "twice as large":
            load[rows] += 2 * size
        elif name == "the other way":
            load[rows] -= size
        elif name == "three times as long":
            load[rows.start : rows.start + 30] += size
        elif name == "at another level":  # half a day later
            load[rows.start + DAY // 2 : rows.stop + DAY // 2] += size
        else:
            load[rows.start + 3] += size

    assert 19 in alarms(model, with_backup(frame, change))


def test_a_recurrence_is_never_quite_the_same(model: CAPS, frame: pd.DataFrame) -> None:
    model.dismiss(frame, of_day(model, frame, 13))
    rows = backup(19)

    def change(load: np.ndarray) -> None:
        load[rows] -= BACKUPS[19]
        load[rows.start + 1 : rows.stop + 1] += 1.15 * BACKUPS[13]
        load[rows.start + 1] -= 0.5 * BACKUPS[13]  # it begins between two rows

    assert 19 not in alarms(model, with_backup(frame, change))


def test_a_confirmed_incident_outweighs_an_older_dismissal_and_names_the_kind(
    model: CAPS, frame: pd.DataFrame
) -> None:
    model.dismiss(frame, of_day(model, frame, 13))
    change = model.confirm(frame, of_day(model, frame, 15), kind="disk full")
    assert [each.peak // DAY for each in change.gained] == sorted(BACKUPS)
    explained = model.explain(frame, of_day(model, frame, 17))
    assert (explained.kind, explained.alarm) == ("disk full", True)
    assert "confirmed by feedback f2" in explained.reason


def test_feedback_is_saved_with_the_model(model: CAPS, frame: pd.DataFrame, tmp_path: Path) -> None:
    model.dismiss(frame, of_day(model, frame, 13), note="backup")
    model.save(tmp_path / "model")
    loaded = CAPS.load(tmp_path / "model")
    assert alarms(loaded, frame) == alarms(model, frame)
    assert loaded.feedback_.to_list() == model.feedback_.to_list()


def test_what_a_channel_without_a_memory_did_is_compared_by_its_values() -> None:
    rows = np.arange(1200)
    wave = np.sin(rows / 7) + 0.1 * np.random.default_rng(3).standard_normal(len(rows))
    switch = (rows % 50 < 20).astype(float)
    for first in (800, 950, 1100):
        switch[first : first + 6] = 7.0
    switch[1000:1006] = 30.0
    frame = pd.DataFrame({"wave": wave, "switch": switch})
    model = CAPS(train=600, alarms="1/1000").fit(frame)
    event = next(each for each in model.analyze(frame).events if 800 <= each.peak < 806)
    assert event.channel == "switch"
    model.dismiss(frame, event)
    silent = [each.peak for each in model.analyze(frame).events if not each.alarm]
    assert [peak // 50 for peak in silent] == [16, 19, 22]


def test_odd_judgements_are_refused(model: CAPS, frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="leave the kind out"):
        model.analyze(frame).judge(1, "normal", model.feedback_, kind="spike")
    with pytest.raises(InputError, match="there is no event 99"):
        model.dismiss(frame, 99)
    with pytest.raises(InputError, match="at most 200 characters"):
        model.dismiss(frame, 1, note="x" * 201)
    analysis = model.analyze(frame)
    span = replace(analysis.spans[0], end=analysis.spans[0].start + 3000)
    long = replace(analysis)
    long.__dict__["spans"] = (span, *analysis.spans[1:])
    with pytest.raises(InputError, match="what stays longer is a new normal"):
        long.judge(1, "normal", model.feedback_)


@pytest.mark.parametrize("odd", [[{}], [None], "x", [{"id": "f1"}]])
def test_feedback_that_was_edited_is_refused(odd: Any) -> None:
    with pytest.raises(ArtifactError, match="feedback that cannot be read"):
        FeedbackBook.from_list(odd)
