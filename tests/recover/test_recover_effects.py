"""Effects are cut, raised and joined without touching anything outside their supports."""

from dataclasses import replace

import numpy as np
import pytest

from caps.realize import Pretrained
from caps.recover import PairSet, References, own_pairs, recover_pairs, shaped_effects
from caps.recover.injection import SHORTEST
from caps.recover.pairs import local_std, strength, visible

AS_THEY_ARE = {"short_share": 0.0, "short_rows": 16, "floor": 0.0, "hard_share": 0.1, "seed": 0}


@pytest.fixture(scope="module")
def pairs(pretrained: Pretrained, references: References) -> PairSet:
    return recover_pairs(pretrained, references, seed=2)


def sizes(pairs: PairSet) -> np.ndarray:
    found = strength(pairs.residual, pairs.support)
    return found / local_std(pairs.reference[pairs.anchor], pairs.support)


def test_nothing_is_changed_unless_it_is_asked_for(pairs: PairSet) -> None:
    assert shaped_effects(pairs, **AS_THEY_ARE) is pairs


def test_a_share_of_the_supports_is_cut_to_a_few_of_their_own_rows(pairs: PairSet) -> None:
    cut = shaped_effects(pairs, **{**AS_THEY_ARE, "short_share": 0.5, "short_rows": 6})
    changed = (cut.support != pairs.support).any(axis=1)
    assert 0.2 < changed.mean() < 0.8
    rows = cut.support[changed].sum(axis=1)
    assert rows.min() >= 1
    assert rows.max() <= 6
    assert len(set(rows.tolist())) > 2
    assert (cut.support <= pairs.support).all()
    outside = ~cut.support
    assert (cut.counterpart[outside] == cut.reference[cut.anchor][outside]).all()
    np.testing.assert_allclose(cut.counterpart[cut.support], pairs.counterpart[cut.support], 1e-5)


def test_weak_effects_are_raised_to_the_floor_but_for_a_stated_share(pairs: PairSet) -> None:
    floor = float(np.median(sizes(pairs)))
    raised = shaped_effects(pairs, **{**AS_THEY_ARE, "floor": floor, "hard_share": 0.0})
    np.testing.assert_allclose(sizes(raised), np.maximum(sizes(pairs), floor), rtol=1e-3)
    hard = shaped_effects(pairs, **{**AS_THEY_ARE, "floor": floor, "hard_share": 1.0})
    np.testing.assert_allclose(sizes(hard), sizes(pairs), rtol=1e-3)
    some = shaped_effects(pairs, **{**AS_THEY_ARE, "floor": floor, "hard_share": 0.4})
    weak = sizes(pairs) < 0.99 * floor
    left = (sizes(some) < 0.99 * floor)[weak].mean()
    assert 0.1 < left < 0.75


def test_the_same_seed_shapes_the_same(pairs: PairSet) -> None:
    asked = {**AS_THEY_ARE, "short_share": 0.5, "floor": 1.0}
    first, again = (shaped_effects(pairs, **asked) for _ in range(2))
    other = shaped_effects(pairs, **{**asked, "seed": 1})
    assert np.array_equal(first.support, again.support)
    assert not np.array_equal(first.support, other.support)


def test_own_segments_meet_the_window_and_are_found_in_the_own_windows(
    references: References,
) -> None:
    made = own_pairs(references, 40, seed=0)
    windows = references.windows[made.anchor]
    assert len(made) == 40
    assert (made.mode == -1).all()
    assert (made.counterpart[~made.support] == windows[~made.support]).all()
    assert visible(windows, made.counterpart, made.support).mean() > 0.9
    for window, counterpart, support in zip(windows, made.counterpart, made.support, strict=True):
        inside = np.flatnonzero(support)
        assert len(inside) >= SHORTEST
        ends = inside[[0, -1]]
        np.testing.assert_allclose(counterpart[ends], window[ends], atol=1e-4)
        # Bent, it is as bent as some segment of the windows: a line was added, nothing else.
        bends = np.diff(counterpart[inside], 2)
        own = np.diff(references.windows, 2, axis=1)
        views = np.lib.stride_tricks.sliding_window_view(own, len(bends), axis=1)
        assert np.abs(views - bends).max(axis=-1).min() < 1e-3


def test_own_segments_join_the_counterparts_of_the_same_references(
    pairs: PairSet, references: References
) -> None:
    joined = pairs.combine(own_pairs(references, 5, seed=0))
    assert len(joined) == len(pairs) + 5
    assert replace(joined, mode=joined.mode).reference is pairs.reference
