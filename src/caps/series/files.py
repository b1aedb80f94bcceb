"""CSV and Parquet files."""

import bz2
import csv
import gzip
import lzma
import re
import stat
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import narwhals as nw
import numpy as np

from caps.errors import InputError
from caps.series.csv_lines import Body, blank_lines
from caps.series.options import ReadOptions
from caps.series.origin import Origin
from caps.series.quantities import (
    MISSING_WORDS,
    Marks,
    has_comma,
    has_point,
    may_be_grouped,
    read_quantities,
)
from caps.series.tables import Table, unique_names

DELIMITERS = ",;\t|"
_SEP_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?\s*")  # which spreadsheets write and understand
_POINT_DATE = re.compile(r"\s*\d{1,2}\.\d{1,2}\.(\d{2}|\d{4})\b")
_HALF_DAY = re.compile(r"\s[AP]M$", re.IGNORECASE)
_QUOTED_COMMA = re.compile(r'"[-+]?[\d.]*,\d+"')
HEAD_LINES = 50
LONGEST_SHOWN = 200  # characters of a path in a message
_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the first lines of a CSV file say."""

    skipped: int  # lines before the first: blank ones, and one that names the delimiter
    delimiter: str
    names: list[str]
    header: bool
    marks: Marks
    remarks: tuple[str, ...] = ()


def read_file(path: Path, form: ReadOptions) -> Table:
    """The whole file as a table."""
    _check_readable(path)
    if is_parquet(path):
        return _parquet_table(path)
    with _csv_errors(path, form):
        return _csv_table(path, form)


def _check_readable(path: Path) -> None:
    """Refuse a path that is no file, or an empty or unreadable one."""
    try:
        mode = path.stat().st_mode
        empty = path.stat().st_size == 0
        if stat.S_ISREG(mode) and not empty:
            path.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path} does not exist", "name a CSV or Parquet file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        shown = str(path) if len(str(path)) <= LONGEST_SHOWN else f"{str(path)[:LONGEST_SHOWN]}..."
        raise InputError(
            f"{shown!r} cannot be read ({reason})", "name a CSV or Parquet file"
        ) from None
    if not stat.S_ISREG(mode):
        problem = f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}"
        raise InputError(problem, "name a CSV or Parquet file")
    if empty:
        raise InputError(f"{path} is empty", "name a file with a header and at least two rows")


def is_parquet(path: Path) -> bool:
    """Whether the file says by its name or its first bytes that it is Parquet."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _csv_table(path: Path, form: ReadOptions) -> Table:
    import pandas as pd  # half a second that other tables do without

    layout = _csv_layout(path, form)
    with (
        _text(path, form, layout.skipped) as text,
        _text(path, form, layout.skipped) as again,
    ):
        frame = pd.read_csv(
            Body(text),
            sep=layout.delimiter,
            names=layout.names,
            header=0 if layout.header else None,
            decimal=layout.marks.decimal,
            index_col=False,
            skip_blank_lines=False,  # they are rows too
            low_memory=False,  # one type for each column, not one for each block of lines
        )
        # Only a row whose last value is missing can be blank or short.
        odd = np.flatnonzero(frame.iloc[:, -1].isna()).tolist()
        blank = blank_lines(
            again, layout.delimiter, odd, layout.skipped, layout.header, len(layout.names)
        )
    columns = {name: nw.from_native(frame[name], series_only=True) for name in frame.columns}
    origin = Origin(library=nw.Implementation.PANDAS, index=frame.index)
    return Table(columns, origin, None, True, blank, layout.remarks, layout.marks)


def _csv_layout(path: Path, form: ReadOptions) -> _Layout:
    skipped, lines, named = _first_lines(path, form)
    delimiter = form.delimiter or named or _delimiter(lines, form.decimal)
    marks, remarks = _marks(lines, delimiter, form)
    first = next(csv.reader(lines, delimiter=delimiter))
    header = _has_header(first, marks) if form.header is None else form.header
    if not header:
        names = [f"channel_{index}" for index in range(len(first))] if len(first) > 1 else ["value"]
        return _Layout(skipped, delimiter, names, False, marks, remarks)
    stripped = [name.strip() for name in first]
    unique_names(stripped)
    names = [name or f"Unnamed: {index}" for index, name in enumerate(stripped)]
    return _Layout(skipped, delimiter, names, True, marks, remarks)


def _marks(lines: list[str], delimiter: str, form: ReadOptions) -> tuple[Marks, tuple[str, ...]]:
    """How numbers are written, and a remark if that was found out."""
    if form.decimal is not None or form.thousands is not None or delimiter == ",":
        return form.marks, ()
    fields = [each for line in csv.reader(lines, delimiter=delimiter) for each in line]
    commas = [each for each in fields if has_comma(each)]
    if any(map(has_point, fields)):
        return Marks(), ()
    # 50,000 is a thousand times 50 to some; who writes 31.12.2024 means 50.
    shown = next((each for each in commas if not may_be_grouped(each)), None)
    if commas and any(map(_POINT_DATE.match, fields)):
        shown = commas[0]
    if shown is None:
        return Marks(either=True), ()
    meant = Marks(",", ".").number(shown)
    told = f"numbers are read with a decimal comma: {shown.strip()!r}"
    return Marks(","), (told + ("" if meant is None else f" is {meant:.10g}"),)


