"""Finding the time column, and reading times of every kind into UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from caps.errors import InputError
from caps.series import read

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
START = 1_700_000_000  # 2023-11-14T22:13:20Z


def times(source: Any, **options: Any) -> list[str]:
    series = read(source, **options)
    assert series.time is not None
    return [str(moment) for moment in series.time.astype("datetime64[ms]")]


def table(name: str, values: Any) -> dict[str, Any]:
    return {name: values, "load": list(range(len(values)))}


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "Timestamp",
        "DATE",
        "date_time",
        "ds",
        "@timestamp",
        "ts",
        "timestamp_(min)",
        "Epoch",
    ],
)
def test_a_time_column_is_found_by_its_name(name: str) -> None:
    series = read(table(name, [START, START + 60]))
    assert series.channels == ("load",)
    assert series.time is not None


def test_a_typed_column_goes_before_a_name() -> None:
    frame = pd.DataFrame({"time": [3, 1], "start": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    series = read(frame)
    assert series.channels == ("time",)
    assert str(series.time[0])[:10] == "2024-01-01"


def test_among_typed_columns_the_name_decides() -> None:
    stamps = pd.to_datetime(["2024-01-01", "2024-01-02"])
    frame = pd.DataFrame({"created": stamps[::-1], "time": stamps, "load": [1, 2]})
    series = read(frame)
    assert series.channels == ("load",)
    assert str(series.time[0])[:10] == "2024-01-01"
    assert "column 'created' holds no numbers and is ignored" in series.notes()


def test_text_that_is_dates_is_found_under_any_name() -> None:
    assert times(table("Zeit", ["2024-01-01 10:00", "2024-01-01 11:00"]))[1].startswith(
        "2024-01-01T11"
    )


def test_an_index_of_text_dates_is_the_time() -> None:
    frame = pd.DataFrame({"load": [1, 2]}, index=["2024-01-01", "2024-01-02"])
    assert read(frame).time is not None


def test_an_index_may_be_named_as_the_time() -> None:
    frame = pd.DataFrame({"load": [1, 2]}, index=pd.Index([START, START + 1], name="sample"))
    assert read(frame).time is None
    assert read(frame, time="sample").time is not None


def test_the_user_names_the_time_column_or_does_without() -> None:
    source = {"time": [5, 3], "measured": ["2024-01-01", "2024-01-02"], "load": [1, 2]}
    assert read(source, time="measured").channels == ("time", "load")
    assert read(source, time=False, columns=["time"]).time is None
    with pytest.raises(InputError, match="no column 'clock'"):
        read(source, time="clock")


def test_times_may_be_given_beside_an_array() -> None:
    moments = pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin")
    series = read(np.zeros((3, 2)), time=moments)
    assert str(series.time[0])[:16] == "2023-12-31T23:00"
    assert series.timezone == "Europe/Berlin"
    with pytest.raises(InputError, match="for 3 rows"):
        read(np.zeros((3, 2)), time=moments[:2])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64, "text"])
def test_epoch_units_are_told_apart_by_magnitude(unit: str, kind: Any) -> None:
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [START * factor, (START + 60) * factor]
    column = [str(n) for n in numbers] if kind == "text" else np.array(numbers, dtype=kind)
    found = times(table("time", column))
    assert found == ["2023-11-14T22:13:20.000", "2023-11-14T22:14:20.000"]
    assert read(table("time", column)).timezone == "UTC"


@pytest.mark.parametrize("year", [1974, 2000, 2024, 2100, 2261])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_year_from_1974_on_is_understood_in_every_unit(year: int, unit: str) -> None:
    moments = np.array([f"{year}-01-01", f"{year}-06-01"], dtype=f"datetime64[{unit}]")
    assert times(table("time", moments.astype(np.int64)))[0].startswith(str(year))


def test_nanoseconds_are_not_rounded() -> None:
    exact = START * 10**9 + 123_456_789
    series = read(table("time", np.array([exact, exact + 1])))
    assert series.time.astype(np.int64).tolist() == [exact, exact + 1]


def test_fractions_of_seconds_are_kept_to_the_microsecond() -> None:
    assert times(table("time", [START + 0.25, START + 0.5]))[0].endswith("20.250")
    series = read(table("time", [START + 0.1, START + 0.2]))
    assert series.time.astype(np.int64).tolist() == [
        START * 10**9 + 10**8,
        START * 10**9 + 2 * 10**8,
    ]


def test_small_numbers_count_steps_and_are_no_times() -> None:
    series = read(table("time", [0, 1, 2]))
    assert series.time is None
    assert series.channels == ("load",)
    assert "taken as a count of steps" in series.notes()[0]
    assert series.frame({"score": [1, 2, 3]})["time"].tolist() == [0, 1, 2]


def test_a_unit_makes_small_numbers_times() -> None:
    assert times(table("time", [0, 60]), unit="s")[1] == "1970-01-01T00:01:00.000"
    assert times(table("time", [-86400, 0]), unit="s")[0] == "1969-12-31T00:00:00.000"


def test_numbers_of_two_units_are_refused() -> None:
    with pytest.raises(InputError, match="no single epoch unit"):
        read(table("time", [START, START * 1000]))
    with pytest.raises(InputError, match="no single epoch unit"):
        read(table("time", [5, START]))


def test_a_wrong_unit_is_refused() -> None:
    with pytest.raises(InputError, match="beyond the year 2262"):
        read(table("time", [START * 1000, START * 1000 + 1]), unit="s")
    with pytest.raises(InputError, match="one of s, ms, us, ns"):
        read(table("time", [1, 2]), unit="minutes")


@pytest.mark.parametrize(
    ("values", "first", "zone"),
    [
        (["2024-01-01", "2024-01-02"], "2024-01-01T00:00:00.000", None),
        (["2024-01-01T10:00:00Z", "2024-01-01T11:00:00Z"], "2024-01-01T10:00:00.000", "UTC"),
        (["2024-01-01T10+02:00", "2024-01-01T11+02:00"], "2024-01-01T08:00:00.000", "UTC+02:00"),
        (["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00"], "2024-03-31T00:00:00.000", "UTC"),
        (["5 Jan 2024", "6 Jan 2024"], "2024-01-05T00:00:00.000", None),
        (["31.12.2024 10:00", "01.01.2025 10:00"], "2024-12-31T10:00:00.000", None),
        (["31/12/2024", "01/01/2025"], "2024-12-31T00:00:00.000", None),
        (["12/31/2024", "01/01/2025"], "2024-12-31T00:00:00.000", None),
        ([date(2024, 1, 1), date(2024, 1, 2)], "2024-01-01T00:00:00.000", None),
        ([NOON, NOON + timedelta(1)], "2024-01-01T12:00:00.000", "UTC"),
        (np.array(["2024-01", "2024-02"], dtype="datetime64[M]"), "2024-01-01T00:00:00.000", None),
    ],
)  # fmt: skip
def test_times_are_read_from_text_and_objects(values: Any, first: str, zone: str | None) -> None:
    series = read(table("time", values))
    assert times(table("time", values))[0] == first
    assert series.timezone == zone


def test_dates_that_may_start_with_day_or_month_need_a_format() -> None:
    source = table("time", ["01/02/2024", "02/02/2024"])
    with pytest.raises(InputError, match=r"give time_format="):
        read(source)
    assert times(source, time_format="%d/%m/%Y")[0].startswith("2024-02-01")
    compact = table("date", [20240105, 20240106])
    assert times(compact, time_format="%Y%m%d")[0].startswith("2024-01-05")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"load": [1, 2]}, index=pd.period_range("2024-01", periods=2, freq="M")),
        pd.DataFrame({"month": pd.period_range("2024-01", periods=2, freq="M"), "load": [1, 2]}),
        pl.DataFrame({"day": [date(2024, 1, 1), date(2024, 2, 1)], "load": [1, 2]}),
    ],
    ids=["period index", "period column", "polars dates"],
)
def test_periods_and_dates_count_from_their_start(frame: Any) -> None:
    assert [moment[:10] for moment in times(frame)] == ["2024-01-01", "2024-02-01"]


def test_zone_aware_times_are_stored_in_utc() -> None:
    index = pd.date_range("2024-10-27 00:00", periods=5, freq="h", tz="Europe/Berlin")
    series = read(pd.DataFrame({"load": range(5)}, index=index))
    assert series.sampling.regular
    assert str(series.time[0])[:16] == "2024-10-26T22:00"


def test_times_without_a_zone_are_placed_in_the_zone_given() -> None:
    clock = ["2024-10-27 01:30", "2024-10-27 02:30", "2024-10-27 02:30", "2024-10-27 03:30"]
    series = read(table("time", clock), timezone="Europe/Berlin")
    assert series.sampling.step == np.timedelta64(1, "h")
    assert series.timezone == "Europe/Berlin"
    assert str(series.time[0])[:16] == "2024-10-26T23:30"


def test_times_that_a_clock_change_left_out_are_refused() -> None:
    with pytest.raises(InputError, match="clock changes of Europe/Berlin"):
        read(table("time", ["2024-03-31 02:30", "2024-03-31 03:30"]), timezone="Europe/Berlin")


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InputError, match="Europe/Nowhere"):
        read([1, 2], timezone="Europe/Nowhere")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2024-01-01", "tomorrow"], "'tomorrow' in row 1"),
        (["Monday", "Tuesday"], "'Monday' in row 0"),
        (["2024-01-01", None], "missing in row 1"),
        (["2024-01-01", ""], "missing in row 1"),
        ([START, float("nan")], "missing or infinite in row 1"),
        (["2024-01-01 10:00+02:00", "2024-01-01 11:00"], "carry an offset"),
        (["2024-01-01", "9999-12-31"], "outside 1677 to 2262"),
        ([datetime(2024, 1, 1), 3], "cannot be read as times"),
        ([object(), object()], "cannot be read as times"),
    ],
    ids=lambda value: None if isinstance(value, list) else value,
)
def test_unreadable_times_are_refused_with_their_row(values: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(table("time", values))


def test_missing_times_in_typed_columns_are_refused() -> None:
    stamps = [datetime(2024, 1, 1), None]
    for source in (pd.DataFrame(table("time", stamps)), pl.DataFrame(table("time", stamps))):
        with pytest.raises(InputError, match="missing in row 1"):
            read(source)


@pytest.mark.parametrize(
    "moments",
    [
        np.array(["1500", "2024"], dtype="datetime64[Y]"),
        np.array(["1677", "2024"], dtype="datetime64[Y]"),
        np.array([10**13, 10**13 + 584_554_531], dtype="datetime64[Y]"),
        np.array(["2599-11-20", "2599-11-21"], dtype="datetime64[s]"),
        pd.Series(["2599-11-20", "2599-11-21"], dtype="datetime64[us]"),
        pl.Series([datetime(1500, 1, 1), datetime(2024, 1, 1)]),
        ["1500-01-01", "1500-01-02"],
        [datetime(2599, 1, 1), datetime(2599, 1, 2)],
    ],
    ids=lambda moments: str(moments[0]),
)
def test_times_that_nanoseconds_cannot_hold_are_refused(moments: Any) -> None:
    with pytest.raises(InputError, match="outside 1677 to 2262"):
        read(table("time", moments))


@pytest.mark.parametrize("unit", ["as", "fs", "ps", "7D", "M"])
def test_times_in_any_unit_are_read(unit: str) -> None:
    moments = np.array([0, 2], dtype=f"datetime64[{unit}]")
    expected = moments.astype("datetime64[ns]")
    assert np.array_equal(read(table("time", moments), duplicates="keep").time, expected)


@pytest.mark.parametrize(
    "at",
    [
        "2599-11-20",
        "1500-01-01",
        "9999-12-31 23:00-05:00",
        datetime(2599, 1, 1),
        np.datetime64("2599"),
    ],
)
def test_a_moment_that_nanoseconds_cannot_hold_splits_nothing(at: Any) -> None:
    series = read({"time": pd.date_range("2015-01-01", periods=365), "load": np.arange(365.0)})
    with pytest.raises(InputError, match="outside 1677 to 2262"):
        series.split(at)
