"""The nearest subsequence is the one that a loop over all of them finds."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from caps.neighbours.config import NeighbourConfig
from caps.neighbours.counterpart import distance_profile, kth_distance
from caps.neighbours.index import (
    FORMS,
    Form,
    SubsequenceIndex,
    in_forms,
    paa,
    paa_of_windows,
)
from oracles.neighbours import naive_form, naive_nearest_of_divisions

CONFIG = NeighbourConfig()


def beats(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    phase = np.arange(rows) * 2 * np.pi / 40
    return np.sin(phase) + 0.3 * np.sin(3 * phase) + 0.05 * rng.standard_normal(rows)


def naive_nearest(
    query: np.ndarray, stored: np.ndarray, starts: np.ndarray, start: int | None, length: int
) -> float:
    best = np.inf
    for subsequence, other in zip(stored, starts, strict=True):
        if start is None or abs(other - start) >= length:
            best = min(best, float(np.sqrt(np.mean((query - subsequence) ** 2))))
    return best


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", [0.0, 60.0])
def test_queries_equal_loops_over_all_subsequences(form: Form, level: float) -> None:
    values, length = beats(300) + level, 64
    values[200:280] = level + 0.01 * values[200:280]  # too flat to be blown up
    index = SubsequenceIndex.of(values, length, CONFIG)
    assert index is not None
    starts = np.arange(0, 237, 17)
    subsequences = paa(values, starts, length, CONFIG.segments)
    shifted = subsequences[:3] + np.float32(0.1)
    which = FORMS.index(form)
    stored = index.forms.stacked[which]
    inside = index.query(subsequences, index.overlapping(starts)).distance[which]
    outside = index.query(shifted).distance[which]
    for found, queries, here in [(inside, subsequences, starts), (outside, shifted, [None] * 3)]:
        for row, start in enumerate(here):
            mine = in_forms(queries, CONFIG.least_std).stacked[which, row]
            expected = naive_nearest(mine, stored, index.starts, start, length)
            assert found[row] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_long_subsequences_stand_as_means_of_segments() -> None:
    values = beats(600)
    subsequences = paa(values, np.array([0, 7]), 256, 64)
    assert subsequences.shape == (2, 64)
    np.testing.assert_allclose(subsequences[1, 3], values[19:23].mean(), rtol=1e-5)
    np.testing.assert_allclose(paa_of_windows(values[None, 7:263], 64), subsequences[1:], rtol=1e-5)


def test_a_subsequence_with_nothing_to_compare_with_is_unknown() -> None:
    starts = np.arange(3)
    index = SubsequenceIndex(4, starts, np.zeros((3, 4), np.float32), CONFIG.least_std)
    found = index.query(np.zeros((1, 4), np.float32), index.overlapping(starts[:1]))
    assert np.isnan(found.distance).all()
    assert (found.of_divisions == -1).all()


def test_the_size_of_an_index_and_its_segments_are_settings() -> None:
    values = beats(900)
    index = SubsequenceIndex.of(values, 64, NeighbourConfig(index_size=100, segments=16))
    assert index is not None
    assert index.subsequences.shape == (100, 16)


def test_a_distance_profile_equals_its_definition() -> None:
    values, query = beats(200), beats(40)[20:] + 0.2
    weights = np.linspace(0, 1, 20)
    expected = [(weights * (query - values[start : start + 20]) ** 2).sum() for start in range(181)]
    np.testing.assert_allclose(distance_profile(query, weights, values), expected, atol=1e-9)


def test_the_kth_nearest_lies_apart() -> None:
    values, starts = beats(120), np.arange(0, 105, 5)
    subsequences = values[starts[:, None] + np.arange(16)]
    everything = np.arange(len(starts))
    found = kth_distance(subsequences, starts, everything[:4], everything, 3)
    for row in range(4):
        apart = np.abs(starts - starts[row]) >= 16
        squares = ((subsequences[apart] - subsequences[row]) ** 2).sum(axis=1)
        assert found[row] == pytest.approx(np.sort(squares)[2])


def test_the_exclusion_zone_holds_exactly_what_overlaps() -> None:
    index = SubsequenceIndex.of(beats(300), 16, CONFIG)
    assert index is not None
    (first,), (last,) = index.overlapping(np.array([100]))
    assert index.starts[first:last].tolist() == list(range(85, 116))


def test_near_ties_are_settled_for_the_nearer() -> None:
    stored = np.repeat(np.float32([[0.01], [0.001], [1.0]]), 4, axis=1)
    index = SubsequenceIndex(4, 4 * np.arange(3), stored, CONFIG.least_std)
    found = index.query(np.zeros((1, 4), np.float32), exact=True)
    raw = FORMS.index("raw")
    assert found.index[raw].tolist() == [1]
    assert found.distance[raw, 0] == pytest.approx(0.001, rel=1e-4)


def test_a_small_index_reaches_evenly_over_the_training_part() -> None:
    index = SubsequenceIndex.of(beats(900), 64, NeighbourConfig(index_size=100))
    assert index is not None
    assert (index.starts[0], index.starts[-1]) == (0, 900 - 64)
    assert set(np.diff(index.starts).tolist()) == {8, 9}


def test_a_neighbour_that_begins_where_the_query_ends_lies_apart() -> None:
    subsequences = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    starts, every = np.array([0, 1, 2, 4]), np.arange(4)
    assert kth_distance(subsequences, starts, every[:1], every, 1).tolist() == [2.0]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS), st.sampled_from([1, 2, 4]), st.booleans())
def test_the_nearest_of_every_division_equals_a_loop_over_all(
    seed: int, form: Form, divisions: int, exact: bool
) -> None:
    rng = np.random.default_rng(seed)
    values, other = rng.standard_normal((2, 90)).cumsum(axis=1)
    values[40:60] = values[40]  # flat ones are not blown up
    index = SubsequenceIndex.of(values, 8, NeighbourConfig(divisions=divisions))
    assert index is not None
    queries, count = paa(other, np.arange(6) * 12, 8, 64), len(index.starts)
    low = rng.integers(0, count, 6)
    high = np.minimum(count, low + rng.integers(0, count, 6))
    low[:2], high[:2] = 0, (0, count)  # of all, and of none
    found, number = index.query(queries, (low, high), exact=exact), FORMS.index(form)
    for row, query in enumerate(queries):
        naive = naive_nearest_of_divisions(
            query, index.subsequences, form, 0.1, divisions, range(low[row], high[row])
        )
        mine, _, _ = naive_form(query, form, 0.1)
        for division, which in enumerate(found.of_divisions[number, :, row].tolist()):
            if which < 0:
                assert naive[division] == np.inf
                continue
            assert which * divisions // count == division
            stored, _, _ = naive_form(index.subsequences[which], form, 0.1)
            distance = np.sqrt(np.mean((mine - stored) ** 2))
            assert distance == pytest.approx(naive[division], rel=1e-3, abs=1e-3)
        nearest = min(naive) if np.isfinite(min(naive)) else np.nan
        distance = found.distance[number, row]
        assert distance == pytest.approx(nearest, rel=1e-3, abs=1e-3, nan_ok=True)


def test_exact_queries_find_the_same_whatever_else_is_looked_up() -> None:
    rng = np.random.default_rng(0)
    index = SubsequenceIndex.of(rng.standard_normal(900).round(1), 16, CONFIG)
    assert index is not None
    queries = paa(rng.standard_normal(600).round(1), np.arange(500), 16, CONFIG.segments)
    low = rng.integers(0, 400, 500)
    zone = low, low + 31
    whole = index.query(queries, zone, exact=True)
    for row in (0, 1, 127, 128, 300, 499):
        one = slice(row, row + 1)
        alone = index.query(queries[one], (zone[0][one], zone[1][one]), exact=True)
        for name in ("distance", "index", "of_divisions"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[..., one])


def test_divisions_are_equal_spans_of_the_training_part() -> None:
    for rows in (301, 302, 303, 304):
        index = SubsequenceIndex.of(beats(rows), 16, CONFIG)
        assert index is not None
        assert len(index.starts) % CONFIG.divisions == 0
        assert index.starts[-1] == rows - 16
