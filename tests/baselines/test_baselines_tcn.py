"""The TCN references: CAPS's windows and backbone under other objectives."""

from collections.abc import Callable

import numpy as np
import pytest

from caps.baselines import METHODS, LabelledMethod, Method
from caps.baselines.labelled import TcnInjection, TcnSupervised, Treatment
from caps.baselines.regression import TcnAutoencoder, TcnForecast
from caps.errors import InputError
from caps.network.config import DetectorConfig
from caps.recover import perturbed_pairs, reference_windows
from caps.recover.injection import PERTURBATIONS, Site, outlier

SMALL = DetectorConfig(window=64, width=16, dilations=(1, 2, 4), steps=60, members=1, stride=16)
TREATMENTS: list[Treatment] = ["plain", "weighted", "balanced", "focal"]
Make = Callable[[], Method]
UNLABELLED: dict[str, Make] = {
    "ae": lambda: TcnAutoencoder(0, SMALL),
    "forecast": lambda: TcnForecast(0, SMALL),
    "injection": lambda: TcnInjection(0, SMALL),
}


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caps.baselines.regression.STEPS", SMALL.steps)
    monkeypatch.setattr("caps.baselines.labelled.PAIRS", 200)


def wave(rows: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, None] + 5 * np.arange(channels)
    return np.sin(2 * np.pi * time / 16) + 0.05 * rng.standard_normal((rows, channels))


def labelled(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A wave in which one in seven segments of 8 rows is far too high."""
    series, labels = wave(rows, seed=seed), np.zeros(rows, dtype=bool)
    for start in range(30, rows - 8, 56):
        labels[start : start + 8] = True
    series[labels] += 3
    return series, labels


@pytest.mark.parametrize("name", UNLABELLED)
def test_an_odd_segment_scores_above_the_rest(name: str) -> None:
    series = wave(300, seed=1)
    series[150:162] = 2.5
    scores = UNLABELLED[name]().fit(wave(400)).score(series)
    assert scores.shape == (300,)
    assert np.isfinite(scores).all()
    assert scores[150:162].mean() > np.quantile(np.delete(scores, np.r_[120:190]), 0.95)


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_labels_teach_what_is_anomalous(treatment: Treatment) -> None:
    method = TcnSupervised(0, treatment, SMALL)
    assert isinstance(method, LabelledMethod)
    series, labels = labelled(300, seed=1)
    scores = method.fit_labelled(*labelled(500)).score(series)
    assert scores[labels].mean() > np.quantile(scores[~labels], 0.9)


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_labels_without_anomalies_are_learned_as_they_are(treatment: Treatment) -> None:
    method = TcnSupervised(0, treatment, SMALL).fit_labelled(wave(200), np.zeros(200, dtype=bool))
    assert np.isfinite(method.score(wave(100))).all()


def test_the_largest_score_of_any_channel_counts() -> None:
    train, series = wave(300, 2), wave(200, 2, seed=1)
    series[100:110, 1] = 3.0
    both = TcnInjection(0, SMALL).fit(train)
    first = TcnInjection(0, SMALL).fit(train[:, :1]).score(series[:, :1])
    assert (both.score(series) >= first - 1e-5).all()
    assert (both.score(series)[100:110] > first[100:110]).any()


@pytest.mark.parametrize("name", UNLABELLED)
def test_short_and_broken_series_get_finite_scores(name: str) -> None:
    train = wave(40, 3)
    train[:, 1], train[:, 2] = 5.0, np.nan
    train[10:14] = np.nan
    method = UNLABELLED[name]().fit(train)
    for rows in (1, 3, 70):
        series = wave(rows, 3, seed=1)
        series[rows // 2 :, 0] = np.nan
        scores = method.score(series)
        assert scores.shape == (rows,)
        assert np.isfinite(scores).all()
    constant = UNLABELLED[name]().fit(np.full((80, 1), 2.0))
    assert (constant.score(wave(50)) == 0).all()


@pytest.mark.parametrize("name", UNLABELLED)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    first, second = (UNLABELLED[name]().fit(wave(150)).score(wave(90, seed=1)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_forecast_does_not_see_what_it_is_compared_with() -> None:
    method = TcnForecast(0, SMALL).fit(wave(300))
    series = wave(200, seed=1)
    changed = series.copy()
    changed[120:] += 5
    assert np.allclose(method.score(series)[64:120], method.score(changed)[64:120])


def test_supervised_methods_ask_for_labels() -> None:
    for name in ("", "-weighted", "-balanced", "-focal"):
        method = METHODS[f"tcn-supervised{name}"](0)
        assert isinstance(method, LabelledMethod)
        with pytest.raises(InputError, match="fit_labelled"):
            method.fit(wave(100))
        with pytest.raises(InputError, match="one for each row"):
            method.fit_labelled(wave(100), np.zeros(99, dtype=bool))
        with pytest.raises(InputError, match="neither 0 nor 1"):
            method.fit_labelled(wave(100), np.full(100, 2))


def test_perturbations_change_only_their_support() -> None:
    rng = np.random.default_rng(0)
    pairs = perturbed_pairs(reference_windows(wave(400)[:, 0], rng=rng), 200, seed=3)
    changed = pairs.residual != 0
    assert not (changed & ~pairs.support).any()
    assert changed.any(axis=1).mean() > 0.99
    assert pairs.support.any(axis=1).all()
    assert (pairs.support.sum(axis=1) <= 100).all()


@pytest.mark.parametrize("rule", PERTURBATIONS, ids=lambda rule: rule.__name__)
def test_every_perturbation_keeps_the_length_and_stays_finite(rule: Callable[..., object]) -> None:
    window = wave(256)[:, 0]
    for flat in (window, np.zeros(256)):
        new = np.asarray(rule(Site(flat, 40, 90, flat[None]), np.random.default_rng(1)))
        assert new.shape == (50,)
        assert np.isfinite(new).all()
    if rule is outlier:
        assert 1 <= (new != 0).sum() <= 3
