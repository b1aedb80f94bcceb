"""What was to be expected in the rows of an event, from what training did in such surroundings."""

import numpy as np
import pytest

from caps.neighbours import CounterpartConfig, counterpart_of, deviation, normal_counterpart

CONFIG = CounterpartConfig()
START, END = 300, 330


def beats(rows: int, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    phase = np.arange(rows) * 2 * np.pi / 40
    return np.sin(phase) + 0.3 * np.sin(3 * phase) + noise * rng.standard_normal(rows)


def test_rows_beside_an_event_may_belong_to_it() -> None:
    values, training = beats(700, seed=1), beats(1000)
    plain = counterpart_of(values, START, END, training)
    for row in (START - CONFIG.guard, END + CONFIG.guard - 1):
        touched = values.copy()
        touched[row] += 9
        other = counterpart_of(touched, START, END, training)
        np.testing.assert_array_equal(other.expected, plain.expected)
    for row in (START - CONFIG.guard - 1, END + CONFIG.guard):
        touched = values.copy()
        touched[row] += 9
        other = counterpart_of(touched, START, END, training)
        assert not np.allclose(other.expected, plain.expected)


def test_rows_beyond_the_margin_do_not_count_and_those_within_do() -> None:
    values, training = beats(700, seed=1), beats(1000)
    plain = normal_counterpart(values, START, END, training)
    far = values.copy()
    far[: START - CONFIG.margin] += 9
    far[END + CONFIG.margin :] -= 9
    np.testing.assert_array_equal(normal_counterpart(far, START, END, training), plain)


def test_the_counterpart_leads_from_the_level_before_to_the_level_after() -> None:
    training = beats(1000)
    values = beats(700, seed=1)
    values[END:] += 2
    lifted = normal_counterpart(values, START, END, training) - beats(700, noise=0)[START:END]
    assert lifted[:5].mean() < 1
    assert lifted[-5:].mean() > 1


def test_an_event_in_training_is_not_its_own_expectation() -> None:
    training = beats(1000)
    training[START:END] += 3
    expected = normal_counterpart(training, START, END, training)
    assert np.abs(expected - beats(1000, noise=0)[START:END]).max() < 0.5


def test_places_of_the_same_shape_count_more_than_those_of_the_same_level() -> None:
    other = np.sin(np.arange(500) * 2 * np.pi / 25)
    training = np.concatenate([beats(500, noise=0) + 2, other])
    values = beats(600, noise=0)
    expected = normal_counterpart(values, START, END, training)
    assert np.abs(expected - values[START:END]).max() < 0.3


def test_the_error_of_a_counterpart_is_that_beside_the_event() -> None:
    training = beats(1000)
    exact, noisy = beats(700, noise=0), beats(700, noise=0.5, seed=1)
    exact[START:END] += 3  # says nothing about how well its surroundings are known
    known, hardly = (counterpart_of(each, START, END, training).error for each in (exact, noisy))
    assert known is not None
    assert hardly is not None
    assert known < 0.1
    assert 0.3 < hardly < 0.8


def test_a_deviation_is_told_in_spreads_of_the_surroundings() -> None:
    values = beats(700, noise=0)
    around = np.r_[
        values[START - CONFIG.margin : START - CONFIG.guard],
        values[END + CONFIG.guard : END + CONFIG.margin],
    ]
    counterpart = values[START:END].copy()
    values[START:END] += 3
    away, spread = deviation(values, START, END, counterpart)
    assert spread == pytest.approx(around.std())
    np.testing.assert_allclose(away, 3 / around.std())


def test_without_comparable_training_the_counterpart_is_the_line_between_the_surroundings() -> None:
    values = np.arange(200.0)
    expected = normal_counterpart(values, 80, 120, np.full(500, np.nan))
    np.testing.assert_allclose(expected, np.arange(80.0, 120.0))
