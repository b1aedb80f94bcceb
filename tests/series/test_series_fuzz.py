"""Whatever is given, reading ends in a sound series or in an `InputError`, in no other error."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from caps.errors import InputError
from caps.series import Scaler, Series, read

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**8, 10**19),
    st.floats(),
    st.decimals(),
    st.text(max_size=8),
    st.sampled_from(["1", "2,5", "2024-01-01", "31/12/2024", "1700000000", "NA", "inf", "\0"]),
    st.dates(),
    st.datetimes(),
    st.binary(max_size=3),
)
NAMES = st.sampled_from(["time", "a", "b", "Unnamed: 0", "", "label", "ds"])


# Within what polars can build a column from.
KINDS = [
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.decimals(-(10**6), 10**6, places=2),
    st.text(),
    st.dates(),
    st.datetimes(),
]
ONE_KIND = st.sampled_from(KINDS).flatmap(
    lambda kind: st.lists(st.none() | kind, min_size=3, max_size=3)
)
MIXED = st.lists(CELLS, min_size=3, max_size=3)


def check_reading(source: Any, **options: Any) -> None:
    try:
        series = read(source, **options)
    except InputError:
        return
    check_series(series)


def check_series(series: Series) -> None:
    assert series.values.dtype == np.float64
    assert (np.isfinite(series.values) == series.observed).all()
    assert series.time is None or (np.diff(series.time).astype(int) >= 0).all()
    assert all(isinstance(note, str) for note in series.notes())
    scaled = Scaler.fit(series).transform(series.values)
    assert (np.isfinite(scaled) == series.observed).all()
    series.frame({"score": np.zeros(len(series))})


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, ONE_KIND | MIXED, max_size=4), st.booleans())
def test_mappings(source: dict[str, list[Any]], sort: bool) -> None:
    check_reading(source, sort=sort, duplicates="keep")


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, ONE_KIND | MIXED, max_size=4))
def test_pandas_frames(source: dict[str, list[Any]]) -> None:
    check_reading(pd.DataFrame(source), sort=True, duplicates="first")


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, ONE_KIND, max_size=4))
def test_polars_frames(source: dict[str, list[Any]]) -> None:
    check_reading(pl.DataFrame(source), sort=True, duplicates="last")


@pytest.mark.parametrize("alphabet", ["binary", "table"])
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_files(alphabet: str, data: st.DataObject, tmp_path: Path) -> None:
    contents = {
        "binary": st.binary(max_size=60),
        "table": st.text('0123456789.,;\t\n"-:Tabx ', max_size=80).map(str.encode),
    }
    path = tmp_path / "data.csv"
    path.write_bytes(data.draw(contents[alphabet]))
    check_reading(path, sort=True, duplicates="keep")
