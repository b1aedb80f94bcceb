"""Evidence of several channels about the same rows, made comparable by their p-values."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.network import logit
from caps.scoring.calibration import Calibration
from caps.scoring.config import ScoringConfig

Aggregate = Literal["joint", "max", "top5"]

AGGREGATES: tuple[Aggregate, ...] = ("joint", "max", "top5")
NOTABLE = 0.2  # share of the evidence from which on a channel is named
LARGEST_LOGIT = float(logit(1 - np.finfo(np.float64).eps))  # of a share below 1
DEFAULT = ScoringConfig()


def evidence_of(p_values: FloatArray, config: ScoringConfig = DEFAULT) -> FloatArray:
    """-log p: 0 for the most normal row, 1 on average for normal ones; not-a-number stays."""
    return np.asarray(-np.log(np.clip(p_values, config.smallest_p, 1.0)))


def tail_evidence(calibration: Calibration, logits: FloatArray) -> FloatArray:
    """-log p of the logits of a channel; not-a-number stays.

    Beyond the counted levels the tail is taken as exponential: a bounded one would make all of
    the strongest rows equal.
    """
    level = np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)
    beyond = np.maximum(level - calibration.tail, 0.0) / calibration.scale
    counted = np.interp(level, calibration.levels, -np.log(calibration.row_rate))
    return np.where(np.isnan(logits), np.nan, counted + beyond)


def bounded(evidence: FloatArray, bound: float) -> FloatArray:
    """Evidence that comes near `bound` and never reaches it; not-a-number stays.

    So slowly that the order of the strongest rows survives: an exponential is at its bound, to the
    last bit, from forty times the bound on.

    >>> bounded(np.array([0.0, 3.0, 300.0, 3000.0]), 3.0).round(3)
    array([0.   , 1.5  , 2.97 , 2.997])
    """
    return np.asarray(evidence * bound / (evidence + bound))


def combine(
    evidence: FloatArray, aggregate: Aggregate = "max", config: ScoringConfig = DEFAULT
) -> FloatArray:
    """One amount of evidence a row from those of its channels (time, channel).

    Channels that were not observed do not count; a row without any is not-a-number.

    >>> combine(np.array([[1.0, 3.0, np.nan]]), "max"), combine(np.array([[1.0, 3.0]]), "top5")
    (array([3.]), array([2.]))
    """
    if aggregate not in AGGREGATES:
        raise InputError(
            f"there is no aggregation {aggregate!r}", f"use one of {', '.join(AGGREGATES)}"
        )
    known = np.isfinite(evidence)
    count = known.sum(axis=1)
    ordered = -np.sort(-np.where(known, evidence, -np.inf), axis=1)
    if aggregate == "max":
        total, parts = ordered[:, 0], np.ones(len(evidence))
    else:
        top = ordered[:, : config.top]
        total = np.where(np.isfinite(top), top, 0.0).sum(axis=1)
        parts = np.clip(count, 1, config.top)
    return np.where(count > 0, np.maximum(total / parts, config.least_evidence), np.nan)


def score_of(evidence: FloatArray, config: ScoringConfig = DEFAULT) -> FloatArray:
    """Evidence as a score in [0, 1]: 0.5 at a p-value of 1/10, 0.875 at 1/1000.

    >>> score_of(evidence_of(np.array([1.0, 0.1, 0.001]))).round(3)
    array([0.   , 0.5  , 0.875])
    """
    return np.asarray(1.0 - np.exp(-config.halving * evidence))


def shares(evidence: FloatArray) -> FloatArray:
    """How much of the evidence beyond chance each channel carries: (..., channel), sum 1.

    Normal rows have an evidence of 1 on average, so that much is left out of account. Where no
    channel goes beyond, those observed share equally; where none was observed, all are zero.

    >>> shares(np.array([[4.0, 2.0, 0.5], [0.1, 0.2, np.nan]]))
    array([[0.75, 0.25, 0.  ],
           [0.5 , 0.5 , 0.  ]])
    """
    known = np.isfinite(evidence)
    beyond = np.where(known, np.maximum(evidence - 1.0, 0.0), 0.0)
    beyond = np.where(beyond.sum(axis=-1, keepdims=True) > 0, beyond, known.astype(np.float64))
    total = beyond.sum(axis=-1, keepdims=True)
    return np.asarray(beyond / np.where(total > 0, total, 1.0))


def carrying(contributions: Mapping[str, float]) -> list[str]:
    """The channels that carry an event, the largest share first: the leading one, and notable ones.

    >>> carrying({"cpu": 0.1, "disk": 0.6, "load": 0.3}), carrying({"cpu": 0.1, "disk": 0.0})
    (['disk', 'load'], ['cpu'])
    """
    ranked = sorted(contributions, key=lambda name: -contributions[name])
    notable = [name for name in ranked if contributions[name] >= NOTABLE]
    return notable or [name for name in ranked[:1] if contributions[name] > 0]
