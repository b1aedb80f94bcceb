"""Series of TSB-AD as tables with their column names, the shortest first."""

import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from caps.bench.datasets import SeriesFile


def by_size(files: Sequence[SeriesFile]) -> dict[str, list[SeriesFile]]:
    """The series of each dataset, the smallest file first."""
    found: dict[str, list[SeriesFile]] = {}
    for file in sorted(files, key=lambda file: (_size(file), file.name)):
        found.setdefault(file.dataset, []).append(file)
    return {dataset: found[dataset] for dataset in sorted(found)}


def read_table(file: SeriesFile) -> tuple[pd.DataFrame, "pd.Series[int]"]:
    """The channels as the file has them, and the labels."""
    table = pd.read_csv(path_of(file).open("rb"))
    labels = table.pop("Label")
    return table, labels


def path_of(file: SeriesFile) -> Path | zipfile.Path:
    """The CSV file, wherever it lies."""
    if file.member is None:
        return Path(file.source)
    return zipfile.Path(_archive(file.source), file.member)


def _size(file: SeriesFile) -> int:
    if file.member is None:
        return Path(file.source).stat().st_size
    return _archive(file.source).getinfo(file.member).file_size


@cache
def _archive(path: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)
