"""How parts become one amount of evidence: the loudest count most, and none has an echo."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps.scoring.combination import (
    both_sides,
    by_the_past,
    combine_with_detector,
    in_hindsight,
    mean_between,
    plateaus,
    soft_maximum,
    surrounded,
)
from caps.scoring.config import ScoringConfig
from caps.scoring.measures import of_rows, quietness
from oracles.scoring import levelled, with_surroundings

CONFIG = ScoringConfig()
# Peaks as they are, and nothing around them.
STEEP = replace(CONFIG, plateau=1e-12, last_plateau=1e-12, surrounding_length=2**20)
ROWS, ODD = 100, 50


@given(
    st.lists(st.floats(-8, 8) | st.just(np.nan), min_size=1, max_size=12),
    st.sampled_from([0.25, 0.6, 1.0]),
)
def test_the_soft_maximum_lies_below_the_maximum_by_no_more_than_the_number_of_parts(
    parts: list[float], sharpness: float
) -> None:
    (value,) = soft_maximum([np.array([each]) for each in parts], sharpness)
    known = [each for each in parts if not np.isnan(each)]
    if not known:
        assert np.isnan(value)
        return
    assert max(known) - sharpness * np.log(len(parts)) - 1e-6 <= value <= max(known) + 1e-6
    if len(known) == len(parts):
        assert value >= np.mean(known) - 1e-6


def test_a_part_that_knows_nothing_is_silent() -> None:
    """Were it left out, others would be louder where a series begins than they are later."""
    unknown, quiet = (
        soft_maximum([np.array([1.0]), np.array([each])], 0.25) for each in (np.nan, -100.0)
    )
    np.testing.assert_allclose(unknown, quiet)


def test_parts_that_agree_are_louder_than_one() -> None:
    one, two = (
        soft_maximum([np.array([each]) for each in parts], 0.6) for parts in ([3, 0, 0], [3, 3, 0])
    )
    assert one < two < 3


@pytest.mark.parametrize("horizon", [1, 4, 16])
def test_a_block_counts_for_its_rows_by_the_side_that_finds_it_less_odd(horizon: int) -> None:
    """Blocks that hold the odd row are odd from either side; contexts that do, from one only."""
    rows = np.arange(ROWS)
    ahead = np.where((rows >= ODD) & (rows < ODD + 30), 3.0, 0.0)  # stands at its last row
    behind = np.where((rows <= ODD) & (rows > ODD - 30), 3.0, 0.0)  # at its first
    said = both_sides({horizon: ahead}, {horizon: behind})[horizon]
    assert said[ODD] == 3.0
    np.testing.assert_array_equal(said[ODD + horizon : ODD + 25], 0.0)
    np.testing.assert_array_equal(said[ODD - 25 : ODD - horizon + 1][:-1], 0.0)


def test_a_side_that_knows_nothing_leaves_the_other() -> None:
    known, unknown = np.arange(5.0), np.full(5, np.nan)
    for sides in ((known, unknown), (unknown, known)):
        said = both_sides(*({1: side} for side in sides))
        np.testing.assert_array_equal(said[1], known)


def test_in_hindsight_subsequences_rank_rows_whatever_forecasts_say() -> None:
    whole = np.where(np.abs(np.arange(ROWS) - ODD) < 40, 4.0, 0.0)
    for said in (np.zeros(ROWS), np.full(ROWS, -3.0)):
        evidence = in_hindsight({1: said}, {64: whole}, STEEP)
        one_of_two = CONFIG.sharpness_of_lengths * np.log(2)
        np.testing.assert_allclose(evidence[whole > 0], 4.0 - one_of_two, atol=1e-6)
        assert evidence[whole == 0].max() <= 0.0


@pytest.mark.parametrize("bound", [0.1, 0.5, 1.0, 3.0])
def test_in_hindsight_forecasts_count_up_to_a_bound_beyond_subsequences(bound: float) -> None:
    config = replace(STEEP, forecast_bound=bound)
    novelty = np.linspace(-1, 3, ROWS)

    def evidence(forecasts: float) -> np.ndarray:
        return in_hindsight({1: np.full(ROWS, forecasts)}, {64: novelty}, config)

    loud = evidence(9.0)
    np.testing.assert_allclose(loud, evidence(7.0))  # beyond the bound nothing is added
    assert (loud <= novelty + bound + 1e-9).all()
    one_of_two = config.sharpness_of_lengths * np.log(2)
    assert (loud >= novelty + max(0.0, bound - one_of_two) - 1e-9).all()
    quiet = novelty >= 2.0  # where subsequences say more than forecasts, they are not bounded
    assert (evidence(0.0)[quiet] < novelty[quiet]).all()
    assert (np.diff(evidence(0.0)) > 0).all()


def test_in_hindsight_a_spike_that_forecasts_see_tells_where_in_a_subsequence_it_is() -> None:
    rows = np.arange(ROWS)
    spike = {1: np.where(rows == ODD, 3.0, 0.0), 4: np.where(abs(rows - ODD) < 4, 3.0, 0.0)}
    whole = np.where(np.abs(rows - ODD) < 40, 2.5, 0.0)
    evidence = in_hindsight(spike, {64: whole}, CONFIG)
    assert evidence.argmax() == ODD
    assert evidence[ODD] > np.delete(evidence, ODD).max() + 0.05


ONE_OF_TWO = CONFIG.sharpness_of_lengths * np.log(2)  # less, as the other is silent


def test_where_forecasts_know_nothing_subsequences_count() -> None:
    evidence = in_hindsight({1: np.full(ROWS, np.nan)}, {64: np.full(ROWS, 2.0)}, STEEP)
    np.testing.assert_allclose(evidence, 2.0 - ONE_OF_TWO)


def test_where_subsequences_know_nothing_forecasts_count() -> None:
    forecasts, unknown = {1: np.full(ROWS, 2.0)}, np.full(ROWS, np.nan)
    evidence = in_hindsight(forecasts, {64: unknown}, STEEP)
    np.testing.assert_allclose(evidence, 2.0 - ONE_OF_TWO)
    np.testing.assert_allclose(in_hindsight(forecasts, {}, STEEP), 2.0)


@given(st.lists(st.floats(-5, 5) | st.just(np.nan), min_size=1, max_size=40), st.floats(0.01, 3.0))
def test_plateaus_equal_their_definition(values: list[float], depth: float) -> None:
    np.testing.assert_allclose(plateaus(np.array(values), depth), levelled(values, depth))


def test_the_depth_of_a_plateau_is_that_of_its_peak() -> None:
    evidence, depth = np.array([0.0, 2.5, 3.0, 2.5, 0.0]), np.array([9.0, 9.0, 0.1, 9.0, 9.0])
    np.testing.assert_allclose(plateaus(evidence, depth), [0.0, 2.5, 2.9, 2.5, 0.0])


def test_peaks_of_long_subsequences_are_levelled_more_than_those_of_short_ones() -> None:
    peak = 4.0 - np.abs(np.arange(ROWS) - ODD) / 20
    silent = np.full(ROWS, -9.0)

    def level_rows(length: int) -> int:
        lengths = {each: peak if each == length else silent for each in (16, 64, 256)}
        evidence = in_hindsight({1: silent}, lengths, CONFIG)
        return int((evidence > evidence.max() - 1e-9).sum())

    assert 1 < level_rows(16) < level_rows(64) < level_rows(256) < ROWS


@given(
    st.lists(
        st.tuples(st.floats(-3, 5) | st.just(np.nan), st.sampled_from([1, 4, 6])),
        min_size=1,
        max_size=30,
    ),
    st.floats(0.01, 1.5),
    st.floats(0.1, 1.0),
)
def test_surroundings_equal_their_definition(
    rows: list[tuple[float, int]], reach: float, share: float
) -> None:
    novelty, length = (list(each) for each in zip(*rows, strict=True))
    config = replace(CONFIG, surroundings=reach, surrounding_share=share, surrounding_length=4)
    found = surrounded(np.array(novelty), np.array(length), config)
    wanted = with_surroundings(novelty, length, reach=reach, share=share, least=4)
    np.testing.assert_allclose(found, wanted)


def test_what_is_around_a_peak_of_long_subsequences_ranks_below_it_and_before_the_rest() -> None:
    near = np.abs(np.arange(400) - 200)
    peak, silent = np.where(near < 3, 4.0, 0.0), np.full(400, -9.0)

    def evidence(length: int, *, calibrating: bool = False) -> np.ndarray:
        lengths = {each: peak if each == length else silent for each in (16, 64, 256)}
        return in_hindsight({1: silent}, lengths, CONFIG, calibrating=calibrating)

    for length in (64, 256):
        reach = 2 + int(CONFIG.surroundings * length)
        beside = evidence(length)[(near >= 3) & (near <= reach)]
        assert evidence(length)[near > reach].max() < beside.min()
        assert beside.max() < 0.9 * evidence(length)[near < 3].min()
        # Peaks are counted without: what is around them is no other one.
        assert evidence(length, calibrating=True)[near >= 3].max() < beside.min() - 1.0
    np.testing.assert_array_equal(evidence(16), evidence(16, calibrating=True))


def test_rows_that_hardly_differ_in_all_that_is_said_rank_together() -> None:
    said = np.array([0.0, 3.0, 3.0 - CONFIG.last_plateau / 2, 3.0 - 2 * CONFIG.last_plateau, 0.0])
    evidence = in_hindsight({1: said}, {}, CONFIG)
    assert evidence[1] == evidence[2] > evidence[3] > evidence[4]


def test_by_the_past_what_follows_an_odd_context_is_hardly_evidence() -> None:
    rows = np.arange(ROWS)
    echo = np.where((rows >= ODD) & (rows < ODD + 16), 3.0, 0.0)
    fresh = np.where(rows == ODD, 3.0, 0.0)
    evidence = by_the_past({1: echo, 4: echo}, {1: fresh, 4: fresh}, [echo], CONFIG)
    assert evidence[ODD] == pytest.approx(3.0)
    assert evidence[ODD + 1 : ODD + 16].max() <= CONFIG.echo_gate
    np.testing.assert_allclose(evidence[:ODD], 0.0, atol=1e-9)


def test_by_the_past_longer_blocks_and_subsequences_count_little_beyond_shorter_blocks() -> None:
    nothing, loud = np.zeros(ROWS), np.full(ROWS, 5.0)
    evidence = by_the_past({1: nothing, 4: loud, 16: loud}, {1: nothing, 4: loud}, [loud], CONFIG)
    assert evidence.max() <= 2 * CONFIG.live_gate
    agreeing = {1: loud, 4: loud, 16: loud}
    np.testing.assert_allclose(by_the_past(agreeing, agreeing, [loud], CONFIG), 5.0)


@given(st.lists(st.floats(-5, 5) | st.just(np.nan), min_size=1, max_size=20), st.data())
def test_means_between_rows_equal_their_definition(
    values: list[float], data: st.DataObject
) -> None:
    array, end = np.array(values), len(values) - 1
    first = data.draw(st.integers(-5, end + 5))
    last = data.draw(st.integers(first, end + 5))
    inside = array[min(max(first, 0), end) : min(max(last, 0), end) + 1]
    expected = np.mean(inside[np.isfinite(inside)]) if np.isfinite(inside).any() else np.nan
    found = mean_between(array, np.array([first]), np.array([last]))
    np.testing.assert_allclose(found, [expected], atol=1e-9)


def test_rows_get_the_mean_of_the_subsequences_that_hold_them() -> None:
    measured = np.array([1.0, np.nan, 3.0])
    means = of_rows(measured, np.array([0, 1, 2]), 2, 4, sided=False)
    np.testing.assert_array_equal(means, [1.0, 1.0, 3.0, 3.0])


def test_long_subsequences_count_by_the_quieter_of_their_sides() -> None:
    measured = np.array([0.0] * 4 + [5.0] * 3)
    found = of_rows(measured, np.arange(7), 4, 10, sided=True)
    np.testing.assert_allclose(found, [0.0] * 6 + [2.5] + [5.0] * 3)


def test_a_loud_detector_is_heard_beside_a_quiet_memory() -> None:
    memory, detector = np.array([0.0, 0.0, 3.0]), np.array([0.0, 4.0, 0.0])
    both = combine_with_detector(memory, detector, CONFIG)
    assert both[0] == pytest.approx(0)
    assert 1 < both[1] < 4
    assert 2.5 < both[2] < 3


def test_how_quiet_a_row_is_depends_on_the_last_rows_alone() -> None:
    values = np.random.default_rng(0).standard_normal(200)
    values[100:140] = values[100]
    values[150] = np.nan
    quiet = quietness(values, 16, CONFIG)
    np.testing.assert_array_equal(quietness(values[60:], 16, CONFIG)[16:], quiet[76:])
    assert quiet[116:140].min() > np.nanmax(quiet[:100]) + 3
    assert np.isnan(quiet[150])
    assert np.isnan(quiet[:11]).all()  # too few rows before


def test_how_quiet_rows_are_does_not_depend_on_their_level() -> None:
    values = np.random.default_rng(0).standard_normal(100)
    np.testing.assert_allclose(
        quietness(values, 16, CONFIG), quietness(values + 50, 16, CONFIG), atol=1e-6
    )


def test_the_clock_is_bounded_neither_by_subsequences_nor_by_forecasts() -> None:
    nothing, loud = np.zeros(ROWS), np.full(ROWS, 4.0)
    assert (in_hindsight({1: nothing}, {64: nothing}, CONFIG, [loud]) > 3.5).all()
    assert (in_hindsight({1: nothing}, {}, CONFIG, [loud]) > 3.5).all()
    assert (by_the_past({1: nothing}, {1: nothing}, [nothing], CONFIG, [loud]) > 3.5).all()
