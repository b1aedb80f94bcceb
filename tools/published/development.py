"""All methods of a bench run beside each other, and beside TSB-AD's published figures."""

import pandas as pd

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.published.figures import finished_cells, published_methods

METRICS = {
    "test_vus_pr": "VUS-PR",
    "test_affiliation_f": "Affiliation-F",
    "test_f1_t": "F1_T",
    "test_standard_f1": "Standard-F1",
    "whole_vus_pr": "VUS-PR, whole series",
}


def development(run: StudyRun) -> Report:
    """Means over datasets of every metric, VUS-PR of each dataset, and the best published."""
    table = finished_cells(run)
    count = table.groupby("method")["series"].nunique()
    fewer = sorted(count.index[count < count.max()])
    tables = _overall(table[~table.method.isin(fewer)])
    if fewer:
        tables.append(_on_fewer(table, fewer))
    if run.published is not None:
        tables.append(_beside_published(table, published_methods(run.published)))
    return Report(
        "Development",
        [
            "Means over the series of a dataset, then over datasets; ± is the standard deviation "
            "over seeds. Test part unless said otherwise."
        ],
        tables,
    )


def _by_dataset(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over the series of a dataset, then over seeds; last the mean over datasets."""
    means = table.groupby(["method", "seed", "dataset"])[metric].mean().groupby(level=[0, 2]).mean()
    wide = 100 * means.unstack()
    wide["mean"] = wide.mean(axis=1, skipna=False)
    return wide.sort_values("mean", ascending=False)


def _of_seeds(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The mean over datasets of each seed, in percent: a row for each method, a column a seed."""
    means = table.groupby(["method", "seed", "dataset"])[metric].mean()
    return 100 * means.groupby(level=[0, 1]).mean().unstack()


def _overall(table: pd.DataFrame) -> list[Table]:
    columns = {name: _of_seeds(table, metric) for metric, name in METRICS.items()}
    order = columns["VUS-PR"].mean(axis=1).sort_values(ascending=False).index
    rows: list[list[Entry]] = [
        [
            method,
            *(_with_deviation(values.loc[method].dropna()) for values in columns.values()),
            str(int(columns["VUS-PR"].loc[method].notna().sum())),
        ]
        for method in order
    ]
    wide = _by_dataset(table, "test_vus_pr")
    datasets: list[list[Entry]] = [
        [method, *(f"{value:.1f}" for value in values)] for method, *values in wide.itertuples()
    ]
    return [
        Table("development", "All metrics", ["method", *METRICS.values(), "seeds"], rows),
        Table(
            "development: datasets",
            "VUS-PR by dataset, test part",
            ["method", *wide.columns],
            datasets,
        ),
    ]


def _with_deviation(seeds: "pd.Series[float]") -> str:
    mean = f"{seeds.mean():.1f}"
    return mean if len(seeds) == 1 else f"{mean} ± {seeds.std():.1f}"


def _on_fewer(table: pd.DataFrame, methods: list[str]) -> Table:
    """Methods that were run on some of the series only, each beside CAPS on the same ones."""
    first = table[table.seed == 0]
    rows = []
    for method in methods:
        theirs = first[first.method == method]
        ours = first[(first.method == "caps") & first.series.isin(theirs.series)]
        cells = []
        for metric in METRICS:
            pair = [100 * each.groupby("dataset")[metric].mean().mean() for each in (theirs, ours)]
            cells.append(f"{pair[0]:.1f} / {pair[1]:.1f}")
        count = f"{theirs.series.nunique()} of {theirs.dataset.nunique()}"
        rows.append([method, count, *cells])
    rows.sort(key=lambda row: -float(row[2].split(" / ")[0]))
    header = ["method / caps", "series of datasets", *METRICS.values()]
    return Table("fewer", "Methods on some of the series", header, rows)


def _beside_published(table: pd.DataFrame, theirs: pd.DataFrame) -> Table:
    """Whole-series VUS-PR of ours and of the best published methods, on the same series."""
    ours = table[table.method.isin(["caps", "caps-memory"])]
    ours = ours.pivot_table(index="series", columns="method", values="whole_vus_pr")
    both = ours.join(theirs, how="inner")
    dataset = both.index.to_series().str.split("_").str[1]
    means = 100 * both.groupby(dataset).mean()
    best_of = means[list(theirs.columns)]
    rows: list[list[Entry]] = []
    for name, values in means.iterrows():
        best = best_of.loc[name].sort_values(ascending=False)
        rows.append(
            [
                str(name),
                str(int((dataset == name).sum())),
                f"{values['caps']:.1f}",
                f"{values['caps-memory']:.1f}",
                *(f"{best.iloc[k]:.1f} ({best.index[k]})" for k in (0, 1)),
            ]
        )
    single = best_of.mean().sort_values(ascending=False)
    rows.append(
        [
            "**mean**",
            str(len(both)),
            f"**{means['caps'].mean():.1f}**",
            f"{means['caps-memory'].mean():.1f}",
            f"{best_of.max(axis=1).mean():.1f} (best of each dataset)",
            f"{single.iloc[0]:.1f} ({single.index[0]}, best single method)",
        ]
    )
    header = ["dataset", "series", "caps", "caps-memory", "best published", "second"]
    return Table("published", "VUS-PR of whole series beside published ones", header, rows)
