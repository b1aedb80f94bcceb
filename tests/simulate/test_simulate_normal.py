"""Every generator gives finite, varied, scaled series of its own kind."""

import numpy as np
import pytest

from caps.errors import InputError
from caps.simulate import GENERATORS, simulate_normal
from caps.simulate.anomaly.operation import rhythm
from caps.simulate.normal.catalogue import CATALOGUE, draw_normal
from caps.simulate.normal.processes import mackey_glass


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("length", [512, 3000])
def test_series_are_scaled_and_never_degenerate(generator: str, length: int) -> None:
    series = simulate_normal(30, length, rng=np.random.default_rng(2), generator=generator)
    assert series.shape == (30, length)
    assert np.isfinite(series).all()
    assert np.allclose(series.mean(axis=1), 0, atol=1e-3)
    assert np.allclose(series.std(axis=1), 1, atol=1e-3)
    assert all(len(np.unique(row)) >= 2 for row in series)
    assert not np.allclose(series[0], series[1])


def test_weights_decide_how_often_a_generator_comes() -> None:
    assert sum(entry.weight for entry in CATALOGUE) == pytest.approx(1.0)
    _, generator = draw_normal(np.random.default_rng(0), 2000, 512)
    share = np.bincount(generator, minlength=16) / 2000
    assert np.allclose(share, [entry.weight for entry in CATALOGUE], atol=0.03)


@pytest.mark.parametrize(
    "generator", ["N1 harmonic season", "N4 power demand", "N5 beat train", "N6 waveform train"]
)
def test_the_named_period_is_the_period(generator: str) -> None:
    parts, _ = draw_normal(np.random.default_rng(4), 40, 2000, generator)
    found = rhythm(parts.signal, longest=450)
    # The autocorrelation may peak at a part of the period first; most rows must agree.
    assert np.median(np.abs(found / parts.period - 1)) < 0.1


def test_expected_spikes_stand_out_of_their_surroundings() -> None:
    parts, _ = draw_normal(np.random.default_rng(4), 40, 1500, "N5 beat train")
    higher = 0
    for row in range(40):
        spans = parts.features[row][parts.features[row, :, 0] >= 0]
        assert (spans[:, 1] > spans[:, 0]).all()
        inside = np.zeros(1500, dtype=bool)
        for start, stop in spans:
            inside[start:stop] = True
        higher += parts.signal[row, inside].std() > parts.signal[row, ~inside].std()
    assert higher >= 36


def test_counts_are_whole_numbers_not_below_zero() -> None:
    parts, _ = draw_normal(np.random.default_rng(4), 20, 800, "N13 intermittent counts")
    counts = (parts.series - parts.zero[:, None]) / parts.quantum[:, None]
    assert np.allclose(counts, np.round(counts), atol=1e-3)
    assert counts.min() > -1e-3
    assert (np.abs(counts) < 0.5).mean() > 0.2


def test_weekdays_are_five_and_weekends_two() -> None:
    parts, _ = draw_normal(np.random.default_rng(4), 20, 4000, "N4 power demand")
    assert 0.2 < (parts.day == 1).mean() < 0.37
    bumps = [parts.signal[row][parts.day[row] == 0].std() for row in range(20)]
    lower = [parts.signal[row][parts.day[row] == 1].std() for row in range(20)]
    assert np.mean(np.array(lower) < np.array(bumps)) == 1


def test_mackey_glass_follows_its_equation() -> None:
    """A finer, slow integration from the same history gives the same path for a while."""
    rng = np.random.default_rng(0)
    path = mackey_glass(rng, 1, 400)[0]
    assert 0.1 < path.min() < path.max() < 2.0
    # The draws are repeated to learn the parameters; x' is then compared by central differences.
    again = np.random.default_rng(0)
    delay, power, gain = again.uniform(16, 30), again.uniform(9, 11), again.uniform(0.2, 0.27)
    time = np.arange(60, 390)
    past = np.interp(time - delay, np.arange(400), path)
    slope = (path[time + 1] - path[time - 1]) / 2
    wanted = gain * past / (1 + past**power) - 0.1 * path[time]
    assert np.corrcoef(slope, wanted)[0, 1] > 0.995
    assert np.abs(slope - wanted).max() < 0.02


def test_chaos_does_not_repeat_and_is_smooth() -> None:
    series = mackey_glass(np.random.default_rng(3), 4, 3000)
    rough = np.abs(np.diff(series, 2)).mean(axis=1) / series.std(axis=1)
    assert rough.max() < 0.1


@pytest.mark.parametrize(
    ("count", "length", "generator"), [(0, 512, None), (3, 100, None), (3, 512, "N99 nothing")]
)
def test_impossible_requests_are_refused(count: int, length: int, generator: str | None) -> None:
    with pytest.raises(InputError):
        simulate_normal(count, length, rng=np.random.default_rng(0), generator=generator)
