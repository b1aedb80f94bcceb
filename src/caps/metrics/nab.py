"""The score of the Numenta Anomaly Benchmark, standard profile (Lavin and Ahmad 2015).

Labelled events are NAB's windows. The earliest flagged row of a window counts, by a sigmoid that
falls from 1 at its start to 0 at its end; a window without any costs 1; every flagged row outside
costs up to 0.11, less shortly after a window. Rows of the probationary part count for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError
from caps.metrics.scored import Events, Floats, Integers, Scored, checked_labels

TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE = 1.0, 0.11, 1.0  # weights of the standard profile
FAR = 3.0  # window lengths past a window from which on a false positive costs all of its weight
EXACT = 256  # highest scores that a curve keeps one by one
SPACING = 1.02  # of the ranks kept below them


@dataclass(frozen=True, slots=True)
class NabScore:
    """The score of one series, or of several together."""

    raw: float
    windows: int

    @property
    def normalised(self) -> float:
        """From 0, what silence gets, to 100, every window found at its start and nothing else."""
        span = (TRUE_POSITIVE + FALSE_NEGATIVE) * self.windows
        silence = -FALSE_NEGATIVE * self.windows
        return 100 * (self.raw - silence) / span if self.windows else float("nan")

    def __add__(self, other: "NabScore") -> "NabScore":
        return NabScore(self.raw + other.raw, self.windows + other.windows)


@dataclass(frozen=True, slots=True)
class NabCurve:
    """The raw score of one series under every threshold kept, highest threshold first."""

    thresholds: Floats  # rows that score at least as high are flagged
    raw: Floats
    windows: int

    def at(self, thresholds: Floats) -> Floats:
        """The raw score at any thresholds: that of the next higher one kept."""
        kept = np.searchsorted(-self.thresholds, -thresholds, side="right")
        return np.concatenate([[-FALSE_NEGATIVE * self.windows], self.raw])[kept]


def nab_score(flags: ArrayLike, labels: ArrayLike, probationary: int = 0) -> NabScore:
    """Score flagged rows; the first `probationary` rows are not counted.

    >>> labels = [0, 0, 1, 1, 1, 1, 0, 0]
    >>> nab_score([0, 0, 1, 0, 0, 0, 0, 0], labels).normalised
    100.0
    >>> round(nab_score([0, 0, 0, 0, 0, 0, 0, 1], labels).raw, 3)
    -1.102
    """
    scored = Scored.of(checked_labels(flags), labels)
    gains, windows = _gains(scored, probationary)
    flagged = int(scored.scores[probationary:].sum())  # they come first
    return NabScore(float(gains[:flagged].sum()) - FALSE_NEGATIVE * windows, windows)


def nab_curve(scores: ArrayLike, labels: ArrayLike, probationary: int = 0) -> NabCurve:
    """The score under all thresholds, below the 256 highest scores in steps of 2 % of the rows.

    >>> nab_curve([0.1, 0.2, 0.9, 0.3], [0, 0, 1, 1]).raw.round(2)
    array([1.  , 1.  , 0.89, 0.78])
    """
    scored = Scored.of(scores, labels)
    gains, windows = _gains(scored, probationary)
    ordered = np.sort(scored.scores[probationary:])[::-1]
    ends = np.flatnonzero(np.append(np.diff(ordered) < 0, True))  # equal scores come together
    kept = ends[_thinned(len(ends))]
    raw = np.cumsum(gains)[kept] - FALSE_NEGATIVE * windows
    return NabCurve(ordered[kept], raw, windows)


def best_nab(curves: Sequence[NabCurve]) -> tuple[NabScore, float]:
    """The best score of several series under one threshold, as NAB chooses it, and the threshold.

    The threshold is infinite where silence is best.
    """
    thresholds = np.unique(np.concatenate([np.array([np.inf]), *(c.thresholds for c in curves)]))
    total = sum((curve.at(thresholds) for curve in curves), np.zeros(len(thresholds)))
    best = len(total) - 1 - int(np.argmax(total[::-1]))  # of equal ones the highest threshold
    score = NabScore(float(total[best]), sum(curve.windows for curve in curves))
    return score, float(thresholds[best])


def _gains(scored: Scored, probationary: int) -> tuple[Floats, int]:
    """What each further row flagged adds, from the highest score down, and how many windows count.

    A window starts at what it costs to miss it and then has the best of its flagged rows.
    """
    if not 0 <= probationary < len(scored):
        raise InputError(
            f"{probationary} probationary rows of {len(scored)}", "leave rows to be scored"
        )
    value, window = _row_values(scored.events, len(scored))
    order = np.argsort(-scored.scores[probationary:], kind="stable")
    value, window = value[probationary:][order], window[probationary:][order]
    gains = value.copy()
    counted = np.unique(window[window >= 0])
    for number in counted:
        rows = np.flatnonzero(window == number)
        best = np.maximum.accumulate(np.append(-FALSE_NEGATIVE, value[rows]))
        gains[rows] = np.diff(best)
    return gains, len(counted)


def _row_values(events: Events, rows: int) -> tuple[Floats, Integers]:
    """What a flagged row is worth by itself, and the window it lies in, -1 outside."""
    index = np.arange(rows)
    last = np.searchsorted(events.starts, index, side="right") - 1  # begun at or before the row
    window = np.where((last >= 0) & (index < np.append(events.ends, 0)[last]), last, -1)
    right, width = np.append(events.ends - 1, 0)[last], np.append(events.lengths, 1)[last]
    inside = _scaled_sigmoid(-(right - index + 1) / width) / _scaled_sigmoid(np.array(-1.0))
    # Before the first window all are far; a window of one row, unknown to NAB, is left at once.
    past = np.where(last < 0, np.inf, (index - right) / np.maximum(width - 1, 0.1))
    outside = np.where(past > FAR, -1.0, _scaled_sigmoid(np.minimum(past, FAR)))
    return np.where(window >= 0, TRUE_POSITIVE * inside, FALSE_POSITIVE * outside), window


def _scaled_sigmoid(position: Floats) -> Floats:
    return np.asarray(-np.tanh(2.5 * position))  # 2 / (1 + exp(5 x)) - 1


def _thinned(count: int) -> Integers:
    """The first ranks one by one, then ever fewer, and the last."""
    if count <= EXACT:
        return np.arange(count)
    steps = int(np.ceil(np.log(count / EXACT) / np.log(SPACING)))
    below = np.minimum((EXACT * SPACING ** np.arange(1, steps + 1)).astype(np.int64), count - 1)
    return np.unique(np.concatenate([np.arange(EXACT), below, [count - 1]]))
