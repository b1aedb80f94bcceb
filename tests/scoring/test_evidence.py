"""Evidence of rows, levels and events: past only, of what was observed, of the right channel."""

import numpy as np
import pytest

from caps.scoring import FitOptions, fit, read_input
from caps.scoring.calibration import calibrate
from caps.scoring.channels import LevelRange, levels_of
from caps.scoring.config import ScoringConfig
from caps.scoring.evidence import combine, shares, tail_evidence
from caps.scoring.fitted import Scores
from untrained_weights import noisy_wave

CONFIG = ScoringConfig()


def test_evidence_goes_on_beyond_the_tail_by_its_scale() -> None:
    calibration = calibrate(np.random.default_rng(0).beta(1, 20, 2000))
    logits = calibration.tail + calibration.scale * np.array([0.0, 1.0, 2.0, np.nan])
    expected = -np.log(calibration.row_rate[-1]) + np.array([0.0, 1.0, 2.0, np.nan])
    np.testing.assert_allclose(tail_evidence(calibration, logits), expected)
    np.testing.assert_allclose(
        tail_evidence(calibration, calibration.levels), -np.log(calibration.row_rate)
    )


def test_channels_that_were_not_observed_do_not_count() -> None:
    gap = np.nan
    evidence = np.array([[1, 3, gap, gap, gap, gap], [6, 5, 4, 3, 2, 1], [gap] * 6, [0.0] * 6])
    np.testing.assert_allclose(combine(evidence, "top5"), [2.0, 4.0, gap, CONFIG.least_evidence])
    np.testing.assert_allclose(combine(evidence, "max"), [3.0, 6.0, gap, CONFIG.least_evidence])


def test_contributions_are_shares_of_what_goes_beyond_chance() -> None:
    evidence = np.array([[4.0, 2.0, 0.5], [0.1, 0.2, np.nan], [np.nan] * 3])
    expected = [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(shares(evidence), expected)


def test_rows_without_a_channel_do_not_lower_its_share_of_an_event() -> None:
    evidence = np.full((10, 2), 3.0)
    evidence[:, 0] = [5.0, 5.0, *[np.nan] * 8]
    scores = Scores(np.zeros(10), evidence)
    np.testing.assert_allclose(scores.of_event(0, 10), [2 / 3, 1 / 3])
    np.testing.assert_allclose(scores.of_event(2, 10), [0.0, 1.0])


def test_a_level_is_the_mean_of_the_last_rows_observed() -> None:
    values = np.array([1.0, 2.0, np.nan, 6.0, 8.0, np.nan, np.nan, np.nan])
    expected = [1.0, 1.5, 1.5, 4.0, 7.0, 7.0, 8.0, np.nan]
    np.testing.assert_allclose(levels_of(values, 3), expected)


def test_a_range_of_levels_is_that_of_the_rows_learned_from() -> None:
    learned, held = [np.repeat([-2.0, 1.0], 20)], [np.repeat([0.0, 3.0], 20)]
    made = LevelRange.fit(learned, held, CONFIG)
    assert (made.low, made.high) == (-2.0, 1.0)
    assert made.scale == pytest.approx(2.0 / -np.log(1 - CONFIG.level_share))
    inside = LevelRange.fit(learned, learned, CONFIG)
    assert inside.scale == CONFIG.level_scale


def test_every_channel_is_scored_by_its_own_column() -> None:
    first, second = noisy_wave(1200), noisy_wave(1200, seed=1) ** 2
    first[1000:1010] += 6
    second[1100:1110] -= 40
    series = read_input(np.column_stack([first, second]))
    scores = fit(series, 900, None, FitOptions()).score(series)
    loudest = np.nanargmax(scores.evidence, axis=0)
    np.testing.assert_allclose(loudest, [1005, 1105], atol=20)
