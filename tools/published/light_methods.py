"""The light methods against TSB-AD's published VUS-PR of whole series, series by series."""

import numpy as np
import pandas as pd

from caps.baselines import METHODS
from caps.bench.datasets import load_series
from caps.bench.published import series_figures
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.metrics import acf_window, vus
from tools.published.figures import AGREEMENT, agreement, published_methods, read_manifest

NAMES = (
    "lof-tsb",
    "sub-pca-tsb",
    "iforest-tsb",
    "sub-lof-tsb",
    "sub-knn-tsb",
    "matrix-profile-tsb",
    "kmeansad-tsb",
    "kmeansad-tab",
    "mmpad-tsb",
)
LONGEST, QUICK_LONGEST = 10_000, 2_000  # rows


def light_methods(run: StudyRun) -> Report:
    """Means of both, and how many series agree."""
    published = published_methods(run.published)
    longest = QUICK_LONGEST if run.quick else LONGEST
    sure = _surest(read_manifest(run.manifest), published, longest)
    figures = {name: series_figures(name, published) for name in NAMES}
    figures = {name: each for name, each in figures.items() if each is not None}
    found = []
    for file in run.files:
        if file.name in sure:
            run.say(file.name)
            series = load_series(file)
            window = acf_window(series.values)
            for name, theirs in figures.items():
                scores = METHODS[name](0).fit(series.values[: series.train]).score(series.values)
                ours = vus(scores, series.labels, window=window).pr
                found.append((name, theirs.name, ours, float(theirs[file.name])))
    table = pd.DataFrame(found, columns=["method", "theirs_name", "ours", "theirs"])
    rows: list[list[Entry]] = []
    for (name, column), each in table.groupby(["method", "theirs_name"], sort=False):
        apart = np.abs(each["ours"] - each["theirs"])
        rows.append([name, str(column), str(len(each)), *agreement(each, apart)])
    header = ["method", "TSB-AD's name", "series", *AGREEMENT]
    return Report(
        "Light methods against TSB-AD",
        [
            f"VUS-PR of whole series, as TSB-AD scores them, of at most {longest:,} rows, on the "
            "manifest's surest: `yes-exact`, or `yes-facts` where there are none of those."
        ],
        [Table("light methods", "Published and ours", header, rows)],
    )


def _surest(facts: pd.DataFrame, published: pd.DataFrame, longest: int) -> set[str]:
    there = facts[facts.index.isin(published.index) & (facts["length"] <= longest)]
    exact = there[there["verified"] == "yes-exact"]
    return set((there[there["verified"] == "yes-facts"] if exact.empty else exact).index)
