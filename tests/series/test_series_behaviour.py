"""What a `Series` can tell and how it is cut."""

import subprocess
import sys
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest

import caps.series
from caps.errors import InputError
from caps.lazy import homes
from caps.series import Series, read


def hourly(hours: list[float], zone: str | None = None) -> Series:
    index = pd.Timestamp("2024-01-01", tz=zone) + pd.to_timedelta(hours, unit="h")
    return read(pd.DataFrame({"load": np.arange(len(hours))}, index=pd.DatetimeIndex(index)))


def test_a_regular_series_has_a_step_and_no_gaps() -> None:
    facts = hourly([0, 1, 2, 3]).sampling
    assert (facts.step, facts.regular, facts.gaps, facts.absent) == (
        np.timedelta64(1, "h"),
        True,
        0,
        0,
    )


def test_gaps_are_counted_and_do_not_make_a_series_irregular() -> None:
    facts = hourly([0, 1, 2, 5, 6, 7, 9]).sampling
    assert facts.regular
    assert facts.gap_rows.tolist() == [3, 6]
    assert facts.absent == 3


def test_jitter_below_a_tenth_is_regular_and_above_is_not() -> None:
    assert hourly([0, 1.04, 1.97, 3.0]).sampling.regular
    assert not hourly([0, 1, 2.4, 3, 4]).sampling.regular


@pytest.mark.parametrize("freq", ["MS", "QS", "YS", "B", "D"])
def test_calendar_steps_are_regular(freq: str) -> None:
    index = pd.date_range("2023-01-02", periods=40, freq=freq, tz="Europe/Berlin")
    assert read(pd.DataFrame({"load": range(40)}, index=index)).sampling.regular


def test_a_series_without_times_has_no_step() -> None:
    facts = read([1, 2, 3]).sampling
    assert (facts.step, facts.regular, facts.gaps) == (None, True, 0)


def test_rows_left_out_appear_on_the_grid_as_not_observed() -> None:
    series = hourly([0, 1, 2, 5])
    grid, rows = series.on_grid()
    assert rows.tolist() == [0, 1, 2, 5]
    assert grid.observed[:, 0].tolist() == [True, True, True, False, False, True]
    assert np.isnan(grid.values[3:5]).all()
    assert grid.sampling.gaps == 0
    np.testing.assert_array_equal(grid.time[rows], series.time)
    assert len(grid.frame({"score": np.zeros(6)})) == 6


def test_a_series_without_gaps_is_its_own_grid() -> None:
    series = hourly([0, 1, 2])
    assert series.on_grid()[0] is series


def test_no_grid_is_made_for_irregular_or_nearly_empty_series() -> None:
    with pytest.raises(InputError, match="resample"):
        hourly([0, 1, 2.5, 3]).on_grid()
    with pytest.raises(InputError, match="split the series at its long gaps"):
        hourly([0, 1, 2, 900]).on_grid()


@pytest.mark.parametrize("at", [6, 0.6, "6", "0.6", "2024-01-01 06:00", datetime(2024, 1, 1, 6)])
def test_a_series_is_split_by_rows_share_or_moment(at: object) -> None:
    first, rest = hourly(list(range(10))).split(at)
    assert (len(first), len(rest)) == (6, 4)
    assert rest.values[0, 0] == 6.0


