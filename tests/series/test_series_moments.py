"""A moment is read and written in one way, wherever it comes from and whoever reads it."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps.errors import InputError
from caps.series import local_times, read, read_moment, write_moment

NOON = np.datetime64("2024-03-01T12:00:00", "ns")


@pytest.mark.parametrize(
    "given",
    [
        "2024-03-01 12:00",
        " 2024-03-01T12:00:00Z ",
        "2024-03-01T13:00+01:00",
        "March 1 2024 12:00",
        "1709294400",
        1_709_294_400_000,
        1_709_294_400.0,
        datetime(2024, 3, 1, 12),
        datetime(2024, 3, 1, 12, tzinfo=UTC),
        np.datetime64("2024-03-01T12"),
        pd.Timestamp("2024-03-01 14:00", tz="Africa/Cairo"),
    ],
    ids=repr,
)
def test_every_way_to_give_a_moment_is_read(given: Any) -> None:
    assert read_moment(given) == NOON


@pytest.mark.parametrize("given", ["2024-03-01", date(2024, 3, 1), np.datetime64("2024-03-01")])
def test_a_moment_without_a_zone_is_meant_in_that_of_the_data(given: Any) -> None:
    assert read_moment(given, "Asia/Tokyo") == np.datetime64("2024-02-29T15:00")


@pytest.mark.parametrize("given", ["2024-03-01T12:00:00.123456789", "1709294400.25"])
def test_no_digit_of_a_second_is_lost(given: str) -> None:
    column = read({"time": [given, "2030-01-01" if "T" in given else "1900000000"], "load": [1, 2]})
    assert column.time is not None
    assert read_moment(given) == column.time[0] != NOON


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ("soon", "no moment"),
        ("03/04/2024", "the day or the month"),
        ("NaT", "missing"),
        (pd.NaT, "missing"),
        (np.datetime64("NaT"), "missing"),
        (None, "missing"),
        (17, "counts steps"),
        ("9999-12-31", "outside 1677 to 2262"),
        ("9" * 5000, "no moment"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_none_is_refused_by_the_name_it_was_given(given: Any, cause: str) -> None:
    for zone in (None, "Europe/Berlin"):
        with pytest.raises(InputError, match=f"train=.* is no moment.*{cause}|{cause}") as refusal:
            read_moment(given, zone, where="train=...")
        assert refusal.value.problem.startswith("train=... is no moment")


def test_a_moment_that_the_clocks_leave_out_is_refused() -> None:
    with pytest.raises(InputError, match="clock changes of Europe/Berlin"):
        read_moment("2024-03-31 02:30", "Europe/Berlin")


def test_moments_are_written_as_fine_as_they_are_or_cut() -> None:
    time = NOON + np.timedelta64(250, "ms")
    assert write_moment(NOON) == "2024-03-01 12:00:00"
    assert write_moment(time, separator="T") == "2024-03-01T12:00:00.25"
    assert [write_moment(time, unit) for unit in ("D", "m", "s", "ms")] == [
        "2024-03-01",
        "2024-03-01 12:00",
        "2024-03-01 12:00:00",
        "2024-03-01 12:00:00.250",
    ]
    assert write_moment(NOON, "m", timezone="Asia/Tokyo") == "2024-03-01 21:00"


def test_what_is_written_is_read_again() -> None:
    for time in (NOON, NOON + np.timedelta64(1, "ns"), NOON - np.timedelta64(90, "D")):
        assert read_moment(write_moment(time)) == time
    times = np.array([NOON, NOON + np.timedelta64(200, "D")])
    local = local_times(times, "Europe/Berlin")
    assert [read_moment(each, "Europe/Berlin") for each in local] == list(times)
