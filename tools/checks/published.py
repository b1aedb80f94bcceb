"""Compare the light methods with TSB-AD's published VUS-PR, series by series.

    python tools/checks/published.py TSB-AD-U.zip published_vus_pr.csv MANIFEST.csv [LONGEST]

Scores the whole series, as TSB-AD did, on the manifest's surest series of at most LONGEST rows
(20000), and prints a Markdown table. Surest is `yes-exact`; of several channels there are only
`yes-facts`.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from caps.baselines import METHODS
from caps.bench.datasets import find_series, load_series
from caps.metrics import acf_window, vus

UNIVARIATE = {
    "lof-tsb": "LOF",
    "sub-pca-tsb": "Sub-PCA",
    "iforest-tsb": "IForest",
    "sub-lof-tsb": "Sub-LOF",
    "sub-knn-tsb": "Sub-KNN",
    "matrix-profile-tsb": "MatrixProfile",
    "kmeansad-tsb": "KMeansAD",
}
MULTIVARIATE = {
    "lof-tsb": "LOF",
    "iforest-tsb": "IForest",
    "sub-pca-tsb": "PCA",
    "sub-knn-tsb": "KNN",
    "kmeansad-tsb": "KMeansAD",
}


def compare(data: Path, published: pd.DataFrame, wanted: set[str]) -> pd.DataFrame:
    """Our VUS-PR (`ours`) and the published (`theirs`) of every series and method."""
    names = UNIVARIATE if "Sub-PCA" in published.columns else MULTIVARIATE
    rows = []
    for file in find_series([data]):
        if file.name not in wanted or file.name not in published.index:
            continue
        series = load_series(file)
        window = acf_window(series.values)
        for name, column in names.items():
            scores = METHODS[name](0).fit(series.values[: series.train]).score(series.values)
            ours = vus(scores, series.labels, window=window).pr
            rows.append((file.name, name, column, ours, float(published.loc[file.name, column])))
        print(f"{file.name}", file=sys.stderr, flush=True)
    return pd.DataFrame(rows, columns=["series", "method", "TSB-AD", "ours", "theirs"])


def table(found: pd.DataFrame) -> str:
    lines = [
        "| method | TSB-AD's name | series | mean, ours | mean, published "
        "| within 0.01 | largest difference |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for (name, column), rows in found.groupby(["method", "TSB-AD"], sort=False):
        apart = np.abs(rows["ours"] - rows["theirs"])
        lines.append(
            f"| {name} | {column} | {len(rows)} | {rows['ours'].mean():.4f} "
            f"| {rows['theirs'].mean():.4f} | {(apart <= 0.01).mean():.1%} | {apart.max():.4f} |"
        )
    return "\n".join(lines)


def main(data: Path, published: Path, manifest: Path, longest: int = 20_000) -> None:
    facts = pd.read_csv(manifest).set_index("name")
    scores = pd.read_csv(published).set_index("file")
    there = facts[facts.index.isin(scores.index) & (facts["length"] <= longest)]
    exact = there[there["verified"] == "yes-exact"]
    sure = there[there["verified"] == "yes-facts"] if exact.empty else exact
    print(table(compare(data, scores, set(sure.index))))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:4]), *map(int, sys.argv[4:5]))
