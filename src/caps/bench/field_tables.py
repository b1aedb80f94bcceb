"""Tables by the field's rules: TSB-AD's metrics, its mean over series beside that over datasets."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from caps.bench.bootstrap import INTERVALS, mean_figure, over_datasets, over_series
from caps.bench.published import Kind
from caps.bench.rendering import Entry, Table, figure
from caps.bench.summary import FIELD_METRICS, NEWER_METRICS, UNRANKED, Part

VUS_WINDOW = (
    "VUS window: the period of the scored rows by autocorrelation, first channel, by the rule of "
    "TSB-AD 1.5 (lags 6 to 303, else 125)"
)
BOTH_WINDOWS = (
    f'{VUS_WINDOW}; in the columns "window of 2026" by that of TSB-AD\'s code since February 2026 '
    "(lags up to 300, else 125)."
)
THEIRS = (
    "In percent, by TSB-AD 1.5's protocol: Standard-F1 over every distinct score, Affiliation-F "
    "over 100 thresholds, both chosen with the labels in hand. Of its metrics PA-F1, "
    "Event-based-F1 and R-based-F1 are not computed here."
)
MEANS = INTERVALS + (
    "Series: TSB-AD's mean over series. Datasets: the paper's, over the series of a dataset, then "
    "over datasets; a method that lacks a dataset has none. Rank: by VUS-PR within each series, "
    "ties averaged, mean over series; a method that lacks a series has none."
)
PUBLISHED = "published: "
PUBLISHED_SAYS = (
    'Rows "published: ..." are what others published of the same series, VUS-PR with the window '
    "that they used; they were not run here."
)


def field_table(
    frame: pd.DataFrame,
    kind: Kind,
    part: Part,
    notes: Sequence[str],
    published: pd.DataFrame | None = None,
) -> Table:
    """Every metric of TSB-AD that CAPS has, a row for each method.

    `published` holds VUS-PR of whole series, a column for each method, and adds rows for those
    that have figures of the series.
    """
    metrics = {**FIELD_METRICS, **NEWER_METRICS}
    columns = [f"{part}_{name}" for name in metrics]
    done = frame[(frame["status"] == "done") & frame[f"{part}_undefined"].isna()]
    keys = [done[name] for name in ("method", "dataset", "series")]
    by_series = 100 * done[columns].astype(float).groupby(keys).mean()
    datasets = done.drop_duplicates("series").set_index("series")["dataset"].sort_index()
    ranks = mean_ranks(by_series[f"{part}_vus_pr"])
    ordered = (
        by_series[f"{part}_vus_pr"]
        .groupby(level="method")
        .mean()
        .sort_values(ascending=False, kind="stable")
    )
    rows: list[list[Entry]] = []
    for method in ordered.index:
        own = by_series.loc[method].droplevel("dataset").reindex(datasets.index)
        entries = [each for name in columns for each in _two_means(own[name], datasets)]
        rank = figure(ranks.get(method, float("nan")))
        rows.append([str(method), rank, *entries, _share(own[f"{part}_vus_pr"])])
    told = [] if published is None or part == "test" else _published_rows(published, datasets)
    rows += [[name, figure(float("nan")), *means, share] for name, means, share in told]
    header = ["Method", "Rank"]
    header += [f"{title}, {over}" for title in metrics.values() for over in ("series", "datasets")]
    said = [THEIRS, BOTH_WINDOWS, MEANS, *([PUBLISHED_SAYS] if told else []), *notes]
    title = f"By TSB-AD's rules, {kind}, {'test part' if part == 'test' else 'whole series'}"
    return Table(f"tsb_ad_{kind}_{part}", title, [*header, "Series"], rows, said)


def mean_ranks(values: "pd.Series[float]") -> "pd.Series[float]":
    """Of values by (method, dataset, series): 1 is best, ties averaged, unranked methods left out.

    A method that lacks a series has no rank: it would be one among other series.
    """
    wide = values.unstack(["dataset", "series"])
    ranked = [name for name in wide.index if str(name).partition("@")[0] not in UNRANKED]
    return wide.loc[ranked].rank(ascending=False).mean(axis=1, skipna=False)


def _two_means(values: "pd.Series[float]", datasets: "pd.Series[str]") -> list[Entry]:
    """Over series and over datasets; none over datasets where one is lacking."""
    array = np.asarray(values, dtype=np.float64)
    lacking = set(datasets) - set(datasets[np.isfinite(array)])
    both = [mean_figure(array, datasets, mean) for mean in (over_series, over_datasets)]
    return [both[0], figure(float("nan")) if lacking else both[1]]


def _share(values: "pd.Series[float]") -> str:
    return f"{int(values.notna().sum())}/{len(values)}"


def _published_rows(
    published: pd.DataFrame, datasets: "pd.Series[str]"
) -> list[tuple[str, list[Entry], str]]:
    """Name, figures and share of the series of every published method, the best first."""
    values = 100 * published.reindex(datasets.index)
    means = values.mean().dropna().sort_values(ascending=False, kind="stable")
    empty = figure(float("nan"))
    rows = []
    for name in means.index:
        figures: list[Entry] = []
        for metric in (*FIELD_METRICS, *NEWER_METRICS):
            own = _two_means(values[name], datasets) if metric == "vus_pr" else [empty, empty]
            figures += own
        rows.append((f"{PUBLISHED}{name}", figures, _share(values[name])))
    return rows
