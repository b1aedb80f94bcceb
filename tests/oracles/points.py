"""Point-wise metrics from their definitions."""

import numpy as np


def f1(predicted: np.ndarray, labels: np.ndarray) -> float:
    hits = sum(predicted & (labels == 1))
    return 2 * hits / (sum(predicted) + sum(labels)) if hits else 0.0


def standard_f1(scores: np.ndarray, labels: np.ndarray) -> float:
    """Best F1 of `score >= threshold` over the quantiles that split the points."""
    best, best_threshold = 0.0, 0.0
    for threshold in np.unique(np.quantile(scores, np.linspace(0, 1, 1500))):
        predicted = scores >= threshold
        if predicted.all() or not predicted.any():
            continue
        if f1(predicted, labels) > best:
            best, best_threshold = f1(predicted, labels), threshold
    return f1(scores >= best_threshold, labels)


def tsb_ad_standard_f1(scores: np.ndarray, labels: np.ndarray) -> float:
    best = 0.0
    for threshold in set(scores):
        predicted = scores >= threshold
        hits = sum(predicted & (labels == 1))
        precision, recall = hits / sum(predicted), hits / sum(labels)
        best = max(best, 2 * precision * recall / (precision + recall + 1e-5))
    return best


def auc_pr(scores: np.ndarray, labels: np.ndarray) -> float:
    area, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        predicted = scores >= threshold
        hits = sum(predicted & (labels == 1))
        area += (hits / sum(labels) - recall) * hits / sum(predicted)
        recall = hits / sum(labels)
    return area


def auc_roc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Share of (anomalous, normal) pairs in the right order; ties count half."""
    anomalous, normal = scores[labels == 1], scores[labels == 0]
    won = sum((a > b) + (a == b) / 2 for a in anomalous for b in normal)
    return won / (len(anomalous) * len(normal))
