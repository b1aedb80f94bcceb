"""Floors and the methods on scikit-learn: one finite score per row, higher where it is odd."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from caps.baselines import METHODS, Method
from caps.errors import InputError

FLOORS = ["random", "constant", "ones"]
LIGHT = [
    *("lof", "iforest", "sub-pca", "kmeansad", "sub-knn", "sub-lof"),
    *("lof-tsb", "iforest-tsb", "sub-pca-tsb", "kmeansad-tsb", "sub-knn-tsb", "sub-lof-tsb"),
    *("kmeansad-tab", "moving-variance", "squared-difference", "sensor-range", "l2-norm"),
    *("nearest-neighbour", "mmpad-tsb"),
]
PERIOD = 25


def wave(rows: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, None]
    phase = rng.uniform(0, 2 * np.pi, channels)
    return np.sin(2 * np.pi * time / PERIOD + phase) + 0.05 * rng.standard_normal((rows, channels))


def with_burst(series: np.ndarray, seed: int = 1) -> tuple[np.ndarray, slice]:
    """Noise far outside the range, so that methods of points and of shapes both see it."""
    odd = series.copy()
    where = slice(len(series) // 2, len(series) // 2 + PERIOD)
    odd[where] += 4 * np.random.default_rng(seed).standard_normal((PERIOD, series.shape[1]))
    return odd, where


@pytest.mark.parametrize("name", [*FLOORS, *LIGHT])
def test_every_method_has_the_protocol_and_scores_every_row(name: str) -> None:
    method = METHODS[name](0)
    assert isinstance(method, Method)
    scores = method.fit(wave(300)).score(wave(170, seed=2))
    assert scores.shape == (170,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", LIGHT)
def test_a_burst_scores_above_the_rest(name: str, channels: int) -> None:
    rows = 2400 if name == "mmpad-tsb" else 600  # room for 15 neighbours that lie apart
    series, where = with_burst(wave(rows, channels, seed=2))
    scores = METHODS[name](0).fit(wave(400, channels)).score(series)
    inside = np.median(scores[where])
    outside = np.delete(scores, np.r_[where.start - 2 * PERIOD : where.stop + 2 * PERIOD])
    # Methods that z-score every row across channels, as TSB-AD does, see little of it.
    quantile = 0.5 if channels > 1 and name.endswith("-tsb") else 0.9
    assert inside > np.quantile(outside, quantile)


@pytest.mark.parametrize("name", LIGHT)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    series = wave(200, seed=3)
    first, second = (METHODS[name](4).fit(wave(200)).score(series) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize(
    ("train", "series"),
    [
        (wave(300), wave(5)),
        (wave(12), wave(300)),
        (wave(1), wave(1)),
        (np.full((60, 1), 3.0), wave(60)),
        (wave(60), np.full((60, 1), 3.0)),
        (np.full((60, 2), np.nan), wave(60, 2)),
    ],
    ids=["short-series", "short-train", "one-row", "constant-train", "constant-series", "unseen"],
)
def test_odd_sizes_and_constants_still_get_finite_scores(
    name: str, train: np.ndarray, series: np.ndarray
) -> None:
    scores = METHODS[name](0).fit(train).score(series)
    assert scores.shape == (len(series),)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", LIGHT)
def test_gaps_are_bridged(name: str) -> None:
    train, series = wave(200), wave(200, seed=2)
    train[50:53] = series[120:124] = np.nan
    assert np.isfinite(METHODS[name](0).fit(train).score(series)).all()


@pytest.mark.parametrize("name", ["lof", "sub-pca", "sub-knn", "kmeansad", "iforest", "l2-norm"])
def test_fair_methods_learn_nothing_from_the_scored_series(name: str) -> None:
    method = METHODS[name](0).fit(wave(300))
    series, _ = with_burst(wave(300, seed=2))
    whole = method.score(series)
    assert np.array_equal(whole, method.score(series))
    # Far from the cut, a part has the scores it has in the whole.
    assert np.allclose(method.score(series[:120])[:60], whole[:60])


def test_methods_of_the_whole_series_ignore_the_training_part() -> None:
    series, _ = with_burst(wave(300, seed=2))
    scores = [METHODS["lof-tsb"](0).fit(train).score(series) for train in (wave(50), series)]
    assert np.array_equal(*scores)


def test_floors_know_nothing() -> None:
    score = partial(np.unique, axis=0)
    assert score(METHODS["constant"](0).fit(wave(9)).score(wave(9))).tolist() == [0.0]
    assert score(METHODS["ones"](0).fit(wave(9)).score(wave(9))).tolist() == [1.0]
    random = [METHODS["random"](seed).fit(wave(9)).score(wave(9)) for seed in (0, 0, 1)]
    assert np.array_equal(random[0], random[1])
    assert not np.array_equal(random[0], random[2])


@pytest.mark.parametrize("name", ["random", "lof", "sub-pca-tsb"])
@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((0, 1)), np.zeros((5, 0))])
def test_wrong_shapes_are_refused(name: str, bad: np.ndarray) -> None:
    with pytest.raises(InputError, match="give"):
        METHODS[name](0).fit(bad)


def test_other_channels_and_a_missing_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 channels for a method fitted on 1"):
        METHODS["lof"](0).fit(wave(50)).score(wave(50, 2))
    with pytest.raises(InputError, match="call fit first"):
        METHODS["lof"](0).score(wave(50))


def test_light_methods_do_not_wait_for_torch() -> None:
    program = (
        "import sys, numpy; from caps.bench.methods import make_method; wave = numpy.sin("
        "numpy.arange(90.0))[:, None];"
        f"[make_method(name, 0).fit(wave).score(wave) for name in {[*FLOORS, *LIGHT]}];"
        "print('torch' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False"
