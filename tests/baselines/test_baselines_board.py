"""The methods that every board should have, against their definitions."""

import numpy as np
import pytest

from caps.baselines import METHODS
from caps.baselines.mmpad import nearest_correlation
from caps.baselines.simple_choice import contrast
from caps.metrics import acf_window
from oracles import baselines as oracle

CHANNELS = pytest.mark.parametrize("channels", [1, 3])


def walk(rows: int, channels: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(rows) * 2 * np.pi / 20)[:, None]
    return (
        3 * wave + rng.standard_normal((rows, channels)).cumsum(axis=0) * [0.2, 5, 0.01][:channels]
    )


def scores(name: str, train: np.ndarray, series: np.ndarray) -> np.ndarray:
    return METHODS[name](0).fit(train).score(series)


@CHANNELS
@pytest.mark.parametrize("rows", [60, 7])
def test_moving_variance_is_that_of_the_window_around_a_row(channels: int, rows: int) -> None:
    train, series = walk(120, channels, 0), walk(rows, channels, 1)
    expected = oracle.moving_variance(train, series, acf_window(train))
    np.testing.assert_allclose(scores("moving-variance", train, series), expected)


def test_a_huge_value_leaves_no_variance_where_it_is_not() -> None:
    series = np.ones((600, 1))
    series[100] = 1e12
    found = scores("moving-variance", walk(120, 1, 0), series)
    assert found[300:].max() < 1e-20


@CHANNELS
def test_squared_difference_is_the_step_from_the_row_before(channels: int) -> None:
    train, series = walk(50, channels, 0), walk(40, channels, 1)
    expected = oracle.squared_difference(train, series)
    np.testing.assert_allclose(scores("squared-difference", train, series), expected)


@CHANNELS
def test_sensor_range_marks_what_training_never_reached(channels: int) -> None:
    train, series = walk(50, channels, 0), walk(90, channels, 1)
    expected = oracle.sensor_range(train, series)
    assert 0 < expected.sum() < 90
    np.testing.assert_array_equal(scores("sensor-range", train, series), expected)
    assert not scores("sensor-range", train, train).any()


def test_a_channel_that_never_moved_has_no_range() -> None:
    constant = np.full((30, 1), 2.0)
    series = np.array([[2.0], [2.5], [1.9], [2.0]])
    np.testing.assert_array_equal(scores("sensor-range", constant, series), [0, 1, 1, 0])


@CHANNELS
def test_l2_norm_and_nearest_neighbour_look_at_five_rows_or_at_one(channels: int) -> None:
    train, series = walk(60, channels, 0), walk(50, channels, 1)
    known, rows = oracle.recent_rows(train, series, 5 if channels == 1 else 1)
    np.testing.assert_allclose(scores("l2-norm", train, series), np.sqrt((rows**2).sum(axis=1)))
    nearest = [min(np.linalg.norm(row - each) for each in known) for row in rows]
    np.testing.assert_allclose(scores("nearest-neighbour", train, series), nearest, atol=1e-9)
    assert np.allclose(scores("nearest-neighbour", train, train), 0)


@CHANNELS
def test_kmeansad_as_in_tab_is_the_distance_to_the_centres_of_training(channels: int) -> None:
    train, series = walk(260, channels, 0), walk(150, channels, 1)
    expected = oracle.kmeans_tab(train, series, size=100, clusters=20)
    np.testing.assert_allclose(scores("kmeansad-tab", train, series), expected, rtol=1e-6)


@pytest.mark.parametrize(("channels", "place"), [(1, 0), (3, 2)])
def test_mmpad_correlates_with_the_kth_neighbour_that_lies_apart(channels: int, place: int) -> None:
    series = walk(70, channels, 0)
    series[30:45] = series[30]  # flat subsequences correlate with none
    expected = oracle.kth_correlation(series, 10, 4, place)
    found = nearest_correlation(series, 10, 4)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_mmpad_finds_an_anomaly_that_occurs_twice() -> None:
    """Each is the other's nearest neighbour, so the plain profile has both for usual."""
    rng = np.random.default_rng(0)
    series = np.sin(np.arange(1500) * 2 * np.pi / 50)[:, None]
    series += 0.05 * rng.standard_normal(series.shape)
    for start in (500, 1000):
        series[start : start + 40] = np.linspace(-1, 1, 40)[:, None] ** 3
    found = scores("mmpad-tsb", series[:400], series)
    assert found.min() >= 0
    assert found.max() <= 1
    assert {500 <= row < 540 or 1000 <= row < 1040 for row in np.argsort(found)[-20:]} == {True}


def choice_on(series: np.ndarray) -> tuple[str, np.ndarray]:
    method = METHODS["simple-choice"](0).fit(series[:300])
    found = method.score(series)
    return str(method.chosen), found  # type: ignore[attr-defined]


def test_the_choice_is_the_score_that_the_anomaly_stands_out_of() -> None:
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(1200) * 2 * np.pi / 40)[:, None]
    wave += 0.02 * rng.standard_normal(wave.shape)
    spike, shape, level = wave.copy(), wave.copy(), walk(1200, 1, 3) * 0.05
    spike[700] += 9
    shape[700:740] = np.sin(np.arange(40) * 2 * np.pi / 10)[:, None] * 0.7
    level[600:1000] += 4 * np.hanning(400)[:, None]
    chosen, found = choice_on(spike)
    assert (chosen, int(found.argmax()) in (700, 701)) == ("step", True)
    chosen, found = choice_on(shape)
    assert (chosen, 690 <= found.argmax() < 750) == ("shape", True)
    chosen, found = choice_on(level)
    assert chosen == "level"
    np.testing.assert_array_equal(found, scores("sub-pca-tsb", level[:300], level))


def test_scores_that_are_all_equal_have_no_contrast() -> None:
    assert contrast(np.ones(5), 0.9) == 0
    assert contrast(np.array([1.0, 1, 1, 1, 3]), 0.5) == 1


def test_the_training_part_decides_the_scale_of_what_learns_from_it() -> None:
    train, series = walk(200, 1, 0), walk(100, 1, 1)
    for name in ("kmeansad-tab", "l2-norm", "nearest-neighbour", "squared-difference"):
        once, scaled = scores(name, train, series), scores(name, 1000 * train, 1000 * series)
        np.testing.assert_allclose(scaled, once, rtol=1e-6, atol=1e-9)
