"""Methods of a bench run that are run as TSB-AD runs them, beside its published VUS-PR.

What starts at random is run with several seeds: a published figure within their range agrees.
"""

import pandas as pd

from caps.bench.published import series_figures
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import InputError
from tools.published.figures import finished_cells, published_methods

NEAR = 0.01  # of VUS-PR: figures that agree
NEWER = {"kmeansad-tab", "mmpad-tsb"}  # submitted with the rule of 2026 for the VUS window
SUREST = ("yes-exact", "yes-facts")  # that a series is TSB-AD's, as the manifest says
MOST_LISTED = 20  # figures that are apart


def agreement(run: StudyRun) -> Report:
    """Both means of every method, the figures that are apart, and the means of datasets."""
    found = _both_figures(run)
    outside = pd.concat([found["theirs"] - found["high"], found["low"] - found["theirs"]], axis=1)
    found["apart"] = outside.max(axis=1).clip(lower=0)
    methods: list[list[Entry]] = [
        [
            *map(str, names),
            str(len(each)),
            str(int(each["seeds"].max())),
            f"{each['ours'].mean():.4f}",
            f"{each['theirs'].mean():.4f}",
            f"{(each['apart'] <= NEAR).mean():.1%}",
            f"{each['apart'].max():.4f}",
        ]
        for names, each in found.groupby(["method", "published"], sort=False)
    ]
    farthest = found[found["apart"] > NEAR].sort_values("apart", ascending=False)
    apart: list[list[Entry]] = [
        [each.method, each.series, f"{each.low:.4f} to {each.high:.4f}", f"{each.theirs:.4f}"]
        for each in farthest.head(MOST_LISTED).itertuples()
    ]
    datasets: list[list[Entry]] = [
        [
            *map(str, names),
            str(len(each)),
            f"{each['ours'].mean():.3f}",
            f"{each['theirs'].mean():.3f}",
            f"{(each['ours'] - each['theirs']).mean():+.3f}",
        ]
        for names, each in found.groupby(["method", "dataset"])
    ]
    ours = ["mean, ours", "mean, published", f"within {NEAR}", "largest difference"]
    by_dataset = ["method", "dataset", "series", "ours", "published", "difference"]
    return Report(
        "Methods against TSB-AD's published figures",
        [
            "VUS-PR of whole series, with the window of TSB-AD 1.5 for its own runs and that of "
            "2026 for what was submitted since, on the manifest's surest series: `yes-exact`, or "
            "`yes-facts` where there are none. Apart: outside the range of our seeds."
        ],
        [
            Table(
                "agreement",
                "Published and ours",
                ["method", "TSB-AD's name", "series", "seeds", *ours],
                methods,
            ),
            Table("agreement: apart", "Apart", ["method", "series", "ours", "published"], apart),
            Table("agreement: datasets", "Means of datasets", by_dataset, datasets),
        ],
    )


def _both_figures(run: StudyRun) -> pd.DataFrame:
    """A row for each method and series that both have, ours over all seeds."""
    if run.manifest is None:
        raise InputError("this study needs a manifest", "give its CSV file by --manifest")
    verified = pd.read_csv(run.manifest).set_index("name")["verified"]
    published, cells = published_methods(run.published), finished_cells(run)
    known = verified[verified.index.isin(cells["series"])]
    surest = next((each for each in SUREST if (known == each).any()), None)
    cells = cells[cells["series"].isin(known.index[known == surest])]
    parts = []
    for method, own in cells.groupby("method", sort=False):
        theirs = series_figures(str(method), published)
        if theirs is None:
            continue
        metric = "whole_vus_pr_2026" if method in NEWER else "whole_vus_pr"
        of_series = own.astype({metric: float}).groupby(["series", "dataset"])[metric]
        table = of_series.agg(seeds="size", ours="mean", low="min", high="max").reset_index()
        table = table.join(theirs.rename("theirs"), on="series", how="inner").dropna()
        parts.append(table.assign(method=method, published=theirs.name))
    if not parts:
        raise InputError(
            f"{run.out} has no published method", "run methods such as lof-tsb into it"
        )
    return pd.concat(parts)
