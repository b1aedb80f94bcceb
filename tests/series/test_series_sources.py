"""Every library gives the same series, and gets its results back on its own rows."""

import array
from datetime import UTC, datetime, timedelta
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from caps.errors import InputError
from caps.series import Series, read

MOMENTS = [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(4)]
LOAD = [1.0, None, 3.0, 4.5]
ERRORS = [0, 1, None, 7]
COLUMNS = {"when": MOMENTS, "load": LOAD, "errors": ERRORS}


def frames() -> dict[str, Any]:
    plain = pd.DataFrame(COLUMNS)
    return {
        "pandas": plain,
        "pandas indexed": plain.set_index("when"),
        "pandas nullable": plain.convert_dtypes(dtype_backend="numpy_nullable"),
        "pandas on arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas objects": plain.astype({"load": object, "errors": object}),
        "polars": pl.DataFrame(COLUMNS),
        "arrow": pa.table(COLUMNS),
        "narwhals": nw.from_native(pl.DataFrame(COLUMNS)),
        "mapping": COLUMNS,
    }


@pytest.mark.parametrize("library", frames())
def test_every_library_gives_the_same_series(library: str) -> None:
    series = read(frames()[library])
    assert series.channels == ("load", "errors")
    np.testing.assert_array_equal(series.values, [[1, 0], [np.nan, 1], [3, np.nan], [4.5, 7]])
    assert series.observed.tolist() == [[True, True], [False, True], [True, False], [True, True]]
    assert series.time is not None
    assert series.time.dtype == np.dtype("datetime64[ns]")
    assert series.time.tolist() == np.array(MOMENTS, dtype="datetime64[ns]").tolist()
    assert series.timezone is None


def test_missing_values_are_not_a_number_exactly_where_the_mask_is_false() -> None:
    for source in frames().values():
        series = read(source)
        assert (np.isnan(series.values) == ~series.observed).all()


def test_a_series_cannot_be_changed_and_does_not_follow_its_source() -> None:
    source = np.array([1.0, 2.0, 3.0])
    series = read(source)
    source[0] = 99.0
    assert series.values[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        series.values[0, 0] = 5.0


@pytest.mark.parametrize(
    "source",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        range(1, 4),
        array.array("d", [1, 2, 3]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=">f4"),
        np.array([[1], [2], [3]]),
        [[1], [2], [3]],
        [True + 0, 2, 3.0],
        pd.Series([1, 2, 3]),
        pl.Series([1, 2, 3]),
        pa.chunked_array([[1, 2], [3]]),
        np.ma.masked_array([1, 2, 3], mask=False),
    ],
    ids=lambda source: type(source).__name__,
)
def test_flat_sources_have_one_channel_called_value(source: Any) -> None:
    series = read(source)
    assert series.channels == ("value",)
    assert series.values.tolist() == [[1.0], [2.0], [3.0]]
    assert series.time is None


def test_a_named_column_keeps_its_name() -> None:
    assert read(pd.Series([1, 2], name="load")).channels == ("load",)
    assert read(pl.Series("load", [1, 2])).channels == ("load",)


def test_array_columns_are_numbered() -> None:
    series = read(np.arange(6).reshape(3, 2))
    assert series.channels == ("channel_0", "channel_1")
    assert read(np.arange(6).reshape(3, 2), columns=[1]).channels == ("channel_1",)
    assert read(pd.DataFrame(np.ones((3, 2))), columns=1).channels == ("1",)


def test_masked_entries_are_missing() -> None:
    masked = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    assert read(masked).observed[:, 0].tolist() == [True, False, True]


def test_structured_arrays_are_read_by_field() -> None:
    fields = np.array([(1, 2.5), (2, 3.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert read(fields).channels == ("a", "b")


def test_columns_and_exclude_choose_the_channels() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "Label": [0, 1]})
    assert read(frame, columns=["b", "a"]).channels == ("b", "a")
    assert read(frame, columns=["b", "a"]).values.tolist() == [[3.0, 1.0], [4.0, 2.0]]
    assert read(frame, exclude="Label").channels == ("a", "b")
    with pytest.raises(InputError, match="no column 'c': name some of a, b, Label"):
        read(frame, columns="c")
    with pytest.raises(InputError, match="more than once"):
        read(frame, columns=["a", "a"])


def test_a_series_reads_as_itself() -> None:
    series = read([1, 2, 3])
    assert read(series) is series
    with pytest.raises(InputError, match="already"):
        read(series, columns="value")


@pytest.mark.parametrize(
    "source", [None, 3.0, object(), {1, 2}], ids=lambda value: type(value).__name__
)
def test_things_that_are_no_table_are_refused(source: object) -> None:
    with pytest.raises(InputError, match="give"):
        read(source)


def test_lazy_frames_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"\.collect\(\)"):
        read(pl.DataFrame(COLUMNS).lazy())


