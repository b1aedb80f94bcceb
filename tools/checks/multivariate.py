"""Both aggregations on labelled series of many channels, in TSB-AD's layout.

PYTHONPATH=tools python tools/checks/multivariate.py [--published CSV] [--page PAGE] SERIES.csv ...

Detectors are fitted once; the two aggregations put their evidence together. VUS-PR is that of the
whole series, window by TSB-AD's rule. TSB-AD's CSV of per-series figures puts the best published
methods beside them.
"""

import argparse
import re
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pandas as pd
from published_figures import published_methods
from sections import Rows, markdown, rewrite

from caps import CAPS
from caps.events.kinds import load_weights
from caps.metrics import acf_window, evaluate

SHOWN = 3  # contributions
PAPER = {"MSL": "40.2 / 31.9", "SMAP": "39.5 / 35.0"}


def measure(path: Path, weights: object) -> tuple[str, ...]:
    table = pd.read_csv(path)
    labels = table.pop("Label").to_numpy().astype(int)
    found = re.search(r"_tr_(\d+)_", path.name)
    if found is None:
        raise SystemExit(f"{path.name} does not say how many rows are for training (_tr_N_)")
    model = CAPS(train=int(found[1]), pretrained=weights)
    start = time.process_time()
    model.fit(table)
    seconds = time.process_time() - start
    window = acf_window(table.to_numpy())
    analysis = model.analyze(table)
    scores = {"max": analysis.score}
    other = replace(model.fitted_, aggregate="top5")
    scores["top5"] = other.score(analysis.grid).score[analysis.rows]
    graded = [evaluate(scores[name], labels, window=window).vus_pr for name in scores]
    learned = sum(channel.state == "learned" for channel in model.fitted_.channels)
    if analysis.events:
        strongest = max(range(len(analysis.events)), key=lambda n: analysis.events[n].score)
        shares = analysis.explain(strongest + 1).contributions
        told = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:SHOWN])
    else:
        told = "no event"
    return (
        path.stem.split("_Sensor")[0],
        f"{learned} of {table.shape[1]}",
        f"{seconds:.0f} s",
        *(f"{value:.3f}" for value in graded),
        str(len(analysis.events)),
        told,
    )


def means(rows: Rows, published: pd.DataFrame | None) -> str:
    """Dataset means in percent, beside the paper's and the best published on the same series."""
    by_dataset: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        by_dataset[row[0].split("_")[1]].append(row)
    told: Rows = []
    for dataset, each in by_dataset.items():
        ours = [100 * sum(float(row[place]) for row in each) / len(each) for place in (3, 4)]
        best = "-"
        if published is not None:
            names = [row[0] for row in each]
            theirs = 100 * published[published.index.isin(names)].mean()
            two = theirs.sort_values(ascending=False).iloc[:2]
            best = ", ".join(f"{name} {value:.1f}" for name, value in two.items())
        figures = (f"{ours[0]:.1f} / {ours[1]:.1f}", PAPER.get(dataset, "-"), best)
        told.append((dataset, str(len(each)), *figures))
    header = ("dataset", "series", "max / top5", "paper's max / top5", "best published")
    return markdown(header, told)


def _figures(path: Path) -> pd.DataFrame:
    return published_methods(path).rename(index=lambda file: file.split("_Sensor")[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", type=Path, nargs="+")
    parser.add_argument("--published", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    weights, rows = load_weights(None), []
    for path in arguments.series:
        rows.append(measure(path, weights))
        print(*rows[-1], sep=" | ", flush=True)
    header = ("series", "learned", "fit (CPU)", "VUS-PR max", "top5", "events", "strongest event")
    published = _figures(arguments.published) if arguments.published else None
    text = f"{means(rows, published)}\n{markdown(header, rows)}"
    print(text)
    if arguments.page:
        rewrite(arguments.page, "multivariate", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
