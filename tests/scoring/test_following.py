"""What is usual is followed at a stated pace: live as in a file, whatever else is in it."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from caps.scoring.config import ScoringConfig
from caps.scoring.following import Errors, Follower, Standardiser, pace_of, standardise_around

CONFIG = ScoringConfig()
USUAL = [Standardiser(0.0, 1.0), Standardiser(-2.0, 0.5)]
ERRORS = Errors.of(np.abs(np.random.default_rng(0).standard_normal(5000)))
PACE = 1024


def measured(rows: int, seed: int = 0, lifted: float = 0.0) -> np.ndarray:
    """The like of training (part, row), lifted by so many std."""
    noise = np.random.default_rng(seed).standard_normal((2, rows)) + lifted
    return noise * [[1.0], [0.5]] + [[0.0], [-2.0]]


def follower(*, still: bool = False) -> Follower:
    return Follower(USUAL, ERRORS, PACE, CONFIG, still=still)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 700), max_size=20), st.integers(0, 2**32 - 1))
def test_it_makes_no_difference_how_many_rows_come_at_once(cuts: list[int], seed: int) -> None:
    rows = measured(3000, seed, lifted=3.0)
    rows[:, np.random.default_rng(seed).random(3000) < 0.05] = np.nan
    whole, pieces = follower(), follower()
    ends = [end for end in np.cumsum(cuts).tolist() if end < 3000]
    found = [pieces.standardise(piece) for piece in np.split(rows, ends, axis=1)]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), whole.standardise(rows))
    np.testing.assert_array_equal(pieces.state(), whole.state())


def test_rows_one_at_a_time_are_standardised_as_rows_at_once() -> None:
    rows, one = measured(700, lifted=2.0), follower()
    found = [one.standardise(rows[:, [row]]) for row in range(700)]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), follower().standardise(rows))


@pytest.mark.parametrize("cut", [0, 1, 333, 1024])
def test_a_restored_follower_goes_on_exactly(cut: int) -> None:
    rows, first = measured(2500, lifted=3.0), follower()
    first.standardise(rows[:, :cut])
    again = follower()
    again.restore(first.state(), first.rows)
    expected = first.standardise(rows[:, cut:])
    np.testing.assert_array_equal(again.standardise(rows[:, cut:]), expected)
    np.testing.assert_array_equal(again.state(), first.state())


def test_a_state_that_does_not_fit_is_refused() -> None:
    sound = follower().state()
    unsound = sound.copy()
    unsound[0, -1] = -1.0
    for state, rows in ((sound[:1], 0), (sound[:, 1:], 0), (sound, -1), (unsound, 0)):
        with pytest.raises(ValueError, match="state"):
            follower().restore(state, rows)


def test_a_level_that_stays_becomes_usual_after_the_stated_pace() -> None:
    live = follower()
    live.standardise(measured(PACE))
    shifted = live.standardise(measured(3 * PACE, seed=1, lifted=10.0))
    early, late = shifted[:, : PACE // 6], shifted[:, PACE + PACE // 8 :]
    assert (early > np.arcsinh(5)).all()
    assert (np.abs(np.median(late, axis=1)) < 0.5).all()


def test_what_was_followed_is_forgotten_at_the_same_pace() -> None:
    live = follower()
    live.standardise(measured(2 * PACE, lifted=10.0))
    live.standardise(measured(2 * PACE, seed=1))
    np.testing.assert_allclose(live.location, [0.0, -2.0], atol=0.1)
    np.testing.assert_allclose(live.scale, [1.0, 0.5], rtol=0.15)


def test_stationary_rows_leave_what_is_usual_where_training_had_it() -> None:
    live = follower()
    for seed in range(10):
        live.standardise(measured(PACE, seed))
        np.testing.assert_allclose(live.location, [0.0, -2.0], atol=0.1)
        np.testing.assert_allclose(live.scale, [1.0, 0.5], rtol=0.15)


def test_rows_closer_than_in_training_change_nothing() -> None:
    """Rows that were compared with themselves unnoticed must not hide the others."""
    live = follower()
    live.standardise(measured(3 * PACE, lifted=-8.0))
    np.testing.assert_array_equal(live.location, [0.0, -2.0])
    np.testing.assert_array_equal(live.scale, [1.0, 0.5])


def test_one_that_stands_still_follows_nothing() -> None:
    rows = measured(3 * PACE, lifted=10.0)
    expected = [each.standardise(row) for each, row in zip(USUAL, rows, strict=True)]
    np.testing.assert_allclose(follower(still=True).standardise(rows), expected, rtol=1e-12)


def test_rows_that_know_nothing_of_a_part_leave_it_at_training() -> None:
    rows = measured(3 * PACE, lifted=10.0)
    rows[1] = np.nan
    live = follower()
    found = live.standardise(rows)
    assert np.isnan(found[1]).all()
    assert live.location[0] > 8
    around = standardise_around(rows, USUAL, PACE, CONFIG)
    assert np.isnan(around[1]).all()


def test_a_row_does_not_depend_on_rows_beyond_the_pace() -> None:
    rows = measured(12 * PACE)
    changed, step = rows.copy(), PACE // CONFIG.refreshes
    changed[:, : 3 * PACE] += 20
    changed[:, 9 * PACE :] += 20
    reach = PACE + step
    inside = slice(3 * PACE + reach, 9 * PACE - reach)
    expected, found = (standardise_around(each, USUAL, PACE, CONFIG) for each in (rows, changed))
    np.testing.assert_array_equal(found[:, inside], expected[:, inside])


def test_in_hindsight_a_level_that_stays_becomes_usual_and_a_short_one_does_not() -> None:
    stays, short = measured(8 * PACE), measured(8 * PACE)
    stays[:, 4 * PACE :] += [[10.0], [5.0]]
    short[:, 4 * PACE : 4 * PACE + PACE // 4] += [[10.0], [5.0]]
    stayed, passed = (standardise_around(each, USUAL, PACE, CONFIG) for each in (stays, short))
    assert (np.median(stayed[:, 6 * PACE :], axis=1) < 0.5).all()
    assert (passed[:, 4 * PACE : 4 * PACE + PACE // 4] > 2).all()


def test_stationary_rows_are_standardised_as_training_is() -> None:
    rows = measured(6 * PACE)
    expected = [each.standardise(row) for each, row in zip(USUAL, rows, strict=True)]
    found = standardise_around(rows, USUAL, PACE, CONFIG)
    assert np.abs(found - expected).max() < 0.15


def test_files_shorter_than_half_the_pace_are_held_to_training_alone() -> None:
    rows = measured(PACE // 2 - 1, lifted=10.0)
    expected = [each.standardise(row) for each, row in zip(USUAL, rows, strict=True)]
    found = standardise_around(rows, USUAL, PACE, CONFIG)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_pace_is_that_of_the_training_part_within_bounds() -> None:
    assert pace_of(3000, CONFIG) == 3000
    assert pace_of(10, CONFIG) == CONFIG.least_pace
    assert pace_of(10**6, CONFIG) == CONFIG.most_pace


def test_a_few_odd_rows_hardly_move_a_standardiser() -> None:
    rows = np.random.default_rng(0).standard_normal(2000)
    odd = np.concatenate([rows, np.full(105, 50.0)])  # 5%
    clean, contaminated = (Standardiser.of(each, CONFIG.least_std) for each in (rows, odd))
    assert contaminated.mean == pytest.approx(clean.mean, abs=0.15)
    assert contaminated.std == pytest.approx(clean.std, rel=0.4)
