"""What every simulated pair promises, whatever its generator and operation."""

from itertools import pairwise

import numpy as np
import pytest

from caps.errors import InputError
from caps.simulate import FAMILIES, GENERATORS, OPERATIONS, PairBatch, simulate_pairs, visible
from caps.simulate.summary import summarise


def runs(support: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], support.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def test_members_are_equal_to_the_bit_outside_the_support(pairs: PairBatch) -> None:
    outside = ~pairs.support
    assert np.array_equal(pairs.normal[outside], pairs.anomalous[outside])
    assert pairs.support.any(axis=1).all()


def test_families_are_exactly_balanced(pairs: PairBatch) -> None:
    assert np.bincount(pairs.family).tolist() == [len(pairs) // 3] * 3
    named = [OPERATIONS[operation][0] for operation in pairs.operation]
    assert all(
        "PQT".index(name) == family for name, family in zip(named, pairs.family, strict=True)
    )


def test_every_operation_and_generator_occurs(pairs: PairBatch) -> None:
    assert set(pairs.operation.tolist()) == set(range(len(OPERATIONS)))
    assert set(pairs.generator.tolist()) == set(range(16))


def test_double_weight_operations_come_twice_as_often(pairs: PairBatch) -> None:
    count = np.bincount(pairs.operation, minlength=len(OPERATIONS))
    spike, dropout = OPERATIONS.index("P4 spike"), OPERATIONS.index("P6 dropout")
    assert 1.5 < count[spike] / count[dropout] < 2.7


def test_all_values_are_finite_and_bounded(pairs: PairBatch) -> None:
    assert pairs.normal.dtype == pairs.anomalous.dtype == np.float32
    assert np.isfinite(pairs.normal).all()
    assert np.isfinite(pairs.parameters).all()
    assert np.abs(pairs.anomalous).max() <= 12
    assert np.abs(pairs.normal).max() <= 12


def test_supports_are_up_to_three_intervals_with_gaps(pairs: PairBatch) -> None:
    counts = []
    for support, events in zip(pairs.support, pairs.parameter("events"), strict=True):
        found = runs(support)
        counts.append(len(found))
        assert len(found) == events
        assert all(b[0] - a[1] >= 4 for a, b in pairwise(found))
    share = np.bincount(counts, minlength=4) / len(counts)
    assert share[0] == 0
    assert share[1] > 0.6
    assert 0.05 < share[2] < 0.3
    assert share[3] > 0


def test_point_events_are_short(pairs: PairBatch) -> None:
    points = pairs[pairs.family == FAMILIES.index("point")]
    longest = [max(stop - start for start, stop in runs(support)) for support in points.support]
    assert max(longest) <= 48
    assert np.mean(np.array(longest) == 1) > 0.2


def test_windows_cut_events_at_both_ends(pairs: PairBatch) -> None:
    assert 0.05 < pairs.support[:, 0].mean() < 0.2
    assert 0.05 < pairs.support[:, -1].mean() < 0.3
    assert 0.002 < pairs.support.all(axis=1).mean() < 0.06
    onset = pairs.parameter("onset")
    assert (onset < 0).any()
    inside = onset >= 0
    first = pairs.support.argmax(axis=1)
    assert (first[inside] <= onset[inside]).all()


def test_every_operation_is_visible(pairs: PairBatch) -> None:
    assert visible(pairs).all()
    for figures in summarise(pairs).operations:
        assert figures.visible >= 0.95, figures


def test_the_gate_notices_a_vanished_residual(pairs: PairBatch) -> None:
    faint = PairBatch(
        **{name: getattr(pairs, name) for name in PairBatch.__slots__ if name != "anomalous"},
        anomalous=pairs.normal + 0.01 * pairs.residual,
    )
    assert visible(pairs).mean() > 0.95
    assert visible(faint).mean() < 0.05


def test_about_a_tenth_of_the_pairs_is_hard(pairs: PairBatch) -> None:
    assert 0.05 < summarise(pairs).hard < 0.2


def test_one_series_serves_several_pairs(pairs: PairBatch) -> None:
    for reference in np.unique(pairs.reference)[:200]:
        same = pairs.reference == reference
        assert len(np.unique(pairs.generator[same])) == 1
    assert 2 < len(pairs) / len(np.unique(pairs.reference)) < 5


def test_workers_change_nothing() -> None:
    alone = simulate_pairs(1600, seed=3)
    together = simulate_pairs(1600, seed=3, workers=2)
    for name in PairBatch.__slots__:
        assert np.array_equal(getattr(alone, name), getattr(together, name), equal_nan=True), name


def test_more_pairs_begin_with_the_same_pairs() -> None:
    few, more = simulate_pairs(10, seed=9), simulate_pairs(900, seed=9)
    assert np.array_equal(few.anomalous, more.anomalous[:10])


def test_another_seed_gives_other_pairs() -> None:
    assert not np.array_equal(
        simulate_pairs(3, seed=0).anomalous, simulate_pairs(3, seed=1).anomalous
    )


def test_families_can_be_chosen() -> None:
    chosen = simulate_pairs(20, seed=0, families=("trend", "point"))
    assert [FAMILIES[family] for family in chosen.family[:4]] == ["trend", "point"] * 2


def test_other_window_lengths_keep_the_contract() -> None:
    short = simulate_pairs(90, seed=0, length=128)
    assert short.normal.shape == (90, 128)
    assert np.array_equal(short.normal[~short.support], short.anomalous[~short.support])
    assert visible(short).mean() > 0.95


def test_progress_reaches_the_count() -> None:
    seen: list[tuple[int, int]] = []
    simulate_pairs(800, seed=0, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(768, 800), (800, 800)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"length": 10},
        {"workers": 0},
        {"families": ("points",)},
        {"families": ()},
        {"families": ("point", "point")},
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object]) -> None:
    arguments = {"count": 3, "seed": 0} | wrong
    with pytest.raises(InputError):
        simulate_pairs(arguments.pop("count"), **arguments)  # type: ignore[arg-type]


def test_batches_can_be_cut_and_joined(pairs: PairBatch) -> None:
    parts = [pairs[:100], pairs[np.arange(100, 200)], pairs[pairs.family == 0]]
    joined = PairBatch.concatenate(parts)
    assert len(joined) == 200 + len(pairs) // 3
    assert np.array_equal(joined.normal[:200], pairs.normal[:200])
    assert np.array_equal(joined.residual[:200], pairs.residual[:200])


def test_counts_stay_counts(pairs: PairBatch) -> None:
    counted = pairs[pairs.generator == GENERATORS.index("N13 intermittent counts")]
    # Both members are at or above the level of zero, the lowest value of the long series.
    assert len(counted) > 30
    for normal, anomalous in zip(counted.normal, counted.anomalous, strict=True):
        steps = np.unique(np.round(np.concatenate([normal, anomalous]), 4))
        gaps = np.diff(steps)
        unit = gaps.min()
        inside = np.abs(steps) < 12
        share = (steps[inside] - steps[0]) / unit
        assert anomalous.min() >= normal.min() - 1e-4
        assert np.abs(share - np.round(share)).max() < 0.1
