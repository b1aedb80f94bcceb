"""The matrix profile against distances computed one by one."""

from importlib.util import find_spec

import numpy as np
import pytest

from caps.baselines import METHODS
from caps.metrics import acf_window

# Not by importing it: every process that collects tests would pay seconds.
pytestmark = pytest.mark.skipif(
    find_spec("stumpy") is None, reason="the matrix profile needs the extra `bench`"
)


def wave(rows: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, None] + np.arange(channels)
    return np.sin(2 * np.pi * time / 12) + 0.1 * rng.standard_normal((rows, channels))


def normalised(values: np.ndarray, size: int) -> np.ndarray:
    rows = np.lib.stride_tricks.sliding_window_view(values, size)
    return (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)


def nearest(values: np.ndarray, known: np.ndarray, size: int) -> np.ndarray:
    ours, theirs = normalised(values, size), normalised(known, size)
    return np.sqrt(((ours[:, None] - theirs[None]) ** 2).sum(axis=2)).min(axis=1)


def test_scores_are_distances_to_the_nearest_training_subsequence() -> None:
    train, series = wave(120), wave(90, seed=1)
    size = acf_window(train)
    expected = nearest(series[:, 0], train[:, 0], size)
    scores = METHODS["matrix-profile"](0).fit(train).score(series)
    assert np.allclose(scores[size // 2 : size // 2 + len(expected)], expected, atol=1e-5)
    assert scores.shape == (90,)


def test_the_profile_over_several_windows_is_their_mean_in_units_of_their_length() -> None:
    train, series = wave(150), wave(200, seed=1)
    expected = []
    for size in (16, 32, 64):  # the longer ones are more than half of training
        distance = nearest(series[:, 0], train[:, 0], size) / np.sqrt(2 * size)
        expected.append(np.pad(distance, (size // 2, (size - 1) // 2), mode="edge"))
    scores = METHODS["multi-window-profile"](0).fit(train).score(series)
    assert np.allclose(scores, np.mean(expected, axis=0), atol=1e-5)


@pytest.mark.parametrize("name", ["matrix-profile", "matrix-profile-tsb", "multi-window-profile"])
@pytest.mark.parametrize("channels", [1, 2])
def test_an_odd_shape_stands_out_and_odd_input_is_survived(name: str, channels: int) -> None:
    series = wave(300, channels, seed=1)
    series[150:162] = series[150:162][::-1] ** 3
    scores = METHODS[name](0).fit(wave(200, channels)).score(series)
    assert scores[145:165].max() > np.quantile(np.delete(scores, np.r_[130:180]), 0.95)
    constant = np.ones((60, channels))
    for train, short in ((wave(5, channels), wave(3, channels)), (constant, wave(40, channels))):
        short = METHODS[name](0).fit(train).score(short)
        assert np.isfinite(short).all()
