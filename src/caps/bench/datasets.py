"""Labelled series in the layout of TSB-AD: zips and folders as downloaded, one CSV a series.

The file name tells dataset and training rows, e.g. `001_NAB_id_1_Facility_tr_1007_1st_2014.csv`;
the columns are the channels, then `Label`.
"""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caps.arrays import FloatArray, runs
from caps.errors import InputError
from caps.series import bridge

LABEL = "Label"
NAME = re.compile(
    r"(?:\d+_)?(?P<dataset>[A-Za-z][A-Za-z0-9-]*)_(?:.*_)?tr_(?P<train>\d+)_1st_\d+\.csv"
)


@dataclass(frozen=True, slots=True)
class SeriesFile:
    """Where a series lies and what its file name tells.

    >>> file = SeriesFile.named("001_NAB_id_1_Facility_tr_1007_1st_2014.csv", "data")
    >>> file.dataset, file.train
    ('NAB', 1007)
    """

    name: str
    dataset: str
    train: int  # rows of the training part
    source: str  # the CSV file, or the zip that holds it
    member: str | None = None  # name inside the zip

    @classmethod
    def named(cls, name: str, source: str, member: str | None = None) -> "SeriesFile | None":
        """The facts in a file name; None if it is not the name of a series."""
        facts = NAME.fullmatch(name)
        if facts is None:
            return None
        return cls(name, facts["dataset"], int(facts["train"]), source, member)


@dataclass(frozen=True, slots=True)
class LabelledSeries:
    """Values (time, channel), one 0/1 label a row, and how many rows are for training."""

    values: FloatArray
    labels: NDArray[np.int8]
    train: int
    filled: int  # missing values that were interpolated
    sha256: str  # of the file

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.values.shape[1])


def find_series(sources: Iterable[Path]) -> list[SeriesFile]:
    """Every series in zips, CSV files and folders of both (with subfolders), in order of name.

    Files with other names, such as lists and manifests, are passed over. A name found twice counts
    once, where it was found first.
    """
    found: dict[str, SeriesFile] = {}
    for source in sources:
        files = _files_of(source)
        if not files:
            raise InputError(
                f"{source} holds no series",
                "give TSB-AD zips or folders of CSV files named like "
                "001_NAB_id_1_Facility_tr_1007_1st_2014.csv",
            )
        for file in files:
            found.setdefault(file.name, file)
    return sorted(found.values(), key=lambda file: file.name)


def labelled_spans(
    labels: NDArray[Any], first: int = 0, last: int | None = None
) -> list[tuple[int, int]]:
    """The runs [start, end) of rows that are not 0, from row `first` on and before `last`.

    >>> labelled_spans(np.array([1, 0, 1, 1]), first=1)
    [(2, 4)]
    """
    marked = np.asarray(labels[first:last], dtype=np.bool_)
    return [(start, end) for start, end in (first + runs(marked)).tolist()]


def load_series(file: SeriesFile) -> LabelledSeries:
    """Read one series; missing values are interpolated, the same for every method."""
    content = _content(file)
    try:
        table = pd.read_csv(BytesIO(content))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name} is no CSV file ({error})", "download it again") from None
    if LABEL not in table.columns:
        columns = ", ".join(map(str, table.columns[:5]))
        raise InputError(
            f"{file.name} has no column {LABEL!r}, only {columns}",
            "add a column of 0 and 1 with that name",
        )
    labels = _labels(table.pop(LABEL), file.name)
    values, filled = _values(table, file.name)
    if not 0 < file.train < len(values):
        raise InputError(
            f"{file.name} names {file.train} training rows, but has {len(values)} rows",
            "give the file its right name: tr_ is followed by the number of training rows",
        )
    digest = hashlib.sha256(content).hexdigest()
    return LabelledSeries(values, labels, file.train, filled, digest)


def _files_of(source: Path) -> Sequence[SeriesFile]:
    if source.is_dir():
        paths = sorted([*source.rglob("*.csv"), *source.rglob("*.zip")])
        return [file for path in paths for file in _files_of(path)]
    if source.suffix.lower() == ".csv" and source.is_file():
        found = [SeriesFile.named(source.name, str(source.resolve()))]
    elif source.is_file():
        where = str(source.resolve())
        members = _archive(where).namelist()
        found = [SeriesFile.named(PurePosixPath(each).name, where, each) for each in members]
    else:
        raise InputError(f"{source} does not exist", "name a TSB-AD zip or folder with --data")
    return [file for file in found if file is not None]


def shape_of(file: SeriesFile) -> tuple[int, int]:
    """Rows and channels, counted without reading the numbers."""
    content = _content(file).rstrip()
    return content.count(b"\n"), content.partition(b"\n")[0].count(b",")


@lru_cache(maxsize=8)
def _archive(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is no zip file ({error})", "download it again") from None


def _content(file: SeriesFile) -> bytes:
    try:
        if file.member is None:
            return Path(file.source).read_bytes()
        return _archive(file.source).read(file.member)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
        raise InputError(
            f"{file.name} in {file.source} cannot be read ({error})", "download the zip again"
        ) from None
    except RuntimeError as error:  # what zipfile raises for encrypted members
        raise InputError(f"{file.name} in {file.source}: {error}", "decrypt the zip") from None


def _labels(column: "pd.Series[float]", name: str) -> NDArray[np.int8]:
    labels = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    odd = ~np.isin(labels, (0.0, 1.0))
    if odd.any():
        row = int(np.argmax(odd))
        raise InputError(
            f"{name} has the label {column.iloc[row]!r} in row {row}", "mark every row 0 or 1"
        )
    return labels.astype(np.int8)


def _values(table: pd.DataFrame, name: str) -> tuple[FloatArray, int]:
    if table.shape[1] == 0 or len(table) == 0:
        raise InputError(f"{name} has no values", "give at least one channel and one row")
    numbers = table.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64, copy=True)
    missing = ~np.isfinite(numbers)
    for column in table.columns[missing.all(axis=0)]:
        raise InputError(f"{name} has no number in column {column!r}", "leave the column out")
    return np.asarray(bridge(numbers.T).T, dtype=np.float64), int(missing.sum())
