"""Draw what two methods say of a series where one beats the other.

    python tools/checks/rivals.py TSB-AD-U.zip 284_NEK_id_8 caps-memory,sub-pca docs/images/nek.png

Scores are shown by their rank among all rows, so that methods can be compared; labels are shaded.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata

from caps.bench.datasets import find_series, load_series
from caps.bench.methods import make_method
from caps.metrics import acf_window, evaluate

SHOWN = 1_500  # rows, around the first labelled ones


def main(data: str, name: str, methods: str, picture: str) -> int:
    file = next(each for each in find_series([Path(data)]) if each.name.startswith(name))
    series = load_series(file)
    values, labels = series.values, series.labels
    test = np.arange(len(values)) >= file.train
    first = int(np.flatnonzero(labels.astype(bool) & test)[0])
    start = max(0, min(first - SHOWN // 2, len(values) - SHOWN))
    rows = slice(start, min(start + SHOWN, len(values)))
    names = methods.split(",")
    figure, axes = plt.subplots(
        len(names) + 1, 1, figsize=(9, 1.7 * (len(names) + 1)), sharex=True, layout="constrained"
    )
    axes[0].plot(np.arange(rows.start, rows.stop), values[rows, 0], lw=0.8, color="#333")
    axes[0].set_ylabel("value")
    window = acf_window(values[test])
    for axis, method in zip(axes[1:], names, strict=True):
        score = make_method(method, 0).fit(values[: file.train]).score(values)
        graded = evaluate(score[test], labels[test], window=window).vus_pr
        axis.plot(np.arange(rows.start, rows.stop), rankdata(score)[rows] / len(score), lw=0.8)
        axis.set_ylabel(f"{method}\nVUS-PR {100 * graded:.0f}")
        axis.set_ylim(0, 1.03)
        print(f"{method}: VUS-PR {100 * graded:.1f} on the test part, window {window}")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], labels, [0]]).astype(int)))
    for axis in axes:
        for begin, end in edges.reshape(-1, 2):
            if end > rows.start and begin < rows.stop:
                axis.axvspan(begin, end, color="#d62728", alpha=0.2, lw=0)
        axis.set_xlim(rows.start, rows.stop)
    axes[-1].set_xlabel(f"row of {file.name.removesuffix('.csv')}")
    figure.savefig(picture, dpi=80)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    raise SystemExit(main(*sys.argv[1:]))
