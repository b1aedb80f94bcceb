"""What is measured of rows, on numbers that can be checked by hand."""

import numpy as np
import pytest

from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import NEW, ScoringContext
from caps.scoring.measures import Bank, Measuring, Part, of_rows, quietness

ROWS = np.random.default_rng(0).standard_normal(200)


def test_a_row_is_as_new_as_the_subsequences_that_hold_it_on_average() -> None:
    measured = of_rows(np.array([0.0, 3.0, 6.0, 9.0]), np.arange(4), 3, 6, sided=False)
    np.testing.assert_allclose(measured, [0, 1.5, 3, 6, 7.5, 9])


def test_a_subsequence_stands_for_those_that_begin_before_the_next_one() -> None:
    measured = of_rows(np.array([1.0, 3.0]), np.array([0, 2]), 3, 6, sided=False)
    np.testing.assert_allclose(measured, [1, 1, 5 / 3, 7 / 3, 3, 3])


def test_of_long_subsequences_the_side_counts_that_is_less_new() -> None:
    measured = of_rows(np.array([0.0, 4.0, 8.0, 2.0]), np.arange(4), 4, 7, sided=True)
    np.testing.assert_allclose(measured, [0, 0, 0, 2, 5, 2, 2])


def test_how_quiet_a_row_is_does_not_depend_on_where_the_rows_begin() -> None:
    config = ModelConfig()
    bank = Bank.of(ROWS.astype(np.float32), 0, config.neighbours)
    rows, first = ROWS[:, None], 100

    def quiet(**asked: int) -> dict[Part, np.ndarray]:
        context = ScoringContext(rows, rows, True, NEW, config.scoring, **asked)
        return Measuring(bank, context, 0, config).quiet()

    whole = quiet()
    assert set(whole) == {Part("quiet", each) for each in config.scoring.quiet_rows}
    for part, each in quiet(first=first).items():
        np.testing.assert_array_equal(each, whole[part][first:])


def test_quietness_is_of_the_steps_of_the_last_rows() -> None:
    config = ScoringConfig(quiet_floor=1e-9, quiet_known=1.0)
    values = np.array([0.0, 1.0, 3.0, 3.0, 3.0, np.nan, 3.0])
    quiet = quietness(values, 2, config)
    steps = [5 / 2, 4 / 2]  # mean squares of 1 and 2, of 2 and 0
    np.testing.assert_allclose(quiet[2:4], -0.5 * np.log(steps))
    assert quiet[4] == pytest.approx(-np.log(config.quiet_floor))
    assert np.isnan(quiet[[0, 1, 5, 6]]).all()  # too few steps are known
