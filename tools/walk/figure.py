"""Draw what each room makes of one row, for docs/how-it-works.md.

PYTHONPATH=src python tools/walk/figure.py docs/images/walk.png
"""

import sys
from pathlib import Path

import numpy as np
from example import OUTAGE, TRAIN, example
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from caps import CAPS
from caps.realize import Pretrained
from caps.recover import recover_pairs, reference_windows
from caps.series import Scaler, read

ROW = 1512  # the one that is followed
SHOWN = slice(TRAIN - 100, OUTAGE.stop + 150)
INK, SOFT, ACCENT, NORMAL = "#20242c", "#9aa3b2", "#c2410c", "#2563eb"


def main(picture: Path) -> None:
    frame = example()
    load = frame["load"].to_numpy()
    rows = np.arange(len(load))
    both = CAPS(train=TRAIN, detector="auto").fit(frame)
    found = both.analyze(frame)
    event = found.explain(1)
    view = event.channels[0]
    voices = {
        ("network", "what the\ndetector says"): CAPS(
            train=TRAIN, detector="auto", memory=False, level=False
        ),
        ("neighbours", "how far from\ntraining it is"): CAPS(train=TRAIN),
    }

    figure = Figure(figsize=(9, 9.2), layout="constrained")
    axes = figure.subplots(5, 1, height_ratios=[1.2, 1.2, 0.8, 0.8, 1.1])
    draw_values(axes[0], rows, load)
    draw_pairs(axes[1], frame)
    for axis, (words, model) in zip(axes[2:4], voices.items(), strict=True):
        axis.plot(rows[SHOWN], model.fit(frame).decision_function(frame)[SHOWN], color=INK, lw=0.9)
        axis.set_ylim(0, 1.12)
        name(axis, *words)
    draw_score(axes[4], rows, np.asarray(found.score), both.threshold_)
    axes[4].axvspan(event.event.start, event.event.end - 1, color=ACCENT, alpha=0.25, lw=0)
    axes[0].plot(view.rows, view.counterpart, color=NORMAL, lw=1.2)
    axes[0].annotate("its normal\ncounterpart", (1535, 0.3), color=NORMAL, fontsize=8)
    for axis in (axes[0], *axes[2:]):
        axis.set_xlim(SHOWN.start, SHOWN.stop)
        axis.axvline(ROW, color=ACCENT, lw=1, ls=":")
    axes[0].annotate(f"row {ROW:,}", (ROW + 4, 2.9), color=ACCENT, fontsize=8)
    figure.savefig(picture, dpi=110, metadata={"Software": None})


def draw_values(axis: Axes, rows: np.ndarray, load: np.ndarray) -> None:
    axis.plot(rows[SHOWN], load[SHOWN], color=INK, lw=0.9)
    axis.axvspan(SHOWN.start, TRAIN, color=SOFT, alpha=0.2, lw=0)
    axis.annotate("training part", (SHOWN.start + 4, 2.9), color=INK, fontsize=8)
    axis.set_ylim(-1.6, 3.4)
    name(axis, "series", "the values")


def draw_pairs(axis: Axes, frame: object) -> None:
    """One window of training, and what an expert of each kind makes of it."""
    training = read(frame)[:TRAIN]
    scaled = Scaler.fit(training).transform(training.values)[:, 0]
    rng = np.random.default_rng(4)
    references = reference_windows(scaled, limit=12, rng=rng)
    pretrained = Pretrained.load()
    pairs = recover_pairs(pretrained, references, seed=1)
    for index, mode in enumerate(pretrained.modes):
        chosen = np.flatnonzero((pairs.mode == index) & (pairs.anchor == 5))[0]
        steps = np.arange(pairs.reference.shape[1]) + index * 280
        inside = np.where(pairs.support[chosen], pairs.counterpart[chosen], np.nan)
        axis.plot(steps, pairs.reference[5], color=SOFT, lw=0.9)
        axis.plot(steps, inside, color=ACCENT, lw=1.1)
        axis.annotate(getattr(mode, "name", str(index)), (steps[0], 3.2), fontsize=8, color=ACCENT)
    axis.set_xticks([])
    name(axis, "recover", "a window of training,\nwith effects realised on it")


def draw_score(axis: Axes, rows: np.ndarray, score: np.ndarray, threshold: float) -> None:
    axis.plot(rows[SHOWN], score[SHOWN], color=INK, lw=0.9)
    axis.axhline(threshold, color=SOFT, lw=1, ls="--")
    axis.annotate("threshold of the budget", (SHOWN.start + 4, threshold), fontsize=8, va="bottom")
    axis.set_ylim(0, 1.12)
    axis.set_xlabel("row", fontsize=8)
    name(axis, "scoring, events", "the score, and the event")


def name(axis: Axes, room: str, what: str) -> None:
    axis.set_title(room, loc="left", fontsize=10, fontweight="bold", color=INK)
    axis.set_ylabel(what, fontsize=8, color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8, length=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
