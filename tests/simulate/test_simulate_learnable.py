"""Families can be told apart by their residuals, and supports by the series, but not perfectly."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from caps.simulate import PairBatch

pytestmark = pytest.mark.slow


def features(pairs: PairBatch) -> np.ndarray:
    residual, support = pairs.residual.astype(float), pairs.support
    steps = support.sum(axis=1)
    size = np.sqrt((residual**2).sum(axis=1) / steps)
    total = residual.sum(axis=1) / steps
    rough = np.abs(np.diff(residual, 2)).mean(axis=1) / size
    turns = (np.diff(np.sign(residual), axis=1) != 0).sum(axis=1)
    return np.stack([size, np.abs(total) / size, rough, turns, np.abs(residual).max(1) / size], 1)


def test_a_small_classifier_tells_families_well_but_not_perfectly(pairs: PairBatch) -> None:
    half = len(pairs) // 2
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    model.fit(features(pairs[:half]), pairs.family[:half])
    accuracy = model.score(features(pairs[half:]), pairs.family[half:])
    assert 0.7 < accuracy < 0.99


def local_features(pairs: PairBatch) -> np.ndarray:
    """Level, bend and std around every fourth step, each relative to the whole window."""
    window = pairs.anomalous.astype(float)
    level = np.abs(window - np.median(window, axis=1, keepdims=True))
    bend = np.abs(np.gradient(np.gradient(window, axis=1), axis=1))
    columns = []
    for measure in (level, bend):
        usual = np.median(measure, axis=1, keepdims=True) + 0.02
        for width in (1, 9, 33):
            columns.append(np.log(uniform_filter1d(measure / usual, width, axis=1) + 0.05))
    for width in (9, 33):
        mean = uniform_filter1d(window, width, axis=1)
        std = np.sqrt(np.maximum(uniform_filter1d(window**2, width, axis=1) - mean**2, 0))
        columns.append(np.log((std + 0.02) / (np.median(std, axis=1, keepdims=True) + 0.02)))
    return np.stack(columns, axis=2)[:, ::4].reshape(-1, len(columns))


def detection_quality(pairs: PairBatch, support: np.ndarray) -> float:
    half = len(pairs) // 2
    model = HistGradientBoostingClassifier(max_iter=80, random_state=0)
    model.fit(local_features(pairs[:half]), support[:half, ::4].ravel())
    scores = model.predict_proba(local_features(pairs[half:]))[:, 1]
    return float(roc_auc_score(support[half:, ::4].ravel(), scores))


def test_supports_can_be_learned_and_permuted_ones_cannot(
    pairs: PairBatch, rng: np.random.Generator
) -> None:
    some = pairs[:3000]
    assert detection_quality(some, some.support) > 0.58
    assert detection_quality(some, some.support[rng.permutation(len(some))]) < 0.54
