"""Benign features belong to both members and keep away from the support."""

from dataclasses import replace

import numpy as np

from caps.simulate import PairBatch
from caps.simulate.simulator import MARGIN, add_benign


def added(pairs: PairBatch, rng: np.random.Generator) -> tuple[PairBatch, np.ndarray]:
    result = add_benign(pairs, rng, 12.0)
    return result, result.normal != pairs.normal


def test_benign_features_are_in_both_members_and_never_in_the_support(
    pairs: PairBatch, rng: np.random.Generator
) -> None:
    result, changed = added(pairs, rng)
    assert 0.04 < changed.any(axis=1).mean() < 0.1
    assert not (changed & pairs.support).any()
    assert np.array_equal(result.residual, np.where(pairs.support, pairs.residual, 0))
    assert np.array_equal(result.support, pairs.support)


def test_benign_features_come_at_least_twice(pairs: PairBatch, rng: np.random.Generator) -> None:
    quiet = replace(pairs, normal=np.zeros_like(pairs.normal), anomalous=pairs.anomalous)
    _, changed = added(quiet, rng)
    for row in np.flatnonzero(changed.any(axis=1)):
        assert (np.diff(changed[row].astype(int)) == 1).sum() + changed[row, 0] >= 2


def test_benign_features_keep_a_margin(pairs: PairBatch, rng: np.random.Generator) -> None:
    _, changed = added(pairs, rng)
    near = pairs.support.copy()
    for step in range(1, MARGIN + 1):
        near[:, step:] |= pairs.support[:, :-step]
        near[:, :-step] |= pairs.support[:, step:]
    assert not (changed & near).any()
