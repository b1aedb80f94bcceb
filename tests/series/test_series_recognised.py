"""What files say by themselves: marks, units, clocks, order, and columns that measure nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps import InputError
from caps.series import read, read_many

DAYS = [f"2024-01-{day:02d}" for day in range(1, 29)]
STAMPS = pd.date_range("2024-03-10 22:00", periods=600, freq="h")


def write(folder: Path, text: str, **options: Any) -> Path:
    path = folder / "file.csv"
    path.write_text(text, **options)
    return path


def column(path: Path, **options: Any) -> list[float]:
    return read(path, **options).values[:, 0].tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time;a\n2024-01-01;1,5\n2024-01-02;12\n", [1.5, 12.0]),
        ("2024-01-01;1,5\n2024-01-02;2,5\n", [1.5, 2.5]),
        ("time\ta\n2024-01-01\t1,5\n2024-01-02\t2,5\n", [1.5, 2.5]),
        ("time;a\n31.01.2024 00:00;50,125\n01.02.2024 00:00;51,250\n", [50.125, 51.25]),
        ("time;a\n2024-01-01;1.234,5\n2024-01-02;2,5\n", [1234.5, 2.5]),
        ("time;a\n2024-01-01;1,5 %\n2024-01-02;2,5 %\n", [1.5, 2.5]),
    ],
)
def test_a_decimal_comma_is_found_where_no_field_ends_at_one(
    tmp_path: Path, text: str, expected: list[float]
) -> None:
    series = read(write(tmp_path, text))
    assert series.values[:, 0].tolist() == expected
    assert any("decimal comma" in note for note in series.notes())


def test_a_decimal_comma_after_many_whole_numbers_is_found_too(tmp_path: Path) -> None:
    rows = [f"{day};0" for day in DAYS] + [f"2024-02-{day:02d};0" for day in range(1, 29)]
    path = write(tmp_path, "\n".join(["time;a", *rows, "2024-03-01;1,5"]))
    assert column(path)[-1] == 1.5


@pytest.mark.parametrize("text", ["time;a\n2024-01-01;50,125\n2024-01-02;51,250\n"])
def test_commas_that_may_mark_thousands_are_never_guessed(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match="thousands or decimals") as refused:
        read(path)
    assert 'thousands="," if 50,125 is 50125' in refused.value.remedy
    assert 'decimal="," if it is 50.125' in refused.value.remedy
    assert column(path, thousands=",") == [50125.0, 51250.0]
    assert column(path, decimal=",") == [50.125, 51.25]


def test_a_thousand_in_quotes_is_refused_with_both_remedies(tmp_path: Path) -> None:
    path = write(tmp_path, 'time,a\n2024-01-01,"1,000"\n2024-01-02,"2,000"\n')
    with pytest.raises(InputError, match="may mark thousands or decimals") as refused:
        read(path)
    assert 'thousands="," if 1,000 is 1000' in refused.value.remedy
    assert column(path, thousands=",") == [1000.0, 2000.0]
    assert column(path, decimal=",") == [1.0, 2.0]


@pytest.mark.parametrize("shown", ["1,234.5", "1,234,567"])
def test_thousands_that_can_be_nothing_else_are_read(tmp_path: Path, shown: str) -> None:
    path = write(tmp_path, f'time,a\n2024-01-01,"{shown}"\n2024-01-02,"2,000"\n')
    series = read(path)
    assert series.values[:, 0].tolist() == [float(shown.replace(",", "")), 2000.0]
    assert any("thousands comma" in note for note in series.notes())


def test_marked_thousands_are_read_strictly(tmp_path: Path) -> None:
    path = write(tmp_path, 'time,a\n2024-01-01,"1,5"\n2024-01-02,"2,000"\n')
    with pytest.raises(InputError, match="writes numbers with a comma"):
        read(path, thousands=",")


@pytest.mark.parametrize(
    ("written", "expected", "note"),
    [
        (["45 %", "46.5%"], [45.0, 46.5], "is written in %"),
        (["1 KiB", "2 MiB"], [1024.0, 2 * 2**20], "is written in KiB, MiB, and read in B"),
        (["1.2 GiB", "1 GiB"], [1.2 * 2**30, 2.0**30], "is written in GiB, and read in B"),
        (["950", "1.2 K"], [950.0, 1200.0], "is written in K, and read as plain numbers"),
        (["3 Mil", "1 Bil"], [3e6, 1e9], "is written in Bil, Mil, and read as plain numbers"),
        (["250 ms", "1.5 s"], [0.25, 1.5], "is written in ms, s, and read in s"),
        (["2 kB/s", "1 MB/s"], [2e3, 1e6], "is written in MB/s, kB/s, and read in B/s"),
        (["5 req/s", "1.2 K req/s"], [5.0, 1200.0], "is written in K req/s, req/s, and read"),
        (["21.5 °C", "-3 °C"], [21.5, -3.0], "is written in °C"),
        (["45 %", ""], [45.0, np.nan], "is written in %"),
    ],
)
def test_units_are_read_in_one_unit_whatever_the_file_shows(
    written: list[str], expected: list[float], note: str
) -> None:
    series = read({"time": ["2024-01-01", "2024-01-02"], "used": written})
    np.testing.assert_allclose(series.values[:, 0], expected)
    assert any(f"column 'used' {note}" in each for each in series.notes())


@pytest.mark.parametrize("written", [["4xx", "5xx"], ["1st", "2nd"], ["5 s", "3 GiB"]])
def test_text_after_a_number_that_is_no_unit_makes_it_text(written: list[str]) -> None:
    series = read({"load": [1.0, 2.0], "other": written})
    assert series.channels == ("load",)
    assert "column 'other' holds no numbers and is ignored" in series.notes()


def test_a_unit_here_and_there_is_refused() -> None:
    with pytest.raises(InputError, match="mixes numbers"):
        read(["1.5", "45 %"])


@pytest.mark.parametrize("line", ["sep=,", '"sep=,"', "sep=;"])
def test_a_line_that_names_the_delimiter_is_no_header(tmp_path: Path, line: str) -> None:
    mark = line.strip('"')[-1]
    path = write(tmp_path, f"{line}\nTime{mark}cpu\n2024-01-01{mark}1\n2024-01-02{mark}2\n")
    assert read(path).channels == ("cpu",)
    assert column(path) == [1.0, 2.0]


@pytest.mark.parametrize(
    "written",
    [
        "%m/%d/%Y %I:%M:%S %p",
        "%m/%d/%Y, %I:%M %p",
        "%d/%m/%Y %I:%M %p",
        "%Y-%m-%d %I:%M:%S %p",
        "%b %d, %Y, %I:%M:%S %p",
        "%m/%d/%Y %I:%M:%S\u202f%p",
        "%Y-%m-%d %H:%M:%S,%f",
    ],
)
def test_halves_of_the_day_and_odd_marks_are_understood(written: str) -> None:
    series = read({"time": STAMPS.strftime(written), "a": np.sin(np.arange(600))})
    np.testing.assert_array_equal(series.time, STAMPS.to_numpy())


@pytest.mark.parametrize("written", ["%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"])
def test_days_that_follow_each_other_tell_days_from_months(written: str) -> None:
    stamps = pd.date_range("2024-03-02", periods=24 * 8, freq="h")
    series = read({"time": stamps.strftime(written), "a": np.sin(np.arange(len(stamps)))})
    np.testing.assert_array_equal(series.time, stamps.to_numpy())


def test_one_row_a_day_leaves_days_and_months_open() -> None:
    stamps = pd.date_range("2024-03-02", periods=8, freq="D")
    with pytest.raises(InputError, match="may start with the day or the month"):
        read({"time": stamps.strftime("%m/%d/%Y"), "a": np.arange(8.0)})


@pytest.mark.parametrize("step", ["15min", "30min", "h"])
@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2024-10-20"),
        ("Europe/London", "2024-10-20"),
        ("America/New_York", "2024-10-28"),
    ],
)
def test_the_hour_that_comes_twice_is_read_in_its_zone(step: str, zone: str, day: str) -> None:
    stamps = pd.date_range(day, periods=14 * 96, freq=step, tz=zone)
    series = read({"time": stamps.tz_localize(None), "a": np.sin(np.arange(len(stamps)))})
    np.testing.assert_array_equal(series.time, stamps.tz_convert("UTC").tz_localize(None))
    assert series.timezone == zone
    assert any("end of summer time" in note for note in series.notes())


def test_an_hour_that_comes_twice_on_another_day_is_refused() -> None:
    stamps = pd.date_range("2024-05-05", periods=48, freq="30min")
    twice = [*stamps[:10], *stamps[8:]]
    with pytest.raises(InputError, match="goes back in time") as refused:
        read({"time": twice, "a": np.sin(np.arange(50))})
    assert "timezone=" in refused.value.remedy


def test_rows_that_come_newest_first_are_turned_round(tmp_path: Path) -> None:
    rows = [f"{day},{number}" for number, day in enumerate(DAYS)]
    path = write(tmp_path, "\n".join(["time,a", *rows[::-1]]))
    series = read(path)
    assert series.values[:, 0].tolist() == [float(number) for number in range(28)]
    assert "the rows come newest first and are read in reverse" in series.notes()
    assert series.frame({"score": np.arange(28)}).index.tolist() == list(range(27, -1, -1))
    assert read(path, sort=True).values[:, 0].tolist() == series.values[:, 0].tolist()


def test_rows_in_no_order_stay_an_error() -> None:
    with pytest.raises(InputError, match="goes back in time"):
        read({"time": ["2024-01-03", "2024-01-01", "2024-01-02"], "a": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("order", [["id", "time"], ["time"]])
@pytest.mark.parametrize("numbered", [True, False])
def test_a_long_table_is_told_with_the_column_of_its_ids(order: list[str], numbered: bool) -> None:
    ids = [1, 2, 3] if numbered else ["a", "b", "c"]
    frame = pd.DataFrame({"id": np.repeat(ids, 28), "time": DAYS * 3, "value": range(84)})
    with pytest.raises(InputError, match="several series") as refused:
        read(frame.sort_values(order, kind="stable"))
    assert refused.value.remedy == 'use read_many(id="id", value="value")'
    assert len(read_many(frame, id="id", value="value")) == 3


def test_a_column_that_repeats_with_the_times_makes_no_long_table() -> None:
    with pytest.raises(InputError, match="repeat a time"):
        read({"time": [*DAYS, DAYS[-1]], "host": ["a"] * 29, "value": range(29)})


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("seq", np.arange(7, 107), "counts the rows"),
        ("request_id", np.random.default_rng(0).permutation(100), "is called an id"),
    ],
)
def test_numbers_that_only_tell_rows_apart_are_left_out(
    name: str, values: np.ndarray, reason: str
) -> None:
    table = {"load": np.sin(np.arange(100)), name: values}
    series = read(table)
    assert series.channels == ("load",)
    assert any(f"column {name!r} {reason}" in note for note in series.notes())
    assert read(table, columns=["load", name]).channels == ("load", name)
    assert read({name: values}).channels == (name,)


def test_a_measurement_that_rises_is_no_number_of_rows() -> None:
    rising = {"load": np.sin(np.arange(100)), "disk": np.arange(100) * 2.0}
    assert read(rising).channels == ("load", "disk")


def test_infinite_numbers_are_no_numbers_of_rows() -> None:
    table = {"load": np.sin(np.arange(100)), "odd": np.full(100, np.inf)}
    with pytest.raises(InputError, match="odd"):
        read(table, columns=["odd"])
    assert "load" in read(table).channels
