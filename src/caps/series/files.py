"""CSV and Parquet files, whole or in chunks of rows."""

import bz2
import csv
import gzip
import lzma
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import narwhals as nw

from caps.errors import InputError
from caps.series.columns import MISSING_WORDS
from caps.series.origin import Origin
from caps.series.tables import Table, unique_names

DELIMITERS = ",;\t|"
HEAD_LINES = 50
_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written; None means: look at its first lines."""

    delimiter: str | None = None
    decimal: str = "."
    header: bool | None = None
    encoding: str = "utf-8"


class _Layout(TypedDict):
    sep: str
    names: list[str]
    header: int | None


def read_file(path: Path, form: CsvFormat) -> Table:
    """The whole file as a table."""
    existing(path)
    if is_parquet(path):
        return _parquet_table(path)
    with _csv_errors(path, form):
        return _pandas_rows(_read_csv(path, form))


def file_chunks(path: Path, form: CsvFormat, rows: int) -> Iterator[Table]:
    """The file in tables of at most `rows` rows."""
    if is_parquet(path):
        yield from _parquet_chunks(path, rows)
        return
    with _csv_errors(path, form), _read_csv(path, form, chunksize=rows) as chunks:
        for chunk in chunks:
            yield _pandas_rows(chunk)


def existing(path: Path) -> None:
    """Refuse a path that is no file or an empty one."""
    if not path.is_file():
        problem = f"{path} is a folder" if path.is_dir() else f"{path} does not exist"
        raise InputError(problem, "name a CSV or Parquet file")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", "name a file with a header and at least two rows")


def is_parquet(path: Path) -> bool:
    """Whether the file says by its name or its first bytes that it is Parquet."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _pandas_rows(frame: Any) -> Table:
    columns = {name: nw.from_native(frame[name], series_only=True) for name in frame.columns}
    return Table(
        columns, Origin(library=nw.Implementation.PANDAS, index=frame.index), from_file=True
    )


def _read_csv(path: Path, form: CsvFormat, **options: Any) -> Any:
    import pandas as pd

    return pd.read_csv(
        path,
        **_csv_layout(path, form),
        decimal=form.decimal,
        encoding=_python_encoding(form.encoding),
        index_col=False,
        low_memory=False,  # one type for each column, not one for each block of lines
        **options,
    )


def _csv_layout(path: Path, form: CsvFormat) -> _Layout:
    lines = _first_lines(path, form.encoding)
    delimiter = form.delimiter or _sniff(lines)
    first = next(csv.reader(lines, delimiter=delimiter))
    header = _has_header(first) if form.header is None else form.header
    if not header:
        names = [f"channel_{place}" for place in range(len(first))] if len(first) > 1 else ["value"]
        return {"sep": delimiter, "names": names, "header": None}
    stripped = [name.strip() for name in first]
    unique_names(stripped)
    names = [name or f"Unnamed: {place}" for place, name in enumerate(stripped)]
    return {"sep": delimiter, "names": names, "header": 0}


def _first_lines(path: Path, encoding: str) -> list[str]:
    _refuse_binary(path, encoding)
    opener = _OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rt", encoding=_python_encoding(encoding), newline="") as file:
        text = [line for line, _ in zip(file, range(HEAD_LINES), strict=False)]
    lines = [line for line in text if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty", "name a file with a header and at least two rows")
    return lines


def _refuse_binary(path: Path, encoding: str) -> None:
    """Name a spreadsheet or another binary file for what it is, before its bytes are decoded."""
    if path.suffix.lower() in _OPENERS or not encoding.lower().startswith("utf-8"):
        return
    with path.open("rb") as file:
        head = file.read(4096)
    if b"\0" in head and not head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InputError(f"{path} is no text file", "export the table as CSV or Parquet")


def _sniff(lines: list[str]) -> str:
    """The delimiter that cuts every line into the same number of fields, and into most."""
    # The last line read may be cut off inside a quoted field.
    whole = lines[:-1] if len(lines) == HEAD_LINES else lines
    best, most = ",", 1
    for delimiter in DELIMITERS:
        counts = {len(fields) for fields in csv.reader(whole, delimiter=delimiter)}
        if len(counts) == 1 and (fields := counts.pop()) > most:
            best, most = delimiter, fields
    if most > 1:
        return best
    return max(DELIMITERS, key=lambda delimiter: lines[0].count(delimiter))


def _has_header(first: list[str]) -> bool:
    """No header is a first line made of numbers and dates; 0,1,2,... is what pandas writes."""
    numbered = first[1:] if first[0] == "" else first
    if len(first) > 1 and numbered == [str(place) for place in range(len(numbered))]:
        return True
    return not all(_is_value(field.strip()) for field in first)


def _is_value(field: str) -> bool:
    if field.lower() in MISSING_WORDS:
        return True
    try:
        float(field)
    except ValueError:
        # A date: digits first, and nothing but digits and marks around at most a T and a Z.
        return field[0].isdigit() and all(mark in "0123456789-/.:+ TZ" for mark in field)
    return True


def _python_encoding(encoding: str) -> str:
    """UTF-8 with or without the byte order mark that spreadsheets write."""
    return "utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding


@contextmanager
def _csv_errors(path: Path, form: CsvFormat) -> Iterator[None]:
    from pandas.errors import EmptyDataError, ParserError, ParserWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            yield
    except UnicodeError as error:
        raise InputError(
            f"{path} is not written in {form.encoding} ({error})",
            'give its encoding=, often "cp1252" or "utf-16"',
        ) from None
    except LookupError as error:
        raise InputError(f"{error}", 'give an encoding= such as "utf-8" or "cp1252"') from None
    except EmptyDataError:
        raise InputError(f"{path} is empty", "name a file with a header and rows") from None
    except (ParserError, ParserWarning, csv.Error) as error:
        raise InputError(
            f"{path} is no regular table ({' '.join(str(error).split())})",
            "give each line as many fields as the header, or name the delimiter=",
        ) from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be unpacked ({error})", "write the file again") from None


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow", "pip install 'caps-tsad[parquet]'"
        ) from None
    try:
        # Without pre-buffering a row group is decoded batch by batch.
        yield pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{path} is no readable Parquet file ({error})", "write it again"
        ) from None


def _parquet_table(path: Path) -> Table:
    with _parquet(path) as file:
        return _arrow_rows(file.read(), 0)


def _parquet_chunks(path: Path, rows: int) -> Iterator[Table]:
    import pyarrow as pa

    first_row = 0
    with _parquet(path) as file:
        for batch in file.iter_batches(batch_size=rows):
            yield _arrow_rows(pa.Table.from_batches([batch]), first_row)
            first_row += batch.num_rows


def _arrow_rows(table: Any, first_row: int) -> Table:
    """Arrow columns whose results go back as pandas: a file belongs to no library."""
    import pandas as pd

    names = table.column_names
    unique_names(names)
    columns = {name: nw.from_native(table[name], series_only=True) for name in names}
    index = pd.RangeIndex(first_row, first_row + table.num_rows)
    return Table(columns, Origin(library=nw.Implementation.PANDAS, index=index), from_file=True)
