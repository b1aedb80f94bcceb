"""TSB-AD's published figures of every series, and which series are proven to be its own."""

from pathlib import Path

import pandas as pd

from caps.bench.published import read_series_figures
from caps.bench.studies.study import StudyRun
from caps.bench.tables import build_tables
from caps.errors import InputError


def published_methods(path: Path | None) -> pd.DataFrame:
    """A row for each file, a column for each method."""
    if path is None:
        raise InputError("this study needs published figures", "give TSB-AD's CSV by --published")
    return read_series_figures(path)


def read_manifest(path: Path | None) -> pd.DataFrame:
    """What is known of each series, by its name."""
    if path is None:
        raise InputError("this study needs a manifest", "give its CSV file by --manifest")
    return pd.read_csv(path).set_index("name")


def finished_cells(run: StudyRun) -> pd.DataFrame:
    """The cells of a bench run that were done."""
    _, table = build_tables(run.out)
    return table[table.status == "done"]
