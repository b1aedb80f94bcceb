"""What studies beside published figures read: TSB-AD's of every series, and cells of ours."""

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


def finished_cells(run: StudyRun) -> pd.DataFrame:
    """The cells of a bench run that were done."""
    _, table = build_tables(run.out)
    return table[table.status == "done"]
