"""CAPS on TSB-AD's evaluation lists beside every published method, rebuilt from cells.

Whole series, VUS-PR, means over the series that are there, as TSB-AD publishes them.
"""

import numpy as np
import pandas as pd

from caps.bench.bootstrap import mean_figure, over_series
from caps.bench.published import read_series_figures
from caps.bench.rendering import Entry, Table, figure
from caps.bench.selection import set_names
from caps.bench.studies.study import Report, StudyRun
from caps.bench.tables import build_tables
from caps.errors import InputError

OURS = ("caps-memory", "caps")  # the first that was run stands beside the others
LISTS = {"univariate": "tsb-ad-u-eva", "multivariate": "tsb-ad-m-eva"}
NEWER = "window of 2026"  # ours with it: what authors submitted in 2026 has it
SHOWN = 12  # published methods in the table; `caps bench table --published` has all
UNITS = 100.0  # percent


def evaluation(run: StudyRun) -> Report:
    """The tables of docs/benchmarks.md that are of the evaluation lists."""
    if run.published is None:
        raise InputError("this study needs published figures", "give TSB-AD's CSV by --published")
    published = read_series_figures(run.published)
    _, frame = build_tables(run.out)
    frame = frame[frame["status"] == "done"]
    kind = "univariate" if frame["channels"].max() == 1 else "multivariate"
    frame = frame[frame["series"].isin(set_names(LISTS[kind]))]
    method = next((name for name in OURS if (frame["method"] == name).any()), None)
    if method is None:
        raise InputError(f"{run.out} holds no cells of CAPS", f"run {', '.join(OURS)} on {kind}")
    ours = pd.DataFrame(
        {method: _of(frame, method, "vus_pr"), NEWER: _of(frame, method, "vus_pr_2026")}
    )
    both = ours.join(UNITS * published, how="inner")
    text = (
        f"{LISTS[kind]}, {len(both)} series at hand, whole series, VUS-PR in percent with the "
        "window of TSB-AD 1.5."
    )
    tables = [_beside(both, method, kind), _by_dataset(both, method, kind)]
    return Report("CAPS on TSB-AD's evaluation lists", [text], tables)


def _of(frame: pd.DataFrame, method: str, metric: str) -> "pd.Series[float]":
    """A metric of whole series in percent, mean over seeds."""
    return UNITS * frame[frame["method"] == method].groupby("series")[
        f"whole_{metric}"
    ].mean().astype(float)


def _beside(both: pd.DataFrame, method: str, kind: str) -> Table:
    """Means of ours and of the best published, and how far ahead ours is on the same series."""
    order = both.drop(columns=[method, NEWER]).mean().sort_values(ascending=False).index
    rows: list[list[Entry]] = [
        [f"`{method}`", *_means(both[method]), "", "", str(int(both[method].notna().sum()))],
        [f"`{method}`, window of 2026", *_means(both[NEWER]), "", "", ""],
    ]
    for name in order[:SHOWN]:
        ahead = [_mean(both[own] - both[name]) for own in (method, NEWER)]
        count = str(int((both[method] - both[name]).notna().sum()))
        rows.append([f"published: {name}", *_means(both[name]), *ahead, count])
    header = ["method", "mean over series", "over datasets"]
    header += ["CAPS ahead by", "with the window of 2026", "series"]
    return Table(f"evaluation {kind}", f"Beside published methods, {kind}", header, rows)


def _means(values: "pd.Series[float]") -> list[Entry]:
    known = values.dropna()
    return [_mean(values), figure(known.groupby(_dataset(known)).mean().mean(), digits=1)]


def _mean(values: "pd.Series[float]") -> Entry:
    known = values.dropna()
    return mean_figure(known.to_numpy(np.float64), _dataset(known), over_series, digits=1)


def _by_dataset(both: pd.DataFrame, method: str, kind: str) -> Table:
    datasets = _dataset(both)
    means = both.drop(columns=NEWER).groupby(datasets).mean()
    rows: list[list[Entry]] = []
    for name, values in means.iterrows():
        best = values.drop(method).sort_values(ascending=False)
        others = [f"{best.iloc[place]:.1f} ({best.index[place]})" for place in (0, 1)]
        count = str(int((datasets == name).sum()))
        rows.append([str(name), count, f"{values[method]:.1f}", *others])
    header = ["dataset", "series", f"`{method}`", "best published", "second"]
    return Table(f"evaluation datasets {kind}", f"By dataset, {kind}", header, rows)


def _dataset(of_series: "pd.DataFrame | pd.Series[float]") -> "pd.Series[str]":
    return of_series.index.to_series().str.split("_").str[1]
