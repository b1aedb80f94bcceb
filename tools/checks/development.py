"""Write the development table and the comparison with TSB-AD's published figures into a page.

PYTHONPATH=tools python tools/checks/development.py runs/dev docs/benchmarks.md [--published CSV]
"""

import argparse
from pathlib import Path

import pandas as pd
from published_figures import published_methods
from sections import markdown, rewrite

METRICS = {
    "test_vus_pr": "VUS-PR",
    "test_affiliation_f": "Affiliation-F",
    "test_f1_t": "F1_T",
    "test_standard_f1": "Standard-F1",
    "whole_vus_pr": "VUS-PR, whole series",
}


def by_dataset(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over the series of a dataset, then over seeds; last the mean over datasets."""
    means = table.groupby(["method", "seed", "dataset"])[metric].mean().groupby(level=[0, 2]).mean()
    wide = 100 * means.unstack()
    wide["mean"] = wide.mean(axis=1, skipna=False)
    return wide.sort_values("mean", ascending=False)


def of_seeds(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The mean over datasets of each seed, in percent: a row for each method, a column a seed."""
    means = table.groupby(["method", "seed", "dataset"])[metric].mean()
    return 100 * means.groupby(level=[0, 1]).mean().unstack()


def overall(table: pd.DataFrame) -> str:
    """Means over datasets of every metric, and VUS-PR of each dataset."""
    columns = {name: of_seeds(table, metric) for metric, name in METRICS.items()}
    order = columns["VUS-PR"].mean(axis=1).sort_values(ascending=False).index
    rows = [
        (
            method,
            *(_with_spread(values.loc[method].dropna()) for values in columns.values()),
            str(int(columns["VUS-PR"].loc[method].notna().sum())),
        )
        for method in order
    ]
    text = markdown(("method", *METRICS.values(), "seeds"), rows)
    wide = by_dataset(table, "test_vus_pr")
    datasets = [
        (method, *(f"{value:.1f}" for value in values)) for method, *values in wide.itertuples()
    ]
    return (
        f"{text}\nVUS-PR by dataset, test part:\n\n{markdown(('method', *wide.columns), datasets)}"
    )


def _with_spread(seeds: "pd.Series[float]") -> str:
    mean = f"{seeds.mean():.1f}"
    return mean if len(seeds) == 1 else f"{mean} ± {seeds.std():.1f}"


def on_fewer(table: pd.DataFrame, methods: list[str]) -> str:
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
        rows.append((method, count, *cells))
    rows.sort(key=lambda row: -float(row[2].split(" / ")[0]))
    header = ("method / caps", "series of datasets", *METRICS.values())
    return markdown(header, rows)


def beside_published(table: pd.DataFrame, published: Path) -> str:
    """Whole-series VUS-PR of ours and of the best published methods, on the same series."""
    theirs = published_methods(published)
    ours = table[table.method.isin(["caps", "caps-memory"])]
    ours = ours.pivot_table(index="series", columns="method", values="whole_vus_pr")
    both = ours.join(theirs, how="inner")
    dataset = both.index.to_series().str.split("_").str[1]
    means = 100 * both.groupby(dataset).mean()
    rows, best_of = [], means[list(theirs.columns)]
    for name, values in means.iterrows():
        best = best_of.loc[name].sort_values(ascending=False)
        rows.append(
            (
                str(name),
                str(int((dataset == name).sum())),
                f"{values['caps']:.1f}",
                f"{values['caps-memory']:.1f}",
                f"{best.iloc[0]:.1f} ({best.index[0]})",
                f"{best.iloc[1]:.1f} ({best.index[1]})",
            )
        )
    single = best_of.mean().sort_values(ascending=False)
    rows.append(
        (
            "**mean**",
            str(len(both)),
            f"**{means['caps'].mean():.1f}**",
            f"{means['caps-memory'].mean():.1f}",
            f"{best_of.max(axis=1).mean():.1f} (best of each dataset)",
            f"{single.iloc[0]:.1f} ({single.index[0]}, best single method)",
        )
    )
    header = ("dataset", "series", "caps", "caps-memory", "best published", "second")
    return markdown(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--published", type=Path)
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.results / "tables" / "cells.csv")
    table = table[table.status == "done"]
    count = table.groupby("method")["series"].nunique()
    fewer = sorted(count.index[count < count.max()])
    sections = {"development": overall(table[~table.method.isin(fewer)])}
    if fewer:
        sections["fewer"] = on_fewer(table, fewer)
    for name, text in sections.items():
        rewrite(arguments.page, name, text)
        print(text)
    if arguments.published:
        text = beside_published(table, arguments.published)
        rewrite(arguments.page, "published", text)
        print(text)


if __name__ == "__main__":
    main()
