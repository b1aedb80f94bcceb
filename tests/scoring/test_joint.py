"""Joint behaviour: a channel that is odd only beside another one, and what stays as it was."""

from pathlib import Path

import numpy as np
import pytest

from caps import CAPS
from caps.metrics import hit_rate
from caps.neighbours import JointIndex, NeighbourConfig, joint_subsequences
from caps.scoring import Aggregate, Fitted
from caps.scoring.config import ModelConfig
from caps.scoring.joint import JointMemory

TRAIN, ROWS = 1200, 1500
ODD = slice(1300, 1340)


def pair(seed: int = 0) -> np.ndarray:
    """Two channels that follow one load, which wanders about its mean."""
    rng = np.random.default_rng(seed)
    drive = rng.standard_normal(ROWS + 200)
    load = np.convolve(drive, np.hanning(26) / np.sqrt(9.4))[100 : 100 + ROWS]
    return np.asarray(load[:, None] + 0.05 * rng.standard_normal((ROWS, 2)))


def decoupled(seed: int = 0) -> np.ndarray:
    """The same, but in the odd rows the second goes down where the first goes up.

    Either way is as usual for it alone, and it passes from one to the other without a step.
    """
    values = pair(seed)
    turned = np.interp(np.arange(ROWS), [1280, 1300, 1340, 1360], [1.0, -1.0, -1.0, 1.0])
    values[:, 1] *= turned
    return values


@pytest.fixture(scope="module")
def joint() -> Fitted:
    return CAPS(train=TRAIN).fit(decoupled()).fitted_


@pytest.mark.parametrize(("aggregate", "found"), [("joint", True), ("max", False)])
def test_only_together_are_channels_that_part_an_event(
    aggregate: Aggregate, *, found: bool
) -> None:
    values = decoupled()
    analysis = CAPS(train=TRAIN, aggregate=aggregate).fit(values).analyze(values)
    during = [each for each in analysis.events if each.start < ODD.stop and each.end > ODD.start]
    assert bool(during) == found


def test_one_channel_is_scored_as_without_joint_behaviour() -> None:
    values = pair()[:, 0]
    models = [CAPS(train=TRAIN, aggregate=each).fit(values) for each in ("joint", "max")]
    first, second = (model.decision_function(values) for model in models)
    np.testing.assert_array_equal(first, second)
    assert models[0].fitted_.aggregate == "max"


def test_switches_have_no_part_in_joint_behaviour() -> None:
    values = np.column_stack([pair(), np.arange(ROWS) // 50 % 2])
    fitted = CAPS(train=TRAIN).fit(values).fitted_
    assert fitted.joint is not None
    assert fitted.joint.columns == (0, 1)


def test_by_the_past_alone_the_strongest_channel_counts() -> None:
    fitted = CAPS(train=TRAIN, causal=True).fit(pair()).fitted_
    assert fitted.joint is None
    assert fitted.aggregate == "max"


def test_a_saved_model_scores_the_same(tmp_path: Path) -> None:
    values = decoupled()
    model = CAPS(train=TRAIN).fit(values)
    model.save(tmp_path / "model")
    again = CAPS.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(values), model.decision_function(values))


def test_several_that_agree_weigh_more_than_one_and_less_than_their_sum(joint: Fitted) -> None:
    assert joint.joint is not None
    one, both = joint.joint.combine(np.array([[4.0, 0.0], [4.0, 4.0]]))
    assert one == pytest.approx(4.0)
    assert 4.0 < both < 8.0


def test_a_row_that_was_not_observed_has_no_score(joint: Fitted) -> None:
    assert joint.joint is not None
    unknown, known = joint.joint.combine(np.array([[np.nan, np.nan], [np.nan, 2.0]]))
    assert np.isnan(unknown)
    assert known == pytest.approx(2.0)


def test_half_of_the_evidence_is_that_beside_the_others(joint: Fitted) -> None:
    assert joint.joint is not None
    own, beside = np.full((2, 2), 2.0), np.array([[8.0, np.nan], [0.0, 4.0]])
    np.testing.assert_allclose(joint.joint.join(own, beside), [[5.0, 2.0], [1.0, 3.0]])


def test_distances_are_those_of_the_nearest_outside_of_the_zone() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((200, 3))
    index = JointIndex.of(rows, 8, NeighbourConfig())
    assert index is not None
    starts = np.array([5, 60, 150])
    queries = joint_subsequences(rows, starts, 8)
    found = index.distances(queries, index.overlapping(starts))
    for query, start, distance in zip(queries, starts, found, strict=True):
        apart = np.abs(index.starts - start) >= 8
        away = (index.subsequences[apart] - query).astype(np.float64)
        nearest = away[np.square(away).sum(axis=(1, 2)).argmin()]
        np.testing.assert_allclose(distance, np.sqrt(np.square(nearest).mean(axis=1)), rtol=1e-5)


def test_too_short_a_training_part_has_no_joint_index() -> None:
    assert JointIndex.of(np.zeros((20, 2)), 16, NeighbourConfig()) is None


def test_hit_rates_count_causes_among_the_first() -> None:
    ranking = ["a", "b", "c", "d"]
    assert hit_rate(ranking, {"b", "d"}) == 0.5
    assert hit_rate(ranking, {"a"}, share=1.5) == 1.0
    with pytest.raises(Exception, match="without causes"):
        hit_rate(ranking, set())


def test_channels_alone_tell_edges_where_a_row_near_is_odd_by_itself() -> None:
    """A joint subsequence is as long as 16 rows: what it holds beside an odd row is no event."""
    memory = JointMemory((0, 1), np.zeros((1, 2), np.float32), 0, (), (), ModelConfig())
    fresh, rows = np.array([1.3, 2.0]), 100
    local, beside = np.zeros((rows, 2)), np.zeros((rows, 2))
    local[50, 1] = 2.5
    beside[30:71, 0] = 20.0
    found = memory.located(local, beside, fresh)
    reach = memory.config.joint.length - 1
    near = slice(50 - reach, 50 + reach + 1)
    np.testing.assert_array_equal(found[near], local[near])
    np.testing.assert_array_equal(found[30 : near.start, 0], fresh[0])
    np.testing.assert_array_equal(found[near.stop : 71, 0], fresh[0])
    assert (found[:30] == 0).all()
