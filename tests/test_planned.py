"""Planned events: which moments they cover, for which series, and what is wrong with a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.errors import InputError
from caps.planned import MOST_WINDOWS, Planned
from recurring_series import BACKUPS, DAY, INCIDENT, TRAIN, recurring

NIGHT = {"name": "night", "weekly": ["fri", "saturday"], "from": "23:00", "to": "01:30"}


def planned(*entries: dict[str, Any], **more: Any) -> Planned:
    return Planned.from_dict({"planned": list(entries), **more})


def covers(of: Planned, start: str, end: str | None = None, series: str = "") -> str | None:
    return of.covering(np.datetime64(start), np.datetime64(end or start), series)


def test_a_one_off_span_ends_before_its_end() -> None:
    one = planned({"name": "move", "start": "2024-05-03 18:00", "end": "2024-05-03 20:00"})
    assert covers(one, "2024-05-03T18:00") == "move"
    assert covers(one, "2024-05-03T19:59") == "move"
    assert covers(one, "2024-05-03T20:00") is None
    assert covers(one, "2024-05-03T17:50", "2024-05-03T18:10") is None


def test_hours_that_end_no_later_than_they_begin_reach_into_the_next_day() -> None:
    night = planned(NIGHT)
    assert covers(night, "2024-05-03T23:30", "2024-05-04T01:00") == "night"  # a Friday
    assert covers(night, "2024-05-05T01:00") == "night"  # after Saturday
    assert covers(night, "2024-05-05T23:30") is None
    assert covers(night, "2024-05-04T01:30") is None


@pytest.mark.parametrize(
    ("day", "hour"), [("2024-03-30", "01:30"), ("2024-03-31", "00:30"), ("2024-10-27", "01:30")]
)
def test_clocks_that_are_set_are_followed(day: str, hour: str) -> None:
    backup = {"name": "backup", "weekly": "daily", "from": "02:30", "to": "04:00"}
    local = planned(backup, timezone="Europe/Berlin")
    assert (covers(local, f"{day}T{hour}") == "backup") is (day != "2024-03-31")
    assert covers(local, f"{day}T02:10") == (None if day == "2024-03-31" else "backup")


def test_spans_that_follow_on_each_other_are_one() -> None:
    days = planned({"name": "holidays", "dates": ["2024-12-26", "2024-12-25"]})
    assert covers(days, "2024-12-25T22:00", "2024-12-26T03:00") == "holidays"
    assert covers(days, "2024-12-26T22:00", "2024-12-27T00:00") is None
    weekend = planned({"name": "weekend", "weekly": ["sat", "sun"]})
    assert covers(weekend, "2024-05-04T20:00", "2024-05-05T20:00") == "weekend"


def test_an_entry_may_concern_some_series_and_some_weeks() -> None:
    some = planned({**NIGHT, "series": ["db-*"], "since": "2024-05-01", "until": "2024-05-10"})
    assert covers(some, "2024-05-03T23:30", series="db-1") == "night"
    assert covers(some, "2024-05-03T23:30", series="web") is None
    assert covers(some, "2024-04-26T23:30", series="db-1") is None
    assert covers(some, "2024-05-17T23:30", series="db-1") is None


def test_one_entry_with_many_spans_hides_no_other() -> None:
    nightly = {"name": "backup", "weekly": "daily", "from": "02:00", "to": "03:00"}
    weekly = {"name": "release", "weekly": ["tue"], "from": "18:00", "to": "20:00"}
    years = np.datetime64("2020-01-01T00:00"), np.datetime64("2024-01-01T00:00")
    found = [each.name for each in planned(nightly, weekly).windows(*years)]
    assert found.count("backup") == MOST_WINDOWS
    assert found.count("release") == 208


def test_rows_without_times_know_no_plans() -> None:
    assert planned(NIGHT).covering(None, None) is None
    assert planned(NIGHT).on(None) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "planned event 2 has no name"),
        ({"name": "x"}, 'planned event 2 ("x") says not when it is'),
        ({"name": "x", "weekly": ["fri"], "dates": ["2024-05-01"]}, "several times when"),
        ({"name": "x", "start": "2024-05-01"}, 'has no "end"'),
        ({"name": "x", "start": "2024-05-02", "end": "2024-05-01"}, '"end" is not after "start"'),
        ({"name": "x", "start": "soon", "end": "2024-05-01"}, "'soon', no moment"),
        ({"name": "x", "weekly": ["fre"]}, "'fre', no day of the week"),
        ({"name": "x", "weekly": ["fri"], "to": "25:00"}, "'25:00', no time of day"),
        ({"name": "x", "dates": ["2024-13-01"]}, "'2024-13-01', no day"),
        ({"name": "x", "weekly": "daily", "hours": 3}, "has the odd key 'hours'"),
        ({"name": "x", "weekly": "daily", "timezone": "Berlin"}, "'Berlin' is no time zone"),
        ({"name": "x", "weekly": "daily", "series": 3}, '"series" is no list'),
        ({"name": "x", "weekly": "daily", "since": "2024-05-02", "until": "2024-05-01"}, "until"),
        ("x", "planned event 2 is no table"),
    ],
)
def test_an_odd_entry_is_named_with_the_remedy(entry: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        planned(NIGHT, entry)
    assert message in refused.value.problem
    assert refused.value.remedy


def test_files_are_read_as_toml_or_json(tmp_path: Path) -> None:
    toml, json = tmp_path / "planned.toml", tmp_path / "planned.json"
    toml.write_text('[[planned]]\nname = "day"\ndates = [2024-05-01]\nfrom = 08:00:00\n')
    json.write_text('{"planned": [{"name": "day", "dates": ["2024-05-01"], "from": "08:00"}]}')
    assert Planned.read(toml) == Planned.read(json)
    json.write_text('{"planned": [{"name": ""}]}')
    with pytest.raises(InputError, match=r"planned\.json: planned event 1 has no name"):
        Planned.read(json)
    toml.write_text("[[planned]\n")
    with pytest.raises(InputError, match="no sound TOML"):
        Planned.read(toml)
    with pytest.raises(InputError, match="cannot be read"):
        Planned.read(tmp_path / "none.toml")


def test_planned_events_are_scored_and_no_alarms() -> None:
    frame = recurring()
    model = CAPS(train=TRAIN, alarms="1/week").fit(frame)
    before = model.analyze(frame)
    backup = {"name": "backup", "weekly": "daily", "from": "04:00", "to": "08:30"}
    model.set_planned({"planned": [{**backup, "series": ["disk"]}]}, "disk")
    after = model.analyze(frame)
    np.testing.assert_array_equal(after.score, before.score)
    told = {each.peak // DAY: each.alarm for each in after.events}
    assert told == dict.fromkeys(BACKUPS, False) | {INCIDENT.start // DAY: True}
    table = model.events(frame)
    assert set(table["silenced"].dropna()) == {"planned"}
    assert "it lies within the planned event" in after.explanations()[0].reason
    other = model.set_planned({"planned": [{**backup, "series": ["disk"]}]}, "cpu")
    assert all(each.alarm for each in other.analyze(frame).events)
    numbered = pd.DataFrame({"load": frame["load"]})
    model.set_planned({"planned": [backup]})
    assert all(each.alarm for each in model.analyze(numbered).events)
