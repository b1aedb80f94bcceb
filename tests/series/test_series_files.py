"""CSV and Parquet files: recognised, read whole, read in bounded chunks."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caps.errors import InputError
from caps.series import Series, read

LINES = ["time,load,Label", "2024-01-01 00:00,1.5,0", "2024-01-01 01:00,,0", "2024-01-01 02:00,3,1"]


def write(folder: Path, text: str, name: str = "data.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def values(series: Series) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in series.values[:, 0]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_delimiters_are_recognised(tmp_path: Path, delimiter: str, newline: str) -> None:
    path = write(tmp_path, newline.join(LINES).replace(",", delimiter))
    series = read(path, columns="load")
    assert values(series) == [1.5, None, 3.0]
    assert series.sampling.step == np.timedelta64(1, "h")


def test_paths_may_be_text(tmp_path: Path) -> None:
    assert read(str(write(tmp_path, "\n".join(LINES))), exclude="Label").channels == ("load",)


def test_commas_inside_quotes_do_not_mislead(tmp_path: Path) -> None:
    text = 'host;load\n"a,b,c";1\n"d,e,f";2\n'
    assert values(read(write(tmp_path, text))) == [1.0, 2.0]


def test_a_decimal_comma_is_named_as_the_remedy_and_then_read(tmp_path: Path) -> None:
    path = write(tmp_path, 'time,load\n2024-01-01,"1,5"\n2024-01-02,"2,5"\n')
    with pytest.raises(InputError, match='give decimal=","'):
        read(path)
    assert values(read(path, decimal=",")) == [1.5, 2.5]


def test_a_file_without_header_loses_no_row(tmp_path: Path) -> None:
    assert values(read(write(tmp_path, "1\n2\n3\n"))) == [1.0, 2.0, 3.0]
    series = read(write(tmp_path, "2024-01-01,5\n2024-01-02,6\n"))
    assert values(series) == [5.0, 6.0]
    assert series.time is not None
    assert len(read(write(tmp_path, "1,2\n3,4\n"), header=True, minimum_rows=1)) == 1


def test_a_numbered_header_as_pandas_writes_it_is_a_header(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    pd.DataFrame(np.ones((3, 2))).to_csv(path, index=False)
    assert read(path).channels == ("0", "1")
    assert len(read(path)) == 3
    pd.DataFrame(np.ones((3, 1))).to_csv(path)
    assert read(path).channels == ("0",)


def test_a_spreadsheet_is_named_for_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    path.write_bytes(b"PK\x03\x04\x14\x00\x06\x00\x08\x00\xff\xfe rows")
    with pytest.raises(InputError, match="no text file: export the table as CSV or Parquet"):
        read(path)


def test_a_row_number_column_is_ignored_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    pd.DataFrame({"load": [5.0, 6.0]}).to_csv(path)
    series = read(path)
    assert series.channels == ("load",)
    assert any("row number" in note for note in series.notes())


def test_an_unnamed_time_index_in_a_file_is_the_time(tmp_path: Path) -> None:
    frame = pd.DataFrame({"load": [5.0, 6.0]}, index=pd.date_range("2024-01-01", periods=2))
    frame.to_csv(tmp_path / "data.csv")
    frame.to_parquet(tmp_path / "data.parquet")
    for name in ("data.csv", "data.parquet"):
        result = read(tmp_path / name).frame({"score": [1, 2]})
        assert result.columns.tolist() == ["time", "score"]


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert values(read(path, columns="load")) == [1.5, None, 3.0]
    path.write_bytes(b"\x1f\x8b not gzip")
    with pytest.raises(InputError, match="cannot be unpacked"):
        read(path)


def test_results_of_a_file_count_its_rows_and_carry_its_times(tmp_path: Path) -> None:
    text = "time,load\n2024-01-01T00:00+01:00,1\n2024-01-02T00:00+01:00,2\n2024-01-03T00:00+01:00,3"
    _, rest = read(write(tmp_path, text)).split(1)
    result = rest.frame({"score": [0.1, 0.2]})
    assert result.index.tolist() == [1, 2]
    assert [moment.isoformat() for moment in result["time"]] == [
        "2024-01-02T00:00:00+01:00",
        "2024-01-03T00:00:00+01:00",
    ]


def test_a_wrong_encoding_is_refused_and_the_right_one_read(tmp_path: Path) -> None:
    path = write(tmp_path, "Zeit,Größe\n2024-01-01,1\n2024-01-02,2\n", encoding="cp1252")
    with pytest.raises(InputError, match=r'not written in utf-8.*encoding=, often "cp1252"'):
        read(path)
    assert read(path, encoding="cp1252").channels == ("Größe",)
    with pytest.raises(InputError, match="unknown encoding"):
        read(path, encoding="klingon")


def test_a_wrong_byte_far_down_the_file_is_refused_too(tmp_path: Path) -> None:
    path = write(tmp_path, "load\n" + "1\n" * 200_000)
    with path.open("ab") as file:
        file.write(b"\xff\n")
    with pytest.raises(InputError, match="not written in utf-8"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_with_a_byte_order_mark_are_read(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "\n".join(LINES), encoding=encoding)
    options = {} if encoding == "utf-8-sig" else {"encoding": encoding}
    assert read(path, columns=["load", "Label"], **options).channels == ("load", "Label")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("time,load\n", "the series is empty"),
        ("a,b\n1,2\n3,4,5\n", "no regular table"),
        ("a,b\n1,2,3\n4,5,6\n", "no regular table"),
        ("a,a\n1,2\n3,4\n", "'a' appears more than once"),
        ("load\n1\nbroken\n3\n", "'broken' in row 1"),
        ("host,city\na,b\nc,d\n", "no column of numbers among host, city"),
        ("PK\x03\x04\0\0binary", "no text file"),
    ],
    ids=repr,
)
def test_unusable_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, text))


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


def test_paths_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path in ("x" * 5000, tmp_path / ("x" * 300), "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            read(path)
    with pytest.raises(InputError, match="does not exist"):
        read(write(tmp_path, "v\n1\n2") / "below.csv")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(InputError, match="is no regular file"):
        read(fifo)


@pytest.mark.parametrize(
    "options",
    [
        {"decimal": "xx"},
        {"decimal": ""},
        {"thousands": "xx"},
        {"thousands": ".", "decimal": "."},
        {"decimal": ";", "delimiter": ";"},
        {"delimiter": ";;"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"delimiter": 5},
        {"header": "no"},
        {"encoding": None},
        {"unit": []},
        {"timezone": 5},
        {"minimum_rows": "2"},
        {"columns": 2.5},
    ],
    ids=str,
)
def test_options_that_cannot_be_used_are_refused_by_name(tmp_path: Path, options: dict) -> None:
    with pytest.raises(InputError, match=str(next(iter(options)))):
        read(write(tmp_path, "v;w\n1;2\n3;4\n"), **options)


def test_a_decimal_mark_is_no_delimiter(tmp_path: Path) -> None:
    assert values(read(write(tmp_path, "v\n1,5\n2,5\n"), decimal=",")) == [1.5, 2.5]


def test_parquet_is_recognised_by_its_bytes_and_refused_when_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    pq.write_table(pa.table({"load": [1.0, None, 3.0]}), path)
    assert values(read(path)) == [1.0, None, 3.0]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="no readable Parquet file"):
        read(path)


@pytest.mark.parametrize("steps", [[1, 2, 3], [0.5, 1.5, 2.5], ["1", "2", "3"]], ids=str)
def test_results_of_a_parquet_file_carry_its_count_of_steps(tmp_path: Path, steps: list) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"time": steps, "load": [1.0, None, 3.0]}), path)
    result = read(path).frame({"score": [1, 2, 3]})
    assert result["time"].tolist() == steps


@pytest.mark.parametrize(("right", "wrong"), [(b"load", b"l\xffad"), (b"fine", b"f\xffne")])
def test_damaged_text_in_a_parquet_file_is_refused(
    tmp_path: Path, right: bytes, wrong: bytes
) -> None:
    path = tmp_path / "data.parquet"
    table = pa.table({"load": [1.0, 2.0], "note": ["fine", "fine"]})
    pq.write_table(table, path, store_schema=False)
    assert right in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(right, wrong))
    with pytest.raises(InputError, match=r"write (it|the file) again"):
        read(path)


def test_an_unknown_zone_in_a_parquet_file_is_refused(tmp_path: Path) -> None:
    clock = pa.array([1, 2]).cast(pa.timestamp("ns", "Europe/Berltn"))
    pq.write_table(pa.table({"time": clock, "load": [1.0, 2.0]}), tmp_path / "data.parquet")
    with pytest.raises(InputError, match="'Europe/Berltn' is unknown"):
        read(tmp_path / "data.parquet")


def test_parquet_row_numbers_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"load": [5.0, 6.0]}, index=[3, 9]).to_parquet(path)
    assert read(path).channels == ("load",)
