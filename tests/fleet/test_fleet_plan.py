"""Which series are found in folders, manifests and tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from caps.errors import InputError
from caps.fleet import find_series
from caps.fleet.plan import LONGEST_NAME, file_name
from caps.series import Series


def table(rows: int = 6) -> pd.DataFrame:
    times = pd.date_range("2024-01-01", periods=rows, freq="h")
    return pd.DataFrame({"time": times, "cpu": np.arange(rows), "load": np.arange(rows) * 2.0})


def test_a_folder_holds_one_series_for_each_table(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "b.csv", index=False)
    table().to_csv(tmp_path / "a.csv.gz", index=False)
    table().to_parquet(tmp_path / "c.parquet")
    (tmp_path / "notes.txt").write_text("no table")
    (tmp_path / ".hidden.csv").write_text("")
    entries = find_series(tmp_path, train="0.5")
    assert [entry.id for entry in entries] == ["a", "b", "c"]
    assert {entry.train for entry in entries} == {"0.5"}


def test_a_wide_table_holds_one_series_for_each_column(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "wide.csv", index=False)
    cpu, load = find_series(tmp_path / "wide.csv")
    assert (cpu.id, load.id) == ("cpu", "load")
    assert isinstance(load.source, Series)
    assert load.source.values[:, 0].tolist() == [0, 2, 4, 6, 8, 10]
    assert load.source.time is not None


def test_a_long_table_holds_one_series_for_each_id_in_any_order(tmp_path: Path) -> None:
    long = table().melt("time", var_name="metric", value_name="value").iloc[::-1]
    long.to_parquet(tmp_path / "long.parquet")
    found = {entry.id: entry.source for entry in find_series(
        tmp_path / "long.parquet", id="metric", columns=["value"]
    )}  # fmt: skip
    assert set(found) == {"cpu", "load"}
    assert isinstance(found["load"], Series)
    assert found["load"].values[:, 0].tolist() == [0, 2, 4, 6, 8, 10]


def test_a_manifest_names_file_column_id_and_train(tmp_path: Path) -> None:
    (tmp_path / "fleet.csv").write_text(
        'file,column,id,train\ndata/a.csv,cpu,first,0.5\ndata/a.csv,"cpu,load",,\n'
    )
    first, second = find_series(tmp_path / "fleet.csv", train="100")
    assert (first.id, first.columns, first.train) == ("first", ("cpu",), "0.5")
    assert (second.id, second.columns, second.train) == (
        "data/a.csv:cpu:load", ("cpu", "load"), "100",
    )  # fmt: skip
    assert first.source == tmp_path / "data" / "a.csv"


@pytest.mark.parametrize(
    ("text", "options", "remedy"),
    [
        ("file,colour\na.csv,red\n", {}, "file, column, id, train"),
        ("file,id\na.csv,x\nb.csv,x\n", {}, "an id of its own"),
        ("file\n", {}, "one file a line"),
        ("file,id\n,x\n", {}, "drop the line"),
        ("metric,value\na,1\na,2\n", {"id": "metric"}, "--columns"),
    ],
)
def test_bad_sources_name_the_remedy(
    tmp_path: Path, text: str, options: dict[str, str], remedy: str
) -> None:
    (tmp_path / "source.csv").write_text(text)
    with pytest.raises(InputError, match=remedy):
        find_series(tmp_path / "source.csv", **options)


def test_missing_and_empty_folders_name_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a folder"):
        find_series(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no CSV or Parquet"):
        find_series(tmp_path)


@given(st.lists(st.text(min_size=1, max_size=300), min_size=2, max_size=2, unique=True))
def test_any_id_has_a_safe_file_name_of_its_own(ids: list[str]) -> None:
    ids = [id.encode("utf-8", "replace").decode() for id in ids]
    names = [file_name(id) for id in ids]
    assert len(set(names)) == len(set(ids))
    for name in names:
        assert "/" not in name
        assert "\\" not in name
        assert not name.startswith(".")
        assert 0 < len(name.encode()) <= LONGEST_NAME
