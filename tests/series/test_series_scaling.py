"""Scaling: fitted on the training part, robust against every magnitude."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps.errors import ArtifactError, InputError
from caps.series import Scaler, read

MAGNITUDES = [1e-300, 1e-9, 1.0, 1e9, 1e300]


def column(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[:, None]


def test_the_training_part_gets_mean_zero_and_scale_one() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(5, 2, 400), rng.normal(-100, 0.1, 400)])
    scaled = Scaler.fit(values, clip=None).transform(values)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-9)


def test_the_scored_part_has_no_influence() -> None:
    train = [1.0, 2.0, 3.0, 4.0]
    calm, wild = (read([*train, *rest]).split(4)[0] for rest in ([2.0], [1e9]))
    assert Scaler.fit(calm).to_dict() == Scaler.fit(wild).to_dict()


def test_unobserved_values_are_ignored_and_stay_missing() -> None:
    scaler = Scaler.fit(column([1.0, np.nan, 3.0]))
    assert scaler.centre.tolist() == [2.0]
    assert np.isnan(scaler.transform(column([np.nan, 3.0]))[:, 0]).tolist() == [True, False]


@pytest.mark.parametrize("magnitude", MAGNITUDES)
def test_every_magnitude_gives_the_same_scores(magnitude: float) -> None:
    values = column([0.1, 0.4, -0.3, 0.9, -1.0])
    expected = Scaler.fit(values).transform(values)
    scaled = Scaler.fit(values * magnitude).transform(values * magnitude)
    np.testing.assert_allclose(scaled, expected, rtol=1e-9)


def test_the_largest_floats_do_not_overflow() -> None:
    largest = np.finfo(np.float64).max
    values = column([largest, -largest, largest, -largest])
    scaler = Scaler.fit(values)
    assert scaler.transform(values)[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0]
    np.testing.assert_array_equal(scaler.inverse(scaler.transform(values)), values)


@pytest.mark.parametrize("constant", [0.0, 3.0, -1e300, 1e-300, 0.1])
def test_a_constant_part_is_only_centred(constant: float) -> None:
    scaler = Scaler.fit(column([constant] * 7))
    assert scaler.centre.tolist() == [constant]
    assert scaler.scale.tolist() == [1.0]
    assert scaler.transform(column([constant])).tolist() == [[0.0]]


def test_rounding_noise_around_a_constant_is_not_blown_up() -> None:
    values = column([1e9, np.nextafter(1e9, 2e9), 1e9, 1e9])
    assert Scaler.fit(values).scale.tolist() == [1.0]


def test_one_extreme_value_among_millions_sets_a_floor_under_the_scale() -> None:
    values = column(np.r_[np.zeros(2_000_000), 1.0])
    assert values.std() < 1e-3
    assert Scaler.fit(values).scale.tolist() == [1e-3]


def test_a_channel_without_any_value_is_left_alone() -> None:
    scaler = Scaler.fit(np.array([[np.nan, 1.0], [np.nan, 3.0]]))
    assert (scaler.centre[0], scaler.scale[0]) == (0.0, 1.0)


def test_scores_are_clipped_at_ten_standard_deviations_unless_told_otherwise() -> None:
    train = column([-1.0, 1.0])
    assert Scaler.fit(train).transform(column([1e6, -1e6]))[:, 0].tolist() == [10.0, -10.0]
    assert Scaler.fit(train, clip=None).transform(column([1e6])).tolist() == [[1e6]]


def test_without_a_clip_the_result_stays_finite() -> None:
    scaler = Scaler.fit(column([-1e-300, 1e-300]), clip=None)
    assert np.isfinite(scaler.transform(column([1e300]))).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_inverse_undoes_transform(values: list[float]) -> None:
    data = column(values)
    scaler = Scaler.fit(data, clip=None)
    back = scaler.inverse(scaler.transform(data))
    np.testing.assert_allclose(back, data, rtol=1e-9, atol=1e-9 * (1 + np.abs(data).max()))


def test_windows_are_scaled_along_their_last_axis() -> None:
    scaler = Scaler.fit(np.array([[0.0, 10.0], [2.0, 30.0]]))
    windows = np.array([[[1.0, 20.0], [2.0, 30.0]]])
    assert scaler.transform(windows).tolist() == [[[0.0, 0.0], [1.0, 1.0]]]


@pytest.mark.parametrize("clip", [10.0, None])
def test_json_round_trip_is_exact(clip: float | None) -> None:
    scaler = Scaler.fit(column([0.1, 0.2, 1e300, 1e-300]), clip=clip)
    back = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    assert back.to_dict() == scaler.to_dict()


@pytest.mark.parametrize(
    "facts",
    [
        {"centre": [0.0], "scale": [1.0]},
        {"centre": [0.0], "scale": [1.0], "clip": None, "extra": 1},
        {"centre": ["a"], "scale": [1.0], "clip": None},
        {"centre": [0.0], "scale": [0.0], "clip": None},
        {"centre": [0.0, 1.0], "scale": [1.0], "clip": None},
        {"centre": [0.0], "scale": [1.0], "clip": -1.0},
        {"centre": None, "scale": None, "clip": None},
    ],
)
def test_a_foreign_or_edited_description_is_refused(facts: dict) -> None:
    with pytest.raises(ArtifactError, match="write it again"):
        Scaler.from_dict(facts)


def test_other_channels_than_fitted_are_refused() -> None:
    scaler = Scaler.fit(column([1.0, 2.0]))
    with pytest.raises(InputError, match="1 channels"):
        scaler.transform(np.ones((3, 2)))
    with pytest.raises(InputError, match="time, channel"):
        Scaler.fit(np.ones(3))
