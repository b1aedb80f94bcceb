"""What anomalies in the training part cost, and what trimming the references gives back.

Simulated series with recurring incidents: those of the test part are labels, those of the training
part are taught as normal. Run `python tests/recover/contamination_study.py --help`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from caps.metrics import acf_window, auc_pr, vus
from caps.network.config import DetectorConfig
from caps.network.detector import score_series
from caps.network.learning import train_detector
from caps.realize import Pretrained
from caps.recover import (
    CONSTRUCTIONS,
    References,
    recover_pairs,
    reference_windows,
    trim_references,
)
from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.operation import Bases, survey
from caps.simulate.draft import draft
from caps.simulate.normal.catalogue import draw_normal

WINDOW, TRAIN, LENGTH = 256, 6000, 9000
TEST_INCIDENTS, KINDS = 5, 3
LEVELS = (0.0, 0.1, 0.3)
SERIES = (
    "N1 harmonic season",
    "N3 web metric",
    "N5 beat train",
    "N7 rotating machine",
    "N9 Gaussian process",
    "N10 autoregression",
)


@dataclass(frozen=True, slots=True)
class Contaminated:
    """A series with incidents: all of them in the test part, as many as asked in the training."""

    values: np.ndarray  # (time,)
    labels: np.ndarray  # (time,) bool


def contaminated(generator: str, level: float, seed: int) -> Contaminated:
    """The share `level` of the training windows, or a little more, holds an anomalous point."""
    rng = np.random.default_rng(seed)
    bases = survey(*draw_normal(rng, 1, LENGTH, generator))
    values, labels = bases.series[0].copy(), np.zeros(LENGTH, dtype=bool)
    busy, found = np.zeros(LENGTH, dtype=bool), 0
    for origin, anomalous, support in incidents(bases, rng):
        rows = slice(origin, origin + WINDOW)
        training = origin + WINDOW <= TRAIN
        wanted = training_share(labels) < level if training else found < TEST_INCIDENTS
        if busy[rows].any() or not wanted or (not training and origin < TRAIN):
            continue
        values[rows][support] = anomalous[support]
        labels[rows] |= support
        busy[rows] = True
        found += not training
    return Contaminated(values, labels)


def training_share(labels: np.ndarray) -> float:
    windows = np.lib.stride_tricks.sliding_window_view(labels[:TRAIN], WINDOW)[::4]
    return float(windows.any(axis=1).mean())


def incidents(bases: Bases, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Windows with events of a few operations: origin, values and support."""
    usable = [code for code, entry in enumerate(CATALOGUE) if entry.suits(bases).any()]
    view = np.lib.stride_tricks.sliding_window_view(bases.series[0], WINDOW)
    kinds = rng.choice(usable, KINDS, replace=False)
    for turn in range(60):
        pairs, accepted = draft(int(kinds[turn % KINDS]), 8, bases, WINDOW, rng)
        for row in np.flatnonzero(accepted)[:2]:
            pair = pairs[[row]]
            same = (view == pair.normal[0]).all(axis=1)
            if same.sum() == 1:
                yield int(same.argmax()), pair.anomalous[0], pair.support[0]


def treatments(series: Contaminated, rng: np.random.Generator) -> dict[str, References]:
    """The same references: as they are, trimmed, and without the points known to be anomalous."""
    references = reference_windows(series.values[:TRAIN], limit=300, rng=rng)
    rows = references.starts[:, None] + np.arange(WINDOW)
    kinds = {"ignored": references, "trimmed": trim_references(references, rng=rng)}
    if series.labels[:TRAIN].any():
        kinds["known"] = replace(references, trusted=references.trusted & ~series.labels[rows])
    return kinds


def distrusted(references: References, labels: np.ndarray) -> tuple[float, float]:
    """Share of the anomalous and of the normal points of the references that is not trusted."""
    rows = references.starts[:, None] + np.arange(WINDOW)
    labelled = labels[rows]
    return (
        float((~references.trusted[labelled]).mean()) if labelled.any() else np.nan,
        float((~references.trusted[~labelled]).mean()),
    )


def measure(
    series: Contaminated,
    references: References,
    pretrained: Pretrained,
    options: argparse.Namespace,
) -> tuple[float, float]:
    """VUS-PR and AUC-PR of a detector trained on the references, on the test part."""
    pairs = recover_pairs(
        pretrained, references, construction=options.construction, seed=options.seed
    )
    detector = train_detector(pairs, DetectorConfig(members=options.members), seed=options.seed)
    scores = score_series(detector, series.values.astype(np.float64))[TRAIN:]
    labels = series.labels[TRAIN:]
    return vus(scores, labels, window=acf_window(series.values)).pr, auc_pr(scores, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, help="a pretrained folder (default: the shipped)")
    parser.add_argument("--construction", choices=CONSTRUCTIONS, default="caps")
    parser.add_argument("--members", type=int, default=1, help="detectors averaged")
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pretrained = Pretrained.load(options.weights)
    print(
        "| contaminated | references | VUS-PR | AUC-PR | anomalous distrusted | normal distrusted |"
    )
    print("|---|---|---|---|---|---|")
    for level in options.levels:
        rows: dict[str, list[tuple[float, ...]]] = {}
        for number, generator in enumerate(SERIES):
            series = contaminated(generator, level, 100 * options.seed + number)
            rng = np.random.default_rng(options.seed)
            for name, references in treatments(series, rng).items():
                figures = measure(series, references, pretrained, options)
                shares = distrusted(references, series.labels)
                rows.setdefault(name, []).append((*figures, *shares))
        for name, figures in rows.items():
            mean = 100 * np.mean(figures, axis=0)
            cells = ["" if np.isnan(value) else f"{value:.1f}" for value in mean]
            print(f"| {level:.0%} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
