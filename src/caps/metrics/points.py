"""Point-wise metrics: AUC-PR, AUC-ROC and Standard-F1, from two sorted arrays of scores."""

import math

import numpy as np

from caps.metrics.scored import Floats, Scored

# TSB-AD adds this to the denominator of its point-wise F1.
_TSB_AD_F1_EPSILON = 1e-5


def average_precision(scored: Scored) -> float:
    """Area under the precision-recall curve, as a sum of precision over steps of recall."""
    if not len(scored.positives):
        return math.nan
    hits, predicted = _counts_from(scored, np.unique(scored.positives))
    gained = hits - np.append(hits[1:], 0)
    return float(np.sum(gained * hits / predicted) / len(scored.positives))


def roc_area(scored: Scored) -> float:
    """Probability that an anomalous point scores above a normal one; ties count half."""
    positive_count = len(scored.positives)
    negative_count = len(scored) - positive_count
    if not positive_count or not negative_count:
        return math.nan
    below = np.searchsorted(scored.ascending, scored.positives, side="left")
    up_to = np.searchsorted(scored.ascending, scored.positives, side="right")
    # Twice the sum of mid-ranks, then the Mann-Whitney count of pairs.
    pairs = float(np.sum(below + up_to)) / 2 - positive_count**2 / 2
    return pairs / (positive_count * negative_count)


def best_f1_over_thresholds(scored: Scored, thresholds: Floats) -> float:
    """Best F1 of `score >= threshold` over the thresholds that split the points."""
    if not len(scored.positives):
        return math.nan
    hits, predicted = _counts_from(scored, thresholds)
    # Predicting every point is no candidate; at least the largest score is always predicted.
    candidates = predicted < len(scored)
    f1 = np.where(candidates, 2 * hits / (predicted + len(scored.positives)), 0.0)
    best = float(f1.max())
    if best > 0:
        return best
    # The published sweep starts from threshold 0 and keeps it when no candidate scores.
    hits, predicted = _counts_from(scored, np.zeros(1))
    return float(2 * hits[0] / (predicted[0] + len(scored.positives)))


def best_f1_over_all_scores(scored: Scored) -> float:
    """TSB-AD's Standard-F1: best `2PR / (P + R + 1e-5)` over every distinct score."""
    if not len(scored.positives):
        return math.nan
    # Between two anomalous scores recall stands still and precision only falls.
    hits, predicted = _counts_from(scored, np.unique(scored.positives))
    precision = hits / predicted
    recall = hits / len(scored.positives)
    return float(np.max(2 * precision * recall / (precision + recall + _TSB_AD_F1_EPSILON)))


def _counts_from(scored: Scored, thresholds: Floats) -> tuple[Floats, Floats]:
    """Count hits and predictions of `score >= threshold`."""
    hits = len(scored.positives) - np.searchsorted(scored.positives, thresholds, side="left")
    predicted = len(scored) - np.searchsorted(scored.ascending, thresholds, side="left")
    return hits.astype(np.float64), predicted.astype(np.float64)
