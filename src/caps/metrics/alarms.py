"""Alarms from scores without labels: events above a threshold that keeps to a budget."""

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError
from caps.metrics.scored import Floats, Integers, checked_scores

MERGE_GAP = 8  # rows below the threshold that do not end an alarm, as `caps.scoring.EventRules`
LEVELS = 200  # at which alarms are counted
TAIL = 10  # alarms above the level from which on rates are extrapolated


def alarm_spans(scores: ArrayLike, threshold: float, merge_gap: int = MERGE_GAP) -> Integers:
    """Start and end (exclusive) of every alarm: runs of rows above the threshold, merged.

    >>> alarm_spans([0, 5, 0, 5, 0, 0, 0, 5], 1, merge_gap=2)
    array([[1, 4],
           [7, 8]])
    """
    rows = np.flatnonzero(checked_scores(scores) > threshold)
    breaks = np.flatnonzero(np.diff(rows) > merge_gap + 1)
    firsts = np.concatenate([rows[:1], rows[breaks + 1]])
    lasts = np.concatenate([rows[breaks], rows[-1:]])
    return np.stack([firsts, lasts + 1], axis=1)


def budget_threshold(scores: ArrayLike, rate: float, merge_gap: int = MERGE_GAP) -> float:
    """The threshold that normal data pass by at most `rate` alarms a row, from their `scores`.

    Counted where the budget allows ten alarms or more among these rows; below, the peaks of the ten
    highest alarms are continued by an exponential tail. Constant scores raise no alarm at all.

    >>> normal = np.random.default_rng(0).standard_normal(20_000)
    >>> bool(3 < budget_threshold(normal, 1 / 1000) < 3.4 < budget_threshold(normal, 1 / 10_000))
    True
    """
    if not 0 < rate < 1:
        raise InputError(f"a budget of {rate:g} alarms a row", "give one above 0 and below 1")
    values = checked_scores(scores)
    size = len(values)
    levels = np.unique(np.quantile(values, 1 - np.geomspace(1, 1 / size, LEVELS)))
    counts = np.array([len(alarm_spans(values, level, merge_gap)) for level in levels])
    worst = np.maximum.accumulate(counts[::-1])[::-1]  # a budget holds at higher thresholds too
    allowed = rate * size
    if allowed >= TAIL:
        return float(levels[np.argmax(worst <= allowed)])
    tail = float(levels[np.flatnonzero(worst >= min(TAIL, worst[0]))[-1]])
    excess = _peaks(values, tail, merge_gap) - tail
    if len(excess) <= allowed:
        return tail
    return tail + float(excess.mean() * np.log(len(excess) / allowed))


def _peaks(scores: Floats, threshold: float, merge_gap: int) -> Floats:
    spans = alarm_spans(scores, threshold, merge_gap)
    return np.array([scores[start:end].max() for start, end in spans])
