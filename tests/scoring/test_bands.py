"""What was expected of rows, and a range that holds the share of normal ones that it states."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.scoring import Band, ModelConfig, ScoringConfig
from caps.scoring.following import Errors, Widths, middle, width_of, widths_around
from handmade_analysis import analysed, daily

TRAIN, ROWS = 600, 3000
CONFIG = ScoringConfig()


def wave(rows: int = ROWS, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 10 + 3 * np.sin(np.arange(rows) / 12) + 0.5 * rng.standard_normal(rows)


def sharing(share: float) -> ModelConfig:
    return ModelConfig(scoring=replace(CONFIG, band_share=share))


def inside(values: np.ndarray, band: Band) -> np.ndarray:
    found = (values >= band.lower[:, 0]) & (values <= band.upper[:, 0])
    return np.asarray(found)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("share", [0.99, 0.9])
def test_the_range_holds_the_share_of_normal_rows_that_it_states(
    share: float, causal: bool
) -> None:
    values = wave()
    model = CAPS(causal=causal, config=sharing(share)).fit(values[:TRAIN])
    band = model.analyze(values).band
    assert inside(values, band)[TRAIN:].mean() == pytest.approx(share, abs=0.02)
    known = np.isfinite(band.expected[:, 0])
    assert known[TRAIN:].all()
    assert np.abs(values - band.expected[:, 0])[TRAIN:].mean() < 1.0  # of noise that has 0.4


@pytest.mark.parametrize("causal", [False, True])
def test_the_share_stays_where_it_was_when_the_noise_grows(causal: bool) -> None:
    values = wave()
    changed = values.copy()
    changed[1500:] += 2 * np.random.default_rng(9).standard_normal(1500)
    band = CAPS(causal=causal).fit(values[:TRAIN]).analyze(changed).band
    found = inside(changed, band)
    assert found[1500:1516].mean() < 0.99 or not causal  # at first nobody could know
    assert found[2200:].mean() == pytest.approx(0.99, abs=0.02)
    width = (band.upper - band.lower)[:, 0]
    assert np.median(width[2200:]) > 2 * np.median(width[TRAIN:900])


@pytest.mark.parametrize("causal", [False, True])
def test_bands_are_in_the_units_of_the_data(causal: bool) -> None:
    values = wave(900)
    model = CAPS(causal=causal)
    first = model.fit(values[:TRAIN]).analyze(values).band
    other = 1000 - 7 * values
    second = model.fit(other[:TRAIN]).analyze(other).band
    np.testing.assert_allclose(second.expected, 1000 - 7 * first.expected, rtol=1e-4)
    np.testing.assert_allclose(second.upper, 1000 - 7 * first.lower, rtol=1e-3)


def test_a_share_changes_no_score() -> None:
    values = wave(900)
    for causal in (False, True):
        scores = [
            CAPS(causal=causal, config=sharing(share)).fit(values[:TRAIN]).decision_function(values)
            for share in (0.5, 0.99)
        ]
        np.testing.assert_array_equal(*scores)


def test_a_saved_model_gives_the_same_bands(tmp_path) -> None:
    values = wave(900)
    for causal in (False, True):
        model = CAPS(causal=causal).fit(values[:TRAIN])
        model.save(tmp_path / f"{causal}")
        again = CAPS.load(tmp_path / f"{causal}").analyze(values).band
        np.testing.assert_array_equal(np.stack(again), np.stack(model.analyze(values).band))


def test_every_sort_of_channel_has_the_band_it_can_have() -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(1600)
    table = pd.DataFrame(
        {
            "varied": wave(1600),
            "constant": np.full(1600, 7.0),
            "switch": (rows % 90 < 40) * 3.0,
            "silent": np.where(rows < 5, 1.0, np.nan),
            "counter": np.cumsum(rng.poisson(20, 1600)).astype(float),
        }
    )
    table.loc[1300, "constant"] = 8.0
    table.loc[1400, "varied"] = np.nan
    model = CAPS().fit(table[:TRAIN])
    frame = model.score_frame(table, bands=True)
    assert (frame["lower_constant"] == 7).all()
    assert (frame["upper_constant"] == 7).all()
    assert (frame["expected_constant"] == 7).all()
    assert frame["expected_switch"].isna().all()
    assert (frame["lower_switch"] == 0).all()
    np.testing.assert_allclose(frame["upper_switch"], 3, atol=1e-4)
    assert (frame["upper_switch"] >= 3).all()
    assert frame[["expected_silent", "lower_silent", "upper_silent"]].isna().all(axis=None)
    assert frame["expected_counter"][TRAIN:].between(10, 30).all()  # of its rate
    assert frame.loc[1400, ["expected_varied", "lower_varied"]].isna().all()
    assert frame["expected_varied"].drop(1400)[TRAIN:].notna().all()


def test_what_never_was_negative_is_not_taken_to_be_unless_it_is_expected() -> None:
    rng = np.random.default_rng(0)
    calls = rng.poisson(3 + 2 * np.sin(np.arange(1600) / 12)).astype(float)
    model = CAPS().fit(calls[:TRAIN])
    band = model.analyze(calls).band
    assert band.lower[TRAIN:].min() == 0
    below = model.analyze(calls - 50).band
    assert (below.lower[600:] < below.expected[600:]).all()
    assert inside(calls - 50, below)[600:].mean() > 0.97
    signed = CAPS().fit(calls[:TRAIN] - 1).analyze(calls - 1).band
    assert signed.lower.min() < -1


def test_without_neighbours_nothing_is_expected() -> None:
    analysis = analysed({"load": daily(1400)}, {"load": slice(1200, 1210)})
    assert np.isnan(np.stack(analysis.band)).all()


@pytest.mark.parametrize("phase", [0, 1, 3])
def test_errors_that_come_at_even_steps_are_not_missed(phase: int) -> None:
    """Every fourth row errs more, and every fourth row is what a span of so many rows keeps."""
    rng = np.random.default_rng(0)
    errors = np.abs(rng.standard_normal(24_000))
    errors[phase::4] += 10 * (rng.random(6000) < 0.2)  # of one row in twenty
    usual, pace = Errors.of(errors[:6000]), 4096
    assert pace // CONFIG.samples == 4
    live = Widths(usual, pace, CONFIG, still=False).follow(errors)
    around = widths_around(errors, usual, pace, CONFIG)
    for widths in (live, around):
        assert (errors <= widths)[6000:].mean() == pytest.approx(0.99, abs=0.005)


def test_widths_one_row_at_a_time_are_those_of_rows_at_once() -> None:
    errors = np.abs(np.random.default_rng(0).standard_normal(3000))
    errors[1500:] *= 4
    errors[::50] = np.nan
    usual = Errors.of(errors[:1000])
    whole, single, again = (Widths(usual, 2048, CONFIG, still=False) for _ in range(3))
    expected = whole.follow(errors)
    found = [single.follow(errors[row : row + 1]) for row in range(1200)]
    again.restore(single.state(), single.rows)
    found.append(again.follow(errors[1200:]))
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert expected[-1] > 3 * expected[0]


def test_few_rows_are_held_to_training() -> None:
    usual = Errors.of(np.abs(np.random.default_rng(0).standard_normal(5000)))
    training = widths_around(np.full(20, np.nan), usual, 1024, CONFIG)
    few = widths_around(np.full(20, 50.0), usual, 4096, CONFIG)
    np.testing.assert_allclose(training, 2.58, rtol=0.1)
    np.testing.assert_allclose(few, 2.58, rtol=0.25)


def test_errors_are_kept_as_few_numbers_that_tell_their_tail() -> None:
    errors = np.random.default_rng(0).exponential(size=20_000)
    kept = Errors.from_list(Errors.of(errors).to_list())
    sample = kept.sample(1024)
    for share in (0.5, 0.9, 0.99):
        assert width_of(sample, share) == pytest.approx(np.quantile(errors, share), rel=0.05)
        assert width_of(sample[:300], share) == pytest.approx(np.quantile(errors, share), rel=0.2)
    assert len(kept.to_list()) < 30
    for odd in ([1.0], kept.to_list()[::-1], [*kept.to_list()[:-1], np.inf], [-1.0] * 26):
        with pytest.raises(ValueError, match="none"):
            Errors.from_list(odd)


def test_the_middle_is_the_median_of_what_is_known() -> None:
    values = np.random.default_rng(0).standard_normal((9, 200))
    values[np.random.default_rng(1).random(values.shape) < 0.4] = np.nan
    values[:, 0] = np.nan
    assert np.isnan(middle(values)[0])
    np.testing.assert_allclose(middle(values)[1:], np.nanmedian(values[:, 1:], axis=0))