def test_moments_are_meant_in_the_zone_of_the_series() -> None:
    series = hourly(list(range(48)), zone="Asia/Tokyo")
    assert len(series.split("2024-01-02")[0]) == 24
    assert len(series.split(date(2024, 1, 2))[0]) == 24
    assert len(series.split(datetime(2024, 1, 2, tzinfo=UTC))[0]) == 33
    assert len(series.split(np.datetime64("2024-01-02"))[0]) == 24


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (0, "leaves 0 of 10 rows"),
        (10, "leaves 10 of 10 rows"),
        (-3, "both parts"),
        (1.5, "share"),
        (True, "no row"),
        ("2030-01-01", "leaves 10 of 10"),
        ("yesterday morning", "no moment"),
        ("NaT", "no moment"),
    ],
)
def test_splits_that_leave_a_part_empty_are_refused(at: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hourly(list(range(10))).split(at)


def test_a_series_without_times_is_not_split_by_date() -> None:
    with pytest.raises(InputError, match="give a number of rows"):
        read([1, 2, 3]).split("2024-01-02")


def test_slices_are_views_with_their_own_times() -> None:
    series = hourly(list(range(10)))
    part = series[2:5]
    assert np.shares_memory(part.values, series.values)
    assert part.time[0] == series.time[2]
    with pytest.raises(TypeError, match="start:stop"):
        series[3]


def test_channels_are_selected_by_name() -> None:
    series = read({"a": [1, 2], "b": [3, None], "c": [5, 6]})
    part = series.select("c", "b")
    assert part.channels == ("c", "b")
    assert part.observed.tolist() == [[True, True], [True, False]]
    with pytest.raises(InputError, match="name some of a, b, c"):
        series.select("d")
    with pytest.raises(InputError, match="no channel named"):
        series.select()


def test_a_clean_series_has_no_notes() -> None:
    assert hourly([0, 1, 2, 3]).notes() == []


def test_notes_name_gaps_missing_values_and_constant_runs() -> None:
    load = np.arange(100.0)
    load[10:40] = 7.0
    load[50:55] = np.nan
    index = pd.date_range("2024-01-01", periods=120, freq="10min").delete(range(60, 80))
    notes = read(pd.DataFrame({"load": load}, index=index)).notes()
    assert notes == [
        "1 gap in time: about 20 rows of 10 min left out; the longest lies between "
        "2024-01-01 09:50:00 and 2024-01-01 13:20:00",
        "channel 'load': 5 of 100 values missing (5 %)",
        "channel 'load' stays at 7 for 30 rows from 2024-01-01 01:40:00",
    ]


def test_notes_mark_utc_where_the_times_have_a_zone() -> None:
    (note,) = hourly([0, 1, 2, 9], zone="Asia/Tokyo").notes()
    assert note.endswith("between 2023-12-31 17:00:00 UTC and 2024-01-01 00:00:00 UTC")


def test_notes_tell_irregular_sampling() -> None:
    assert hourly([0, 1, 2, 3.4, 4]).notes() == [
        "sampling is irregular around a median step of 1 h"
    ]


def test_repeated_times_count_as_irregular() -> None:
    source = {"time": ["2024-01-01"] * 3, "load": [1, 2, 3]}
    assert not read(source, duplicates="keep").sampling.regular


def test_parts_that_do_not_fit_together_are_refused() -> None:
    values = np.zeros((3, 2))
    observed = np.ones((3, 2), dtype=bool)
    with pytest.raises(InputError, match="1 channels"):
        Series(values, observed, ("a",))
    with pytest.raises(InputError, match="mask"):
        Series(values, observed[:2], ("a", "b"))
    with pytest.raises(InputError, match="2 times for 3 rows"):
        Series(
            values, observed, ("a", "b"), time=np.array(["2024", "2025"], dtype="datetime64[ns]")
        )


def test_the_representation_is_short() -> None:
    assert repr(read([1, 2])) == "Series(2 rows, 1 channel)"


def test_public_names_are_there() -> None:
    for name in caps.series.__all__:
        assert getattr(caps.series, name) is not None
        assert homes("caps.series")[name].startswith("caps.series.")


def test_importing_the_package_loads_no_heavy_library() -> None:
    heavy = "{'pandas', 'polars', 'pyarrow', 'scipy', 'torch'}"
    program = f"import sys, caps.series; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


def test_reading_an_array_needs_no_pandas() -> None:
    program = (
        "import sys, numpy, caps.series as s; s.Scaler.fit(s.read(numpy.arange(9.0)));"
        "print('pandas' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False"
