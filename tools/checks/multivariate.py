"""Both aggregations on labelled series of many channels, in TSB-AD's layout.

PYTHONPATH=tools python tools/checks/multivariate.py 003_MSL_..._tr_883_1st_1238.csv ...

Detectors are fitted once; the two aggregations put their evidence together. VUS-PR is that of the
whole series, window by TSB-AD's rule.
"""

import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
from sections import Rows, markdown

from caps import CAPS
from caps.detect.kinds import load_weights
from caps.metrics import acf_window, evaluate

SHOWN = 3  # contributions


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


def main(paths: list[str]) -> int:
    weights = load_weights(None)
    rows: Rows = []
    for path in paths:
        rows.append(measure(Path(path), weights))
        print(*rows[-1], sep=" | ", flush=True)
    header = ("series", "learned", "fit (CPU)", "VUS-PR max", "top5", "events", "strongest event")
    print(markdown(header, rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
