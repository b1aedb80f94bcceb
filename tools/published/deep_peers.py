"""Deep peers of a bench run beside TSB-AD's published figures, dataset by dataset.

The models are random, so means of datasets are compared, and those of few series say little.
"""

import pandas as pd

from caps.bench.published import SAME_SETTINGS, series_figures
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from tools.published.figures import finished_cells, published_methods, read_manifest

PEERS = sorted({"omnianomaly-tsb", *SAME_SETTINGS})
NEAR = 0.08


def deep_peers(run: StudyRun) -> Report:
    """Dataset means of ours and theirs on series proven identical to TSB-AD's."""
    manifest = read_manifest(run.manifest)
    identical = manifest.index[manifest.verified == "yes-exact"]
    cells = finished_cells(run)
    cells = cells[cells.series.isin(identical)]
    found = _compared(cells, published_methods(run.published))
    table = found.groupby(["method", "dataset"]).agg(
        series=("series", "nunique"), ours=("ours", "mean"), theirs=("theirs", "mean")
    )
    apart = table.ours - table.theirs
    rows: list[list[Entry]] = [
        [
            method,
            dataset,
            str(each.series),
            f"{each.ours:.3f}",
            f"{each.theirs:.3f}",
            f"{each.ours - each.theirs:+.3f}",
        ]
        for (method, dataset), each in zip(table.index, table.itertuples(), strict=True)
    ]
    near = f"Within {NEAR}: {int((apart.abs() <= NEAR).sum())} of {len(table)} dataset means."
    header = ["method", "dataset", "series", "ours", "published", "difference"]
    return Report(
        "Deep peers against TSB-AD",
        ["VUS-PR of whole series, on those proven identical to TSB-AD's."],
        [Table("peers", "Published and ours", header, rows, [near])],
    )


def _compared(cells: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """A row for each method and series that both have: ours and theirs."""
    parts = []
    for name in PEERS:
        theirs = series_figures(name, published)
        if theirs is not None:
            ours = cells[cells.method == name][["method", "dataset", "series", "whole_vus_pr"]]
            joined = ours.join(theirs.rename("theirs"), on="series", how="inner")
            parts.append(joined.rename(columns={"whole_vus_pr": "ours"}))
    return pd.concat(parts).dropna()
