"""Blank and short lines of a CSV file are rows, or are named: none is passed over in silence."""

from pathlib import Path

import numpy as np
import pytest

from caps.errors import InputError
from caps.series import Series, read, read_many


def write(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_bytes(text.encode())
    return path


def column(series: Series, index: int = 0) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in series.values[:, index]]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
@pytest.mark.parametrize("start", ["", "\n", " \n\n"])
def test_a_blank_line_is_a_row_with_missing_values(
    tmp_path: Path, start: str, end: str, newline: str
) -> None:
    text = f"{start}v\n1\n\n3{end}".replace("\n", newline)
    series = read(write(tmp_path, text))
    assert column(series) == [1.0, None, 3.0]
    line = 3 + start.count("\n")
    assert f"1 blank line (line {line}) is read as missing values" in series.notes()


def test_a_blank_line_is_a_row_of_every_channel_without_a_header_too(tmp_path: Path) -> None:
    series = read(write(tmp_path, "1,2\n\n3,4\n  \n5,6\n"))
    assert column(series, 0) == [1.0, None, 3.0, None, 5.0]
    assert column(series, 1) == [2.0, None, 4.0, None, 6.0]
    assert "2 blank lines (lines 2, 4) are read as missing values" in series.notes()


def test_where_times_say_where_rows_are_blank_lines_are_left_out_with_a_note(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "time,v\n2024-01-01,1\n\n2024-01-02,2\n \n2024-01-03,3\n")
    series = read(path)
    assert column(series) == [1.0, 2.0, 3.0]
    assert series.notes() == ["2 blank lines (lines 3, 5) are left out"]
    assert series.frame({"score": [1, 2, 3]}).index.tolist() == [0, 2, 4]


def test_rows_of_missing_values_are_no_blank_lines(tmp_path: Path) -> None:
    series = read(write(tmp_path, 'v\n1\n""\n3\n'))
    assert column(series) == [1.0, None, 3.0]
    assert not any("blank" in note for note in series.notes())
    with pytest.raises(InputError, match="the time in column 'time' is missing in row 1"):
        read(write(tmp_path, "time,v\n2024-01-01,1\n,\n2024-01-02,2\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3 has 2 of 3 fields"),
        ("\na,b,c\r\n1,2,3\r\n\r\n4,5,6\r\n7", "line 6 has 1 of 3 fields"),
        ('a,b\n"x\n\ny",1\n"z"\n', "line 5 has 1 of 2 fields"),
        ("1,2\n3\n4,5\n", "line 2 has 1 of 2 fields"),
    ],
)
def test_a_short_line_is_refused_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("clock", [True, False])
def test_blank_lines_are_rows_unless_times_say_where_rows_are(tmp_path: Path, clock: bool) -> None:
    lines = ["", "", "1", "", "", "", "2", "", "3", "4"]
    if clock:
        lines = [line and f"2024-01-0{line},{line}" for line in lines]
    path = write(tmp_path, "\n".join(["time,v" if clock else "v", *lines, "", ""]))
    whole = read(path)
    assert [value for value in column(whole) if value is not None] == [1.0, 2.0, 3.0, 4.0]
    assert len(whole) == (4 if clock else 10)


def test_a_blank_line_belongs_to_no_series_of_a_long_table(tmp_path: Path) -> None:
    path = write(tmp_path, "id,time,v\na,1,1\n\nb,1,2\n\na,2,3\nb,2,4\n")
    many = read_many(path, id="id", value="v")
    assert {name: column(series) for name, series in many.items()} == {
        "a": [1.0, 3.0],
        "b": [2.0, 4.0],
    }
    assert "2 blank lines (lines 3, 5) are left out" in many["a"].notes()
