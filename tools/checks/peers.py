"""Deep peers of a results folder beside TSB-AD's published figures, dataset by dataset.

PYTHONPATH=tools python tools/checks/peers.py runs/dev PUBLISHED.csv MANIFEST.csv docs/baselines.md

VUS-PR of whole series, on those proven identical to TSB-AD's. The models are random, so means of
datasets are compared, and those of few series say little.
"""

import argparse
from pathlib import Path

import pandas as pd
from published_figures import published_methods
from sections import markdown, rewrite

NAMES = {
    "omnianomaly-tsb": "OmniAnomaly",
    "usad": "USAD",
    "tranad": "TranAD",
    "anomaly-transformer": "AnomalyTransformer",
    "timesnet": "TimesNet",
    "fits": "FITS",
}
NEAR = 0.08


def compared(cells: pd.DataFrame, published: pd.DataFrame, identical: set[str]) -> pd.DataFrame:
    """A row for each method and series that both have: ours and theirs."""
    rows = []
    kept = cells[(cells.status == "done") & cells.method.isin(NAMES) & cells.series.isin(identical)]
    for cell in kept.itertuples():
        if cell.series in published.index:
            theirs = published.loc[cell.series, NAMES[cell.method]]
            rows.append((cell.method, cell.dataset, cell.series, cell.whole_vus_pr, theirs))
    return pd.DataFrame(rows, columns=["method", "dataset", "series", "ours", "theirs"]).dropna()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("results", "published", "manifest", "page"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    manifest = pd.read_csv(arguments.manifest)
    identical = set(manifest[manifest.verified == "yes-exact"].name)
    cells = pd.read_csv(arguments.results / "tables" / "cells.csv")
    published = published_methods(arguments.published)
    means = compared(cells, published, identical).groupby(["method", "dataset"])
    table = means.agg(
        series=("series", "nunique"), ours=("ours", "mean"), theirs=("theirs", "mean")
    )
    table["apart"] = table.ours - table.theirs
    rows = [
        (
            method,
            dataset,
            str(each.series),
            f"{each.ours:.3f}",
            f"{each.theirs:.3f}",
            f"{each.apart:+.3f}",
        )
        for (method, dataset), each in zip(table.index, table.itertuples(), strict=True)
    ]
    near = int((table.apart.abs() <= NEAR).sum())
    header = ("method", "dataset", "series", "ours", "published", "difference")
    text = f"{markdown(header, rows)}\nWithin {NEAR}: {near} of {len(table)} dataset means."
    rewrite(arguments.page, "peers", text)
    print(text)


if __name__ == "__main__":
    main()
