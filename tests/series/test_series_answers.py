"""Awkward input: each case has a defined answer, an error with a remedy or a documented reading."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from caps.errors import InputError
from caps.series import Scaler, read, read_many


def first_channel(source: Any, **options: Any) -> list[float | None]:
    values = read(source, **options).values[:, 0]
    return [None if np.isnan(value) else float(value) for value in values]


@pytest.mark.parametrize(
    "source",
    [[], np.empty((0, 3)), pd.DataFrame({"a": []}), pl.DataFrame(), pa.table({}), {}, {"a": []}],
    ids=lambda source: type(source).__name__,
)
def test_empty_input_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="the series is empty: give at least two rows"):
        read(source)


def test_too_short_input_is_refused_with_the_rows_needed() -> None:
    with pytest.raises(InputError, match="has 1 row, at least 2 are needed"):
        read([1.0])
    with pytest.raises(InputError, match="has 3 rows, at least 10 are needed"):
        read([1.0, 2.0, 3.0], minimum_rows=10)
    assert len(read([1.0], minimum_rows=1)) == 1


@pytest.mark.parametrize(
    "source",
    [
        [np.nan, np.nan],
        [None, None],
        pd.Series([None, None], dtype="Int64"),
        pd.Series(["", "NA"]),
        pl.Series([None, None]),
        [np.inf, -np.inf],
    ],
)
def test_all_missing_input_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="no value was observed"):
        read(source)


def test_one_missing_channel_among_others_is_kept() -> None:
    series = read({"a": [1, 2], "b": [None, None]})
    assert series.channels == ("a", "b")
    assert "channel 'b': 2 of 2 values missing (100 %)" in series.notes()


def test_constant_input_is_allowed_and_flagged() -> None:
    series = read({"a": [3, 3, None], "b": [1, 2, 3]})
    assert series.constant == ("a",)
    assert "channel 'a' is constant" in series.notes()


def test_infinite_values_are_missing_and_noted() -> None:
    series = read([1.0, np.inf, -np.inf, 4.0])
    assert first_channel([1.0, np.inf, -np.inf, 4.0]) == [1.0, None, None, 4.0]
    assert series.observed[:, 0].tolist() == [True, False, False, True]
    assert "channel 'value': 2 infinite values are treated as missing" in series.notes()
    assert first_channel(["1", "inf", "-Infinity", "2"]) == [1.0, None, None, 2.0]


def test_unsorted_rows_are_refused_or_sorted_on_demand() -> None:
    source = {"time": ["2024-01-02", "2024-01-01", "2024-01-03"], "a": [2, 1, 3]}
    with pytest.raises(InputError, match=r"row 1 \(2024-01-01.*sort=True"):
        read(source)
    assert first_channel(source, sort=True) == [1.0, 2.0, 3.0]


def test_repeated_times_are_refused_by_name_or_resolved_on_demand() -> None:
    days = ["2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03", "2024-01-03"]
    source = {"time": days, "a": [1, 2, 3, 4, 5]}
    with pytest.raises(
        InputError,
        match=r"has 2 rows that repeat a time, first at 2024-01-02.*2024-01-03.*read_many",
    ):
        read(source)
    assert first_channel(source, duplicates="keep") == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert first_channel(source, duplicates="first") == [1.0, 2.0, 4.0]
    assert first_channel(source, duplicates="last") == [1.0, 3.0, 5.0]
    with pytest.raises(InputError, match="duplicates='mean' cannot be used"):
        read(source, duplicates="mean")


def test_sorting_and_repeated_times_go_together() -> None:
    source = {"time": [3, 1, 3, 2], "a": [30, 10, 31, 20]}
    assert first_channel(source, sort=True, duplicates="first") == [10.0, 20.0, 30.0]
    assert first_channel(source, sort=True, duplicates="last") == [10.0, 20.0, 31.0]


@pytest.mark.parametrize(
    "column",
    [
        [1, 2, "broken"],
        np.array([1, 2, "broken"], dtype=object),
        pd.Series([1, 2, "broken"], dtype=object),
        pd.Series(["1", "2", "broken"]),
        pl.Series(["1", "2", "broken"]),
        pd.Series(["1", "2", "broken"], dtype="category"),
    ],
    ids=lambda column: type(column).__name__,
)
def test_numbers_mixed_with_text_are_refused_with_value_and_row(column: Any) -> None:
    with pytest.raises(InputError, match=r"mixes numbers with str values.*'broken' in row 2"):
        read(column)


@pytest.mark.parametrize(
    "misfit",
    [object(), 1j, [1, 2], np.array([1, 2]), b"3", {}],
    ids=lambda value: type(value).__name__,
)
def test_numbers_mixed_with_other_objects_are_refused(misfit: Any) -> None:
    column = np.empty(2, dtype=object)
    column[0], column[1] = 1.0, misfit
    with pytest.raises(InputError, match="mixes numbers with"):
        read({"a": column})


def test_text_columns_are_ignored_with_a_note() -> None:
    frame = pd.DataFrame({"host": ["a", "b"], "load": [1, 2], "kind": ["x", None]})
    series = read(frame)
    assert series.channels == ("load",)
    assert "column 'host' holds no numbers and is ignored" in series.notes()
    with pytest.raises(InputError, match="column 'host' holds no numbers"):
        read(frame, columns=["host"])


@pytest.mark.parametrize(
    "source",
    [["a", "b"], pd.DataFrame({"host": ["a", "b"]}), np.array([1j, 2j]), {"time": [1, 2]}],
    ids=lambda source: type(source).__name__,
)
def test_input_without_a_numeric_column_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="no column of numbers"):
        read(source)


@pytest.mark.parametrize("magnitude", [1e300, 1e-300])
def test_extreme_magnitudes_survive_reading_notes_and_scaling(magnitude: float) -> None:
    series = read(np.array([1.0, -2.0, 3.0, -1.0]) * magnitude)
    assert series.observed.all()
    assert series.notes() == []
    scaled = Scaler.fit(series).transform(series.values)
    assert np.isfinite(scaled).all()
    assert scaled.std() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "column",
    [
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([2**63 - 1, -(2**63)], dtype=np.int64),
        pd.Series([2**64 - 1, None], dtype="UInt64"),
        pl.Series([2**100, -(2**100)], dtype=pl.Int128),
    ],
    ids=lambda column: str(column.dtype),
)
def test_integers_beyond_float64_are_rounded_not_wrapped_and_noted(column: Any) -> None:
    series = read(column)
    assert series.values[0, 0] == float(column[0])
    assert "integers beyond 2**53 are rounded" in series.notes()[0]


def test_python_integers_of_any_size_are_read_up_to_the_range_of_float64() -> None:
    assert first_channel([10**30, -(10**300)]) == [1e30, -1e300]
    with pytest.raises(InputError, match="beyond the range of float64 in row 1"):
        read([1, 10**400])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([True, False, True], [1.0, 0.0, 1.0]),
        (pd.Series([True, None, False], dtype="boolean"), [1.0, None, 0.0]),
        (pd.Series([True, None, False], dtype=object), [1.0, None, 0.0]),
        (pl.Series([True, None, False]), [1.0, None, 0.0]),
        (pa.chunked_array([[True, None, False]]), [1.0, None, 0.0]),
        ([Decimal("1.5"), None, Decimal("NaN")], [1.5, None, None]),
        (pl.Series([Decimal("1.50"), None]), [1.5, None]),
        (pa.chunked_array([[Decimal("1.50"), None]]), [1.5, None]),
        ([Fraction(1, 2), np.float32(2.5), np.int8(3), True], [0.5, 2.5, 3.0, 1.0]),
        (np.array([1, None, 2.5], dtype=object), [1.0, None, 2.5]),
        (pd.Series([1, None, 3], dtype="Int64"), [1.0, None, 3.0]),
        (pd.Series([1.5, None], dtype="Float64"), [1.5, None]),
        (pd.Series([1, pd.NA, 3], dtype=object), [1.0, None, 3.0]),
        (pd.Series([1.5, None, 3], dtype="double[pyarrow]"), [1.5, None, 3.0]),
        (pd.Series([2, 1, 2], dtype="category"), [2.0, 1.0, 2.0]),
        (pl.Series(["2", "1", None], dtype=pl.Categorical), [2.0, 1.0, None]),
        (pd.Series([1.0, 0.0], dtype="Sparse[float]"), [1.0, 0.0]),
        ([" 1.5 ", "", "n/a", "2e3", "-.5"], [1.5, None, None, 2000.0, -0.5]),
        (pd.Series(["1", None, "3"]), [1.0, None, 3.0]),
        (np.array(["1", "2"]), [1.0, 2.0]),
        (np.array([1.5, 2.5], dtype=np.float16), [1.5, 2.5]),
    ],
    ids=str,
)
def test_numbers_of_every_kind_are_read(column: Any, expected: list[float | None]) -> None:
    assert first_channel(column) == expected


@pytest.mark.parametrize("text", ["1_000", "0x10", "1 000", "12abc"])
def test_text_that_only_resembles_a_number_is_text(text: str) -> None:
    with pytest.raises(InputError, match="mixes numbers"):
        read(["1", text])


def test_numbers_with_a_comma_are_refused() -> None:
    with pytest.raises(InputError, match="writes numbers with a comma"):
        read(pl.Series(["1,5", "2,5"]))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.float64(3.0), "0 dimensions"),
        ([[1, 2], [3]], "different lengths"),
        ({"a": [1, 2], "b": [1]}, "different lengths"),
        ({"a": [[1, 2], [3, 4]]}, "2 dimensions"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' appears more than once"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([(0, 1), (0, 2)])), "levels"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_misshapen_input_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(source)


def test_an_index_of_hosts_and_times_points_to_read_many() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], pd.date_range("2024", periods=2)])
    with pytest.raises(InputError, match="read_many"):
        read(pd.DataFrame({"load": range(4)}, index=index))


@pytest.mark.parametrize(
    "name", ["Label", "label", "is_anomaly", "Anomaly", "y_true", "labels (0/1)"]
)
@pytest.mark.parametrize("label", [[0, 1, 0], [False, True, False], ["0", "1", None], [0.0, 0, 0]])
def test_labels_are_left_out_with_a_note_unless_they_are_named(name: str, label: list[Any]) -> None:
    source = {"load": [1, 2, 3], name: label}
    series = read(source)
    assert series.channels == ("load",)
    (note,) = [note for note in series.notes() if repr(name) in note]
    assert "it is left out" in note
    assert "name it in columns=" in note
    named = read(source, columns=["load", name])
    assert named.channels == ("load", name)
    assert not any("left out" in note or "suggests" in note for note in named.notes())


def test_a_column_called_like_a_label_with_other_values_is_a_channel_with_a_note() -> None:
    series = read({"load": [1, 2, 3], "label": [0, 1, 2]})
    assert series.channels == ("load", "label")
    assert any("its name suggests a label" in note for note in series.notes())
    assert read({"load": [1, 2], "door": [0, 1]}).channels == ("load", "door")


def test_nothing_but_a_label_is_refused_with_the_way_to_use_it() -> None:
    with pytest.raises(InputError, match=r"nothing to read but is_anomaly.*columns="):
        read({"time": [1, 2], "is_anomaly": [0, 1]})


def test_masked_arrays_of_any_kind_are_read() -> None:
    assert first_channel(np.ma.array(["1", "2"], mask=[False, True])) == [1.0, None]
    assert first_channel(np.ma.array([1, 2], mask=[False, True])) == [1.0, None]
    with pytest.raises(InputError, match="no column of numbers"):
        read(np.ma.array(["a", "b"], mask=[False, True]))
    pairs = np.ma.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])
    pairs["b"][0] = np.ma.masked
    assert np.array_equal(read(pairs).values, [[1, np.nan], [3, 4]], equal_nan=True)
    days = np.ma.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    assert read({"time": days, "a": [1, 2]}).sampling.step == np.timedelta64(1, "D")
    days[1] = np.ma.masked
    with pytest.raises(InputError, match="missing in row 1"):
        read({"time": days, "a": [1, 2]})


@pytest.mark.parametrize("given", [[2**60 + 1, None, 3], [2**60 + 1, 4, 3]], ids=str)
def test_arrow_integers_beyond_float64_are_rounded_too(given: list[int | None]) -> None:
    series = read(pa.table({"a": given}))
    expected = [None if value is None else float(value) for value in given]
    assert first_channel(pa.table({"a": given})) == expected
    assert "column 'a': integers beyond 2**53 are rounded to 16 digits" in series.notes()


def test_durations_are_no_numbers() -> None:
    with pytest.raises(InputError, match="no column of numbers"):
        read({"a": [np.timedelta64(1, "s"), None, object()]})


def test_what_another_library_cannot_turn_into_an_array_is_refused() -> None:
    with pytest.raises(InputError, match=r"Tensor cannot be turned into an array.*requires grad"):
        read(torch.ones(3, requires_grad=True))
    with pytest.raises(InputError, match="Tensor cannot be turned into an array"):
        read({"a": torch.ones(3, dtype=torch.bfloat16)})


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="seperator"):
        read([1, 2], seperator=";")


LONG = {
    "host": ["b", "a", "b", "a", "b"],
    "time": ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03"],
    "load": [1.0, 10.0, None, 20.0, 3.0],
    "errors": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_long_table_becomes_one_series_for_each_id(library: Any) -> None:
    many = read_many(library(LONG), id="host", time="time", value="load")
    assert list(many) == ["b", "a"]
    assert many["b"].observed[:, 0].tolist() == [True, False, True]
    assert many["a"].values[:, 0].tolist() == [10.0, 20.0]
    assert many["a"].sampling.step == np.timedelta64(1, "D")


def test_each_series_of_a_long_table_gives_results_on_its_own_rows() -> None:
    frame = pd.DataFrame(LONG, index=list("vwxyz"))
    result = read_many(frame, id="host", value=["load", "errors"])["a"].frame({"score": [1, 2]})
    assert result.index.tolist() == ["w", "y"]
    assert result["time"].tolist() == ["2024-01-01", "2024-01-02"]


def test_ids_may_be_numbers_and_files_are_read_too(tmp_path: Any) -> None:
    path = tmp_path / "long.csv"
    pd.DataFrame({**LONG, "host": [2, 1, 2, 1, 2]}).to_csv(path, index=False)
    assert list(read_many(path, id="host", value="errors")) == ["2", "1"]


def test_trouble_in_one_series_names_it() -> None:
    backwards = {**LONG, "time": [f"2024-01-0{day}" for day in (3, 1, 1, 2, 2)]}
    with pytest.raises(InputError, match="series 'b': column 'time' goes back in time"):
        read_many(backwards, id="host", value="load")
    assert len(read_many(backwards, id="host", value="load", sort=True)) == 2
    with pytest.raises(InputError, match="series 'a': the series has 2 rows, at least 3"):
        read_many(LONG, id="host", value="errors", minimum_rows=3)


def test_a_missing_id_is_refused() -> None:
    with pytest.raises(InputError, match="missing in row 1"):
        read_many({**LONG, "host": ["b", None, "b", "a", "b"]}, id="host", value="load")
    with pytest.raises(InputError, match="no column 'machine'"):
        read_many(LONG, id="machine", value="load")
