"""A live event is silenced as long as it is like a dismissed one, however many rows come."""

import copy
from pathlib import Path

import pandas as pd
import pytest

from caps import CAPS
from caps.stream import EventChange
from recurring_series import DAY, INCIDENT, TRAIN, backup, recurring


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return recurring()


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> CAPS:
    """A live model whose first backup was dismissed."""
    model = CAPS(train=TRAIN, alarms="1/week", causal=True).fit(frame)
    found = model.analyze(frame)
    event = next(each for each in found.events if backup(13).start <= each.peak < backup(13).stop)
    model.dismiss(found, event)
    return model


def streamed(
    model: CAPS, frame: pd.DataFrame, at_once: int, state: Path | None = None
) -> list[EventChange]:
    new, stream, changes = frame[TRAIN:], model.stream(), []
    for first in range(0, len(new), at_once):
        part = new[first : first + at_once]
        changes += stream.extend(part["load"], part["time"].to_numpy()).changes
        if state is not None:
            stream.save(state)
            stream = model.stream(state=state)
    return changes


def brief(changes: list[EventChange]) -> list[tuple[str, int, bool]]:
    return [(each.what, each.end, each.alarm) for each in changes]


def test_the_incident_is_told_and_the_recurring_pattern_is_not(
    model: CAPS, frame: pd.DataFrame
) -> None:
    changes = streamed(model, frame, 50)
    opened = {each.start + TRAIN: each.alarm for each in changes if each.what == "opened"}
    assert opened[backup(19).start] is False
    assert any(alarm for row, alarm in opened.items() if row // DAY == INCIDENT.start // DAY)


def test_it_makes_no_difference_how_many_rows_come_or_whether_the_stream_was_saved(
    model: CAPS, frame: pd.DataFrame, tmp_path: Path
) -> None:
    whole = brief(streamed(model, frame, 2000))
    assert brief(streamed(model, frame, 7)) == whole
    assert brief(streamed(model, frame, 97, tmp_path / "state")) == whole


def test_an_event_becomes_an_alarm_at_the_first_row_that_is_unlike(
    model: CAPS, frame: pd.DataFrame
) -> None:
    load = frame["load"].to_numpy().copy()
    load[backup(19).start + 5 : backup(19).stop] += 5  # twice as large from its middle on
    changes = streamed(model, frame.assign(load=load), 1)
    last = [each for each in changes if each.start + TRAIN == backup(19).start]
    told = [each.end + TRAIN - backup(19).start for each in last if each.alarm]
    assert [each.alarm for each in last][:5] == [False] * 5
    assert min(told) == 6


def test_revoked_feedback_counts_no_more_from_the_next_row_on(
    model: CAPS, frame: pd.DataFrame
) -> None:
    new, stream = frame[TRAIN:], model.stream()
    before = backup(19).start + 3 - TRAIN
    changes = stream.extend(new["load"][:before], new["time"][:before].to_numpy()).changes
    assert changes[-1].alarm is False
    other = copy.copy(model)
    other.revoke("f1")
    stream.silencer = other.silencer()
    last = stream.extend(new["load"][before:], new["time"][before:].to_numpy()).changes
    assert last[0].what == "updated"
    assert all(each.alarm for each in last)
    assert model.feedback_.active
