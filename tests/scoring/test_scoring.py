"""Scores: equal to their definition, however the series is cut, and finite where observed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from caps.errors import InputError
from caps.network.detector import Detector, score_logits, score_series
from caps.network.learning import train_detector
from caps.series import Scaler
from oracles.scoring import naive_bridge, naive_logits
from oracles.windows import reflected
from small_detector import SMALL, WINDOW, wave

LENGTHS = [1, 2, 30, WINDOW - 1, WINDOW, WINDOW + 1, 200, 333]


def gappy(rng: np.random.Generator, length: int, share: float) -> np.ndarray:
    values = wave(rng, length)
    values[rng.random(length) < share] = np.nan
    return values


def one_window(detector: Detector, window: np.ndarray) -> np.ndarray:
    return detector(torch.from_numpy(window[None].astype(np.float32)))[0].double().numpy()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_logits_equal_their_definition(detector: Detector, length: int, share: float) -> None:
    values = gappy(np.random.default_rng(length), length, share)
    expected = naive_logits(
        lambda window: one_window(detector, window), values, WINDOW, SMALL.stride
    )
    np.testing.assert_allclose(score_logits(detector, values), expected, rtol=1e-4, atol=1e-4)


def test_a_long_gap_keeps_the_windows_around_it_as_defined(detector: Detector) -> None:
    values = wave(np.random.default_rng(0), 400)
    values[100:250] = np.nan
    values[170] = 0.5  # alone in the gap: only windows that saw almost nothing cover it
    expected = naive_logits(
        lambda window: one_window(detector, window), values, WINDOW, SMALL.stride
    )
    np.testing.assert_allclose(score_logits(detector, values), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("chunk", "group"), [(1, 1), (50, 3), (150, 1024)])
def test_a_series_in_chunks_scores_as_a_whole(
    detector: Detector, chunk: int, group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = gappy(np.random.default_rng(chunk), 400, 0.1)
    whole = score_logits(detector, values)
    monkeypatch.setattr("caps.network.windowed.CHUNK", chunk)
    monkeypatch.setattr("caps.network.windowed.GROUP", group)
    np.testing.assert_allclose(score_logits(detector, values), whole, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_causal_scores_equal_feeding_one_point_at_a_time(detector: Detector, share: float) -> None:
    values = gappy(np.random.default_rng(3), 150, share)
    whole = score_series(detector, values, causal=True)
    fed = [score_series(detector, values[: row + 1], causal=True)[-1] for row in range(150)]
    np.testing.assert_allclose(whole, fed, rtol=0, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_causal_logits_equal_their_definition(detector: Detector, share: float) -> None:
    """The last place of the window that ends at a row; a short one is filled by reflection."""
    values = gappy(np.random.default_rng(4), 150, share)
    logits = score_logits(detector, values, causal=True)
    for row in (0, 1, 30, WINDOW - 2, WINDOW - 1, WINDOW, 100, 149):
        places = range(row - WINDOW + 1, row + 1)
        window = np.array([values[reflected(place, row + 1)] for place in places])
        expected = one_window(detector, naive_bridge(window))[-1]
        wanted = expected if np.isfinite(values[row]) else np.nan
        np.testing.assert_allclose(logits[row], wanted, rtol=1e-4, atol=1e-4)


def test_causal_scores_do_not_know_the_future(detector: Detector) -> None:
    values = wave(np.random.default_rng(3), 150)
    changed = values.copy()
    changed[100:] += 5
    before, after = (score_series(detector, x, causal=True) for x in (values, changed))
    np.testing.assert_allclose(before[:100], after[:100], rtol=0, atol=1e-6)
    assert np.abs(before[100:] - after[100:]).max() > 0.1
    both = [score_series(detector, x)[:100] for x in (values, changed)]
    assert np.abs(both[0] - both[1]).max() > 0.01  # without `causal` they do


def test_an_anomaly_scores_higher_than_the_rest(detector: Detector) -> None:
    values = wave(np.random.default_rng(9), 500)
    values[240:256] += 1.5
    for causal in (False, True):
        logits = score_logits(detector, values, causal=causal)
        inside, outside = logits[242:256].mean(), np.r_[logits[:224], logits[272:]].mean()
        assert inside > outside + 2


@settings(max_examples=60)
@given(
    length=st.integers(1, 300),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    exponent=st.integers(-12, 12),
    constant=st.booleans(),
    causal=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_scores_are_finite_exactly_where_observed(
    detector: Detector,
    length: int,
    share: float,
    exponent: int,
    constant: bool,
    causal: bool,
    seed: int,
) -> None:
    values = gappy(np.random.default_rng(seed), length, share) * 10.0**exponent
    if constant:
        values = np.where(np.isnan(values), np.nan, 10.0**exponent)
    scores = score_series(detector, values, causal=causal)
    assert scores.shape == values.shape
    np.testing.assert_array_equal(np.isfinite(scores), np.isfinite(values))
    assert (scores[np.isfinite(scores)] >= 0).all()
    assert (scores[np.isfinite(scores)] <= 1).all()


@pytest.mark.parametrize("exponent", [-12, 12])
def test_scores_of_a_scaled_series_do_not_depend_on_its_unit(
    detector: Detector, exponent: int
) -> None:
    values = wave(np.random.default_rng(1), 300)[:, None]

    def scored(x: np.ndarray) -> np.ndarray:
        return score_series(detector, Scaler.fit(x).transform(x)[:, 0])

    np.testing.assert_allclose(scored(values * 10.0**exponent), scored(values), atol=1e-5)


def test_values_near_the_end_of_float64_are_scored(detector: Detector) -> None:
    values = np.where(np.arange(100) % 2, 1e308, -1e308)
    values[40:50] = np.nan
    assert np.isfinite(score_series(detector, values)[:40]).all()


def test_the_same_seed_gives_the_same_scores(pairs, detector: Detector) -> None:  # type: ignore[no-untyped-def]
    values = wave(np.random.default_rng(1), 300)
    again = train_detector(pairs, SMALL, seed=1)
    np.testing.assert_array_equal(score_series(again, values), score_series(detector, values))
    other = train_detector(pairs, replace(SMALL, steps=2), seed=2)
    assert not np.array_equal(score_series(other, values), score_series(detector, values))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.zeros((5, 2)), "one channel at a time"),
        (np.array([1.0, np.inf]), "infinite"),
        (np.zeros(0), "empty"),
    ],
)
@pytest.mark.parametrize("causal", [False, True])
def test_values_that_cannot_be_scored_are_refused(
    detector: Detector, values: np.ndarray, problem: str, causal: bool
) -> None:
    with pytest.raises(InputError, match=problem):
        score_series(detector, values, causal=causal)
