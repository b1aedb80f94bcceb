"""TSB-AD's published figures of every series, and which series are proven to be its own."""

from pathlib import Path

import pandas as pd

from caps.bench.published import read_series_figures
from caps.bench.rendering import Entry
from caps.bench.studies.study import StudyRun
from caps.bench.tables import build_tables
from caps.errors import InputError

NEAR = 0.01  # of VUS-PR: figures that agree
AGREEMENT = ["mean, ours", "mean, published", f"within {NEAR}", "largest difference"]


def agreement(series: pd.DataFrame, apart: "pd.Series[float]") -> list[Entry]:
    """Entries below `AGREEMENT` for `ours` and `theirs` of every series, and how far apart."""
    return [
        f"{series['ours'].mean():.4f}",
        f"{series['theirs'].mean():.4f}",
        f"{(apart <= NEAR).mean():.1%}",
        f"{apart.max():.4f}",
    ]


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
