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
    if file.member is None:
        table = pd.read_csv(file.source)
    else:
        with zipfile.ZipFile(file.source) as archive, archive.open(file.member) as stream:
            table = pd.read_csv(stream)
    labels = table.pop("Label")
    return table, labels


def _size(file: SeriesFile) -> int:
    if file.member is None:
        return Path(file.source).stat().st_size
    return _sizes(file.source)[file.member]


@cache
def _sizes(archive: str) -> dict[str, int]:
    with zipfile.ZipFile(archive) as files:
        return {info.filename: info.file_size for info in files.infolist()}
