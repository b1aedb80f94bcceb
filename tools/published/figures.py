"""TSB-AD's published figures of every series, and ours of the same methods beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from caps.baselines import METHODS
from caps.bench.datasets import SeriesFile, load_series
from caps.bench.published import read_series_figures, series_figures
from caps.bench.rendering import Entry
from caps.bench.studies.study import StudyRun
from caps.bench.tables import build_tables
from caps.errors import CapsError, InputError
from caps.metrics import WindowRule, acf_window, vus

NEAR = 0.01  # of VUS-PR: figures that agree
AGREEMENT = ["mean, ours", "mean, published", f"within {NEAR}", "largest difference"]


@dataclass(frozen=True, slots=True)
class Rerun:
    """How a published method is run again."""

    seeds: int = 1
    rule: WindowRule = "1.5"  # for the VUS window, at the time of the figures


def run_again(
    run: StudyRun, files: Sequence[SeriesFile], methods: Mapping[str, Rerun]
) -> tuple[pd.DataFrame, list[str]]:
    """VUS-PR of whole series, published and ours over all seeds; and what failed.

    Apart is how far a published figure lies outside the range of our seeds.
    """
    published = published_methods(run.published)
    found, failed = [], []
    for file in files:
        run.say(file.name)
        series = load_series(file)
        for name, how in methods.items():
            theirs = series_figures(name, published)
            if theirs is None:
                continue
            window, train = acf_window(series.values, rule=how.rule), series.values[: series.train]
            try:
                models = [METHODS[name](seed).fit(train) for seed in range(how.seeds)]
                scores = [each.score(series.values) for each in models]
            except CapsError as error:
                failed.append(f"Failed: {name} on {file.name}: {error.problem}.")
                continue
            ours = [vus(each, series.labels, window=window).pr for each in scores]
            facts = (name, theirs.name, file.name, float(theirs[file.name]))
            found.append((*facts, np.mean(ours), min(ours), max(ours)))
    columns = ["method", "theirs_name", "series", "theirs", "ours", "low", "high"]
    table = pd.DataFrame(found, columns=columns)
    outside = np.maximum(table["theirs"] - table["high"], table["low"] - table["theirs"])
    return table.assign(apart=outside.clip(lower=0)), failed


def agreement(series: pd.DataFrame) -> list[Entry]:
    """Entries below `AGREEMENT` for series of one method."""
    return [
        f"{series['ours'].mean():.4f}",
        f"{series['theirs'].mean():.4f}",
        f"{(series['apart'] <= NEAR).mean():.1%}",
        f"{series['apart'].max():.4f}",
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


def published_series(run: StudyRun) -> pd.DataFrame:
    """What the manifest knows of each series with published figures."""
    facts = read_manifest(run.manifest)
    return facts[facts.index.isin(published_methods(run.published).index)]


def finished_cells(run: StudyRun) -> pd.DataFrame:
    """The cells of a bench run that were done."""
    _, table = build_tables(run.out)
    return table[table.status == "done"]