def _first_lines(path: Path, form: ReadOptions) -> tuple[int, list[str], str | None]:
    """How many lines come before the first row, the first few rows, and a delimiter named there."""
    _refuse_binary(path, form.encoding)
    skipped, named = 0, None
    lines: list[str] = []
    with _text(path, form) as text:
        for line in text:
            if line.strip() and not lines and named is None and (sep := _SEP_LINE.fullmatch(line)):
                named = sep[1]
                skipped += 1
            elif line.strip():
                lines.append(line)
            elif not lines:
                skipped += 1
            if len(lines) == HEAD_LINES:
                break
    if not lines:
        raise InputError(f"{path} is empty", "name a file with a header and at least two rows")
    return skipped, lines, named


def _text(path: Path, form: ReadOptions, skipped: int = 0) -> TextIO:
    """The file as text from its first line on that is not blank."""
    opener = _OPENERS.get(path.suffix.lower(), open)
    # With or without the byte order mark that spreadsheets write.
    utf_8 = form.encoding.lower().replace("_", "-") in {"utf-8", "utf8"}
    encoding = "utf-8-sig" if utf_8 else form.encoding
    text: TextIO = opener(path, "rt", encoding=encoding, newline="")
    for _ in range(skipped):
        text.readline()
    return text


def _refuse_binary(path: Path, encoding: str) -> None:
    """Name a spreadsheet or another binary file for what it is, before its bytes are decoded."""
    if path.suffix.lower() in _OPENERS or not encoding.lower().startswith("utf-8"):
        return
    with path.open("rb") as file:
        head = file.read(4096)
    if b"\0" in head and not head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InputError(f"{path} is no text file", "export the table as CSV or Parquet")


def _delimiter(lines: list[str], decimal: str | None) -> str:
    """The delimiter that cuts every line into the same number of fields, and into most."""
    # The last line read may be cut off inside a quoted field.
    whole = lines[:-1] if len(lines) == HEAD_LINES else lines
    quoted = decimal is not None and any(map(_QUOTED_COMMA.search, whole))
    delimiters = DELIMITERS if decimal is None or quoted else DELIMITERS.replace(decimal, "")
    best, most = delimiters[0], 1
    # The comma last: in a decimal comma it cuts as many times as the real one.
    for delimiter in sorted(delimiters, key=",".__eq__):
        counts = {len(fields) for fields in csv.reader(whole, delimiter=delimiter)}
        if len(counts) == 1 and (fields := counts.pop()) > most:
            best, most = delimiter, fields
    if most > 1:
        return best
    return max(delimiters, key=lambda delimiter: lines[0].count(delimiter))


def _has_header(first: list[str], marks: Marks) -> bool:
    """No header is a first line made of numbers and dates; 0,1,2,... is what pandas writes."""
    numbered = first[1:] if first[0] == "" else first
    if len(first) > 1 and numbered == [str(index) for index in range(len(numbered))]:
        return True
    return not all(_is_value(field.strip(), marks) for field in first)


def _is_value(field: str, marks: Marks) -> bool:
    if field.lower() in MISSING_WORDS or read_quantities([field], marks) is not None:
        return True
    # A date: digits first, and nothing but digits and marks around a T and a Z, or AM and PM.
    day = _HALF_DAY.sub("", field)
    return day[:1].isdigit() and all(mark in "0123456789-/.:+ TZ" for mark in day)


@contextmanager
def _csv_errors(path: Path, form: ReadOptions) -> Iterator[None]:
    # half a second that other tables do without
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
            "give each line as many fields as the header, or name the right one with delimiter=",
        ) from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be unpacked ({error})", "write the file again") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error})", "try again"
        ) from None


def need_pyarrow(what: str) -> tuple[Any, Any]:
    """Pyarrow and its Parquet part, or a refusal of what needs them."""
    try:
        import pyarrow as pa  # an extra, a tenth of a second to import
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"{what} needs pyarrow", "pip install 'caps-tsad[parquet]'") from None
    return pa, pq


def _parquet_table(path: Path) -> Table:
    pa, pq = need_pyarrow("reading Parquet")
    try:
        return _arrow_rows(pq.ParquetFile(path, pre_buffer=False).read())
    except (pa.lib.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is no readable Parquet file ({error})", "write it again"
        ) from None


def _arrow_rows(table: Any) -> Table:
    """Arrow columns whose results go back as pandas: a file belongs to no library."""
    import pandas as pd  # half a second that other tables do without

    names = table.column_names
    unique_names(names)
    columns = {name: nw.from_native(table[name], series_only=True) for name in names}
    for column in columns.values():
        _ = column.dtype  # fails here, and not later, where the name of a zone is damaged
    origin = Origin(library=nw.Implementation.PANDAS, index=pd.RangeIndex(table.num_rows))
    return Table(columns, origin, from_file=True)
