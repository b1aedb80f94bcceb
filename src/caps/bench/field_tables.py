"""Tables by the field's rules: TSB-AD's metrics, its mean over series beside that over datasets."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from caps.bench.bootstrap import COVERAGE, DRAWS, INTERVALS, mean_figure, over_datasets, over_series
from caps.bench.published import Kind
from caps.bench.rendering import Entry, Table, figure
from caps.bench.summary import FIELD_METRICS, FLOORS, NEWER_METRICS, UNRANKED, Part

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
VUS_METRICS = {"vus_pr": "VUS-PR", "vus_pr_2026": NEWER_METRICS["vus_pr_2026"]}
MORE = {name: title for name, title in FIELD_METRICS.items() if name not in VUS_METRICS}
PUBLISHED_SAYS = (
    'Rows "published: ..." are what others published of the same series, VUS-PR with the window '
    "that they used; they were not run here."
)

TOP_1 = (
    "In percent of the series of UCR: the highest score of the test part lies within the event or "
    "no farther than its length or 100 rows, whichever is more. Of equal highest scores the first "
    "counts. Whole archive (250 series), published: TimeVQVAE-AD 70.8, matrix profile (stumpy) "
    f"51.2. In brackets: {COVERAGE} % bootstrap interval over series ({DRAWS:,} draws)."
)


def field_tables(
    frame: pd.DataFrame,
    kind: Kind,
    part: Part,
    notes: Sequence[str],
    published: pd.DataFrame | None = None,
) -> list[Table]:
    """VUS-PR by both rules for its window with ranks, then the other metrics of TSB-AD.

    `published` holds VUS-PR of whole series, a column for each method, and adds rows for those
    that have figures of the series.
    """
    done = frame[(frame["status"] == "done") & frame[f"{part}_undefined"].isna()]
    keys = [done[name] for name in ("method", "dataset", "series")]
    columns = {f"{part}_{name}": name for name in (*FIELD_METRICS, *NEWER_METRICS)}
    means = 100 * done[list(columns)].astype(float).groupby(keys).mean().rename(columns=columns)
    datasets = done.drop_duplicates("series").set_index("series")["dataset"].sort_index()
    ranks = mean_ranks(means["vus_pr"])
    over_all = means["vus_pr"].groupby(level="method").mean()
    main: list[list[Entry]] = []
    more: list[list[Entry]] = []
    for method in over_all.sort_values(ascending=False, kind="stable").index:
        own = means.loc[method].droplevel("dataset").reindex(datasets.index)
        share = _share(own["vus_pr"])
        rank = figure(ranks.get(method, float("nan")))
        main.append([str(method), rank, *_both_means(own, VUS_METRICS, datasets), share])
        more.append([str(method), *_both_means(own, MORE, datasets), share])
    told = [] if published is None or part == "test" else _published_rows(published, datasets)
    where = f"{kind}, {'test part' if part == 'test' else 'whole series'}"
    said = [BOTH_WINDOWS, MEANS, *([PUBLISHED_SAYS] if told else []), *notes]
    return [
        Table(
            f"tsb_ad_{kind}_{part}",
            f"By TSB-AD's rules, VUS-PR, {where}",
            ["Method", "Rank", *_headings(VUS_METRICS), "Series"],
            [*main, *told],
            ["In percent.", *said],
        ),
        Table(
            f"tsb_ad_more_{kind}_{part}",
            f"By TSB-AD's rules, other metrics, {where}",
            ["Method", *_headings(MORE), "Series"],
            more,
            [THEIRS, f"{VUS_WINDOW}.", MEANS, *notes],
        ),
    ]


def mean_ranks(values: "pd.Series[float]") -> "pd.Series[float]":
    """Of values by (method, dataset, series): 1 is best, ties averaged, unranked methods left out.

    A method that lacks a series has no rank: it would be one among other series.
    """
    wide = values.unstack(["dataset", "series"])
    ranked = [name for name in wide.index if str(name).partition("@")[0] not in UNRANKED]
    return wide.loc[ranked].rank(ascending=False).mean(axis=1, skipna=False)


def _headings(metrics: Mapping[str, str]) -> list[str]:
    return [f"{title}, {over}" for title in metrics.values() for over in ("series", "datasets")]


def _both_means(
    values: pd.DataFrame, metrics: Iterable[str], datasets: "pd.Series[str]"
) -> list[Entry]:
    """Of each metric over series and over datasets; none over datasets where one is lacking."""
    entries: list[Entry] = []
    for name in metrics:
        array = np.asarray(values[name], dtype=np.float64)
        lacking = set(datasets) - set(datasets[np.isfinite(array)])
        over = [mean_figure(array, datasets, mean) for mean in (over_series, over_datasets)]
        entries += [over[0], figure(float("nan")) if lacking else over[1]]
    return entries


def _share(values: "pd.Series[float]") -> str:
    return f"{int(values.notna().sum())}/{len(values)}"


def _published_rows(published: pd.DataFrame, datasets: "pd.Series[str]") -> list[list[Entry]]:
    """Of every published method that has figures of the series, the best first."""
    values = 100 * published.reindex(datasets.index)
    means = values.mean().dropna().sort_values(ascending=False, kind="stable")
    empty = figure(float("nan"))
    return [
        [
            f"published: {name}",
            empty,  # ranks are among what was run here
            *_both_means(values, [name], datasets),
            *[empty] * (2 * len(VUS_METRICS) - 2),
            _share(values[name]),
        ]
        for name in means.index
    ]


def top_1_tables(frame: pd.DataFrame, kind: Kind) -> list[Table]:
    """A table of the methods that have series of UCR, the best first; none without any."""
    known = frame[(frame["status"] == "done") & frame["test_top_1"].notna()]
    known = known[~known["method"].isin(FLOORS[1:])]  # equal scores have no highest one
    if known.empty:
        return []
    rates = known.assign(rate=100 * known["test_top_1"].astype(float))
    by_series = rates.groupby(["method", "series"])["rate"].mean()
    order = by_series.groupby("method").mean().sort_values(ascending=False, kind="stable")
    rows: list[list[Entry]] = []
    for method in order.index:
        own = by_series.loc[method]
        datasets = pd.Series("UCR", index=own.index)
        shown = mean_figure(own.to_numpy(np.float64), datasets, over_series, digits=1)
        rows.append([str(method), shown, str(len(own))])
    header = ["Method", "Top-1 accuracy, %", "Series"]
    return [Table(f"ucr_top_1_{kind}", f"UCR top-1 accuracy, {kind}", header, rows, [TOP_1])]
