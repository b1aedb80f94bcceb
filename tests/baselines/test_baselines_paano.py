"""PaAno and PAI's amplitudes: what they see, what they do not, and their definitions."""

import numpy as np
import pytest

from caps.baselines import METHODS, Method
from caps.baselines.paano import PaAno, PatchConfig
from caps.baselines.patch_bank import FEWEST, PatchBank, amplitude, local_amplitude
from caps.errors import InputError
from oracles import baselines as oracle

TINY = PatchConfig(patch=16, widths=(8, 8), kernels=(5, 3), projection=8, steps=20, batch=64)


def wave(rows: int, seed: int = 0, channels: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turns = np.arange(rows)[:, None] * 2 * np.pi / 20 + np.arange(channels)
    return np.sin(turns) + 0.02 * rng.standard_normal((rows, channels))


def fitted(kind: str, train: np.ndarray, seed: int = 0) -> PaAno:
    return PaAno(seed, kind, config=TINY).fit(train)


@pytest.mark.parametrize("kind", ["", "pai"])
@pytest.mark.parametrize("channels", [1, 3])
def test_an_odd_shape_has_the_highest_score(kind: str, channels: int) -> None:
    series = wave(400, 1, channels)
    series[200:216] = np.where(np.arange(16) % 4 < 2, 1.0, -1.0)[:, None]
    found = fitted(kind, wave(300, 0, channels)).score(series)
    assert found.shape == (400,)
    assert np.isfinite(found).all()
    assert 190 <= found.argmax() < 226


def test_patches_know_no_level_and_pai_tells_it() -> None:
    train, shifted = wave(300), wave(200, 1)
    shifted[100:] += 50
    plain = fitted("", train).score(shifted)
    # Away from the step, which is a shape of its own, a patch is seen without its level.
    np.testing.assert_allclose(plain[150:], fitted("", train).score(shifted - 50)[150:], atol=1e-3)
    told = fitted("pai", train).score(shifted)
    assert told[150:].min() > 5 * told[:60].max()


@pytest.mark.parametrize("kind", ["", "pai"])
def test_the_seed_decides_the_scores(kind: str) -> None:
    train, series = wave(200), wave(150, 1)
    first, again, other = (fitted(kind, train, seed).score(series) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_a_series_shorter_than_a_patch_has_scores() -> None:
    found = fitted("pai", wave(9)).score(wave(5, 1))
    assert found.shape == (5,)
    assert np.isfinite(found).all()


def test_both_are_methods_of_the_board() -> None:
    for name in ("paano", "paano-pai"):
        method = METHODS[name](0)
        assert isinstance(method, Method)
        with pytest.raises(InputError, match="call fit first"):
            method.score(wave(10))
    assert METHODS["paano-pai"](0).amplitude is True  # type: ignore[attr-defined]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_distance_is_the_mean_of_the_three_nearest(metric: str) -> None:
    rng = np.random.default_rng(0)
    known, asked = rng.normal(size=(40, 5)), rng.normal(size=(7, 5))
    bank = PatchBank.fill(known, metric, seed=0)  # type: ignore[arg-type]
    expected = oracle.three_nearest(known, asked, metric)
    np.testing.assert_allclose(bank.distance(asked), expected, atol=1e-9)


def test_a_bank_is_a_tenth_of_the_patches_and_not_too_small() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(800, 3)), rng.normal(size=(6000, 3))
    assert len(PatchBank.fill(few, "cosine", 0).members) == FEWEST
    assert len(PatchBank.fill(many, "euclidean", 0).members) == 600
    unit = PatchBank.fill(few, "cosine", 0).members
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)


@pytest.mark.parametrize("channels", [1, 3])
def test_amplitudes_are_those_of_the_definition(channels: int) -> None:
    train, series = wave(101, 0, channels) * 3 + 2, wave(60, 1, channels) * 5
    expected = oracle.amplitude(train, series, around=0)
    np.testing.assert_allclose(amplitude(series, train), expected)
    expected = oracle.amplitude(train, series, around=4)
    np.testing.assert_allclose(local_amplitude(series, train, 4), expected)


def test_a_channel_that_is_mostly_equal_is_measured_by_its_std() -> None:
    train = np.zeros((10, 1))
    train[0] = 10.0
    assert amplitude(np.array([[3.0]]), train)[0] == pytest.approx(1.0)
    assert amplitude(np.array([[3.0]]), np.zeros((10, 1)))[0] == pytest.approx(3.0)
