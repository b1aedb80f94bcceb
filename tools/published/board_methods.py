"""The newer methods of the board against their published VUS-PR, series by series.

What starts at random is run with several seeds: a published figure within their range agrees, one
outside does not.
"""

from collections.abc import Sequence

import pandas as pd

from caps.baselines import METHODS
from caps.bench.datasets import LabelledSeries, SeriesFile, load_series
from caps.bench.published import series_figures
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import CapsError
from caps.metrics import WindowRule, acf_window, vus
from tools.published.figures import (
    AGREEMENT,
    NEAR,
    agreement,
    published_methods,
    read_manifest,
)

SEEDS = {"kmeansad-tab": 5, "mmpad-tsb": 1, "poly-tsb": 1, "kshapead-tsb": 1}
# The rule for the VUS window at the time of the figures; authors submitted those of 2026.
RULES: dict[str, WindowRule] = {
    "kmeansad-tab": "2026",
    "mmpad-tsb": "2026",
    "poly-tsb": "1.5",
    "kshapead-tsb": "1.5",
}
SERIES, QUICK_SERIES = 20, 2  # the shortest ones


def board_methods(run: StudyRun) -> Report:
    """A row for each method, and one for each of its figures that is apart."""
    published = published_methods(run.published)
    chosen = _shortest(run, published)
    found: list[dict[str, object]] = []
    failed: list[str] = []
    for file in chosen:
        run.say(file.name)
        series = load_series(file)
        for name, seeds in SEEDS.items():
            theirs = series_figures(name, published)
            if theirs is None:
                continue
            try:
                ours = _figures(name, series, range(seeds))
            except CapsError as error:
                failed.append(f"{name} on {file.name}: {error.problem}")
                continue
            found.append(
                {
                    "method": name,
                    "series": file.name,
                    "theirs": float(theirs[file.name]),
                    "ours": sum(ours) / len(ours),
                    "low": min(ours),
                    "high": max(ours),
                }
            )
    table = pd.DataFrame(found)
    longest = max((int(length) for length in _lengths(run)[[f.name for f in chosen]]), default=0)
    text = (
        "VUS-PR of whole series, with the window of TSB-AD 1.5 for its own runs and that of 2026 "
        f"for what was submitted since, on the {len(chosen)} shortest series that the manifest "
        f"calls `yes-exact` (at most {longest:,} rows). Apart: a published figure more than {NEAR} "
        "outside the range of our seeds."
    )
    tables = [_summary(table), _apart(table)]
    notes = [text, *(f"Failed: {each}." for each in failed)]
    return Report("Methods of the board against published figures", notes, tables)


def _shortest(run: StudyRun, published: pd.DataFrame) -> list[SeriesFile]:
    facts = read_manifest(run.manifest)
    sure = facts[(facts["verified"] == "yes-exact") & facts.index.isin(published.index)]
    there = [file for file in run.files if file.name in sure.index]
    there.sort(key=lambda file: (int(sure.loc[file.name, "length"]), file.name))
    return there[: QUICK_SERIES if run.quick else SERIES]


def _lengths(run: StudyRun) -> "pd.Series[int]":
    return read_manifest(run.manifest)["length"]


def _figures(name: str, series: LabelledSeries, seeds: Sequence[int]) -> list[float]:
    window = acf_window(series.values, rule=RULES[name])
    train = series.values[: series.train]
    scores = (METHODS[name](seed).fit(train).score(series.values) for seed in seeds)
    return [vus(each, series.labels, window=window).pr for each in scores]


def _outside(table: pd.DataFrame) -> "pd.Series[float]":
    """How far a published figure lies outside the range of our seeds."""
    return pd.concat([table["theirs"] - table["high"], table["low"] - table["theirs"]], axis=1).max(
        axis=1
    )


def _summary(table: pd.DataFrame) -> Table:
    rows: list[list[Entry]] = []
    for name, each in table.groupby("method", sort=False):
        outside = _outside(each).clip(lower=0)
        seeds = str(SEEDS[str(name)])
        rows.append([str(name), str(len(each)), seeds, *agreement(each, outside)])
    header = ["method", "series", "seeds", *AGREEMENT]
    return Table("board", "Published and ours", header, rows)


def _apart(table: pd.DataFrame) -> Table:
    away = table[_outside(table) > NEAR]
    rows: list[list[Entry]] = [
        [each.method, each.series, f"{each.low:.4f} to {each.high:.4f}", f"{each.theirs:.4f}"]
        for each in away.itertuples()
    ]
    return Table("board: apart", "Apart", ["method", "series", "ours", "published"], rows)