def scores(series: Series) -> np.ndarray:
    return np.arange(len(series)) / 10


def test_pandas_results_keep_the_index() -> None:
    frame = pd.DataFrame({"load": [1.0, 2.0, 3.0]}, index=pd.Index(["x", "y", "y"], name="host"))
    series = read(frame)
    result = series.frame({"score": scores(series), "kind": ["a", "b", None]})
    pd.testing.assert_index_equal(result.index, frame.index)
    assert result["score"].tolist() == [0.0, 0.1, 0.2]
    assert result.columns.tolist() == ["score", "kind"]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_pandas_results_keep_a_time_index_and_its_zone(zone: str | None) -> None:
    index = pd.date_range("2024-03-30", periods=5, freq="12h", tz=zone, name="when")
    series = read(pd.DataFrame({"load": range(5)}, index=index))
    result = series.frame({"score": scores(series)})
    pd.testing.assert_index_equal(result.index, index)
    assert series.timezone == zone


def test_pandas_results_keep_the_time_column_beside_the_index() -> None:
    frame = pd.DataFrame(COLUMNS, index=[10, 20, 20, 40])
    result = read(frame).frame({"score": [1, 2, 3, 4]})
    assert result.columns.tolist() == ["when", "score"]
    pd.testing.assert_series_equal(result["when"], frame["when"])


def test_polars_results_keep_the_time_column() -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("when").dt.replace_time_zone("Asia/Tokyo"))
    series = read(frame)
    result = series.frame({"score": scores(series), "kind": ["a", None, "b", "c"]})
    assert isinstance(result, pl.DataFrame)
    assert result.columns == ["when", "score", "kind"]
    assert result["when"].equals(frame["when"])
    assert result["kind"].to_list() == ["a", None, "b", "c"]
    assert result.schema["kind"] == pl.String
    assert series.timezone == "Asia/Tokyo"


def test_arrow_results_keep_the_time_column() -> None:
    table = pa.table(COLUMNS)
    result = read(table).frame({"score": [1.0, 2.0, 3.0, 4.0], "flag": np.array([True] * 4)})
    assert isinstance(result, pa.Table)
    assert result.column_names == ["when", "score", "flag"]
    assert result["when"].equals(table["when"])


def test_array_results_are_a_dict_of_arrays() -> None:
    result = read([1, 2], time=["2024-01-01", "2024-01-02"]).frame({"score": [0.1, 0.2]})
    assert list(result) == ["time", "score"]
    assert result["time"].tolist() == ["2024-01-01", "2024-01-02"]


@pytest.mark.parametrize("library", frames())
def test_results_follow_a_slice_of_the_series(library: str) -> None:
    part = read(frames()[library])[1:3]
    result = part.frame({"score": [0.5, 0.7]})
    times = result.index if library == "pandas indexed" else list(map(pd.Timestamp, _times(result)))
    assert list(times) == [pd.Timestamp(moment) for moment in MOMENTS[1:3]]


def _times(result: Any) -> list[Any]:
    column = result["when"]
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


def test_results_follow_a_sorted_series() -> None:
    frame = pd.DataFrame({"time": MOMENTS[::-1], "load": [4, 3, 2, 1]}, index=list("dcba"))
    series = read(frame, sort=True)
    assert series.values[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert series.frame({"score": [1, 2, 3, 4]}).index.tolist() == list("abcd")


def test_results_on_a_grid_have_times_in_the_zone_of_the_user() -> None:
    moments = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3, 5)]
    for source in (
        pd.DataFrame({"when": moments, "load": [1, 2, 3, 4]}),
        pl.DataFrame({"when": moments, "load": [1, 2, 3, 4]}),
        pa.table({"when": moments, "load": [1, 2, 3, 4]}),
    ):
        grid, rows = read(source, timezone="Asia/Tokyo").on_grid()
        result = nw.from_native(grid.frame({"score": np.arange(5)}), eager_only=True)
        assert rows.tolist() == [0, 1, 2, 4]
        assert result["when"].dtype.time_zone == "Asia/Tokyo"
        assert result["when"].to_numpy().astype("datetime64[D]").tolist() == [
            moment.date() for moment in (moments[0] + timedelta(days=day) for day in range(5))
        ]


def test_results_of_another_length_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(3,\), the series has 2 rows"):
        read([1, 2]).frame({"score": [1, 2, 3]})


def test_a_result_may_not_take_the_name_of_the_time_column() -> None:
    with pytest.raises(InputError, match="'when' is the time column"):
        read(COLUMNS).frame({"when": [1, 2, 3, 4]})
