"""Alarm budgets: read, kept on normal data, changed without a new fit, written and read back."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from caps.errors import ArtifactError, InputError
from caps.network.examples import held_out_blocks
from caps.scoring.calibration import Calibration, alarm_rate, calibrate, calibrate_logits
from caps.scoring.config import CalibrationConfig
from caps.scoring.evidence import bounded, evidence_of, score_of
from caps.scoring.spans import EventRules, event_spans
from handmade_analysis import analysed, daily

MINUTE = np.timedelta64(1, "m")
RULES = EventRules(merge_gap=8)


def normal_scores(rng: np.random.Generator, rows: int, smoothness: float = 0.8) -> np.ndarray:
    """Scores of the p-values of an autoregression, as neighbouring scores are alike."""
    from scipy.signal import lfilter

    noise = rng.standard_normal(rows + 100)
    smooth = lfilter([np.sqrt(1 - smoothness**2)], [1, -smoothness], noise)[100:]
    return score_of(evidence_of(norm.sf(smooth)))


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return calibrate(normal_scores(np.random.default_rng(0), 4000), RULES)


@pytest.mark.parametrize(
    ("budget", "rate"),
    [
        ("1/1000", 1e-3),
        ("2 / 500", 4e-3),
        ("1/day", 1 / 1440),
        ("3 per days", 3 / 1440),
        ("2/WEEK", 2 / (7 * 1440)),
        ("0.5/hour", 0.5 / 60),
        ("1/month", 1 / (30.4375 * 1440)),
        (0.002, 0.002),
    ],
)
def test_budgets_are_read_against_the_sampling_step(budget: str | float, rate: float) -> None:
    assert alarm_rate(budget, MINUTE) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("budget", "step", "remedy"),
    [
        ("often", MINUTE, "1/day, 2/week or 1/1000"),
        ("-1/day", MINUTE, "1/day, 2/week or 1/1000"),
        ("1/fortnight", MINUTE, "second, minute, hour, day, week, month, year"),
        ("1/day", None, "1/1000, or a series with times"),
        ("0/day", MINUTE, "above zero"),
        ("1/0", MINUTE, "below one alarm"),
        ("1/minute", MINUTE, "below one alarm"),
        (2.0, None, "below one alarm"),
        (float("nan"), None, "above zero"),
    ],
)
def test_a_budget_that_makes_no_sense_names_the_remedy(
    budget: str | float, step: np.timedelta64 | None, remedy: str
) -> None:
    with pytest.raises(InputError, match=remedy):
        alarm_rate(budget, step)


@pytest.mark.parametrize("rows", [32, 100, 1000, 10_000])
def test_a_smaller_budget_never_lowers_the_threshold(rows: int) -> None:
    calibration = calibrate(normal_scores(np.random.default_rng(rows), rows), RULES)
    thresholds = [calibration.threshold(rate) for rate in np.geomspace(0.9, 1e-9, 300)]
    assert (np.diff(thresholds) >= 0).all()
    assert thresholds[-1] > thresholds[0]


def test_a_budget_beyond_all_alarms_does_not_alarm_all_the_time(calibration: Calibration) -> None:
    """No threshold of a model lies below the score of an average row."""
    fitted = replace(analysed(daily(1200), {}).fitted, calibration=calibration)
    scores = normal_scores(np.random.default_rng(0), 4000)
    assert (scores > fitted.threshold(0.9)).mean() < 0.5


@pytest.mark.parametrize("rate", [1e-2, 3e-3, 1e-3, 1e-4])
def test_fresh_normal_scores_keep_the_budget(calibration: Calibration, rate: float) -> None:
    fresh = normal_scores(np.random.default_rng(1), 200_000)
    alarms = len(event_spans(fresh, calibration.threshold(rate), RULES))
    assert rate / 3 < alarms / len(fresh) < 3 * rate


def test_events_are_calibrated_not_rows() -> None:
    """Scores that come in long runs raise few events for many rows above the threshold."""
    scores = normal_scores(np.random.default_rng(2), 50_000, smoothness=0.98)
    threshold = calibrate(scores, RULES).threshold(1e-3)
    above = (scores > threshold).mean()
    alarms = len(event_spans(scores, threshold, RULES)) / len(scores)
    assert 4e-4 < alarms < 2e-3
    assert above > 3 * alarms


def test_the_expected_alarms_at_a_budget_are_the_budget(calibration: Calibration) -> None:
    for rate in (1e-2, 1e-3, 1e-4, 1e-5):
        threshold = calibration.threshold(rate)
        assert calibration.expected_alarms(threshold, 1000) == pytest.approx(1000 * rate, rel=1e-3)


def test_p_values_are_uniform_on_fresh_normal_scores(calibration: Calibration) -> None:
    p_values = calibration.p_values(normal_scores(np.random.default_rng(3), 100_000))
    for level in (0.5, 0.1, 0.01, 0.001):
        least = level / 2 if level >= 0.1 else level / 20  # the tail is rather too long than short
        assert least < (p_values <= level).mean() < 2 * level


def test_p_values_fall_as_scores_rise_and_never_reach_zero(calibration: Calibration) -> None:
    p_values = calibration.p_values(np.linspace(0, 0.9999, 500))
    assert (np.diff(p_values) <= 0).all()
    assert (p_values > 0).all()
    assert p_values[0] == 1
    assert np.isnan(calibration.p_values(np.array([np.nan])))


def test_blocks_are_not_merged_across_their_ends() -> None:
    block = np.full(40, 0.1)
    block[[0, -1]] = 0.9
    apart = calibrate([block] * 10, EventRules(merge_gap=5))
    joined = calibrate(np.concatenate([block] * 10), EventRules(merge_gap=5))
    assert apart.expected_alarms(0.5, 400) > joined.expected_alarms(0.5, 400)


def test_the_calibration_survives_json(calibration: Calibration) -> None:
    again = Calibration.from_dict(json.loads(json.dumps(calibration.to_dict())))
    scores = np.linspace(0.001, 0.999, 50)
    np.testing.assert_array_equal(again.p_values(scores), calibration.p_values(scores))
    for rate in (1e-2, 1e-5):
        assert again.threshold(rate) == calibration.threshold(rate)
    assert again.rules == calibration.rules


@pytest.mark.parametrize(
    "edit",
    [
        {"levels": []},
        {"levels": "high"},
        {"scale": -1.0},
        {"event_rate": [1.0]},
        {"colour": "red"},
    ],
    ids=str,
)
def test_an_edited_calibration_is_refused(calibration: Calibration, edit: dict) -> None:
    with pytest.raises(ArtifactError):
        Calibration.from_dict({**calibration.to_dict(), **edit})


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_constant_scores_can_be_calibrated(value: float) -> None:
    calibration = calibrate(np.full(500, value))
    thresholds = [calibration.threshold(rate) for rate in (1e-2, 1e-4, 1e-6)]
    assert np.isfinite(thresholds).all()
    assert thresholds == sorted(thresholds)
    assert len(event_spans(np.full(500, value), thresholds[0], EventRules())) == 0


def test_gaps_in_the_held_out_scores_are_ignored() -> None:
    scores = normal_scores(np.random.default_rng(4), 4000)
    scores[1000:2000] = np.nan
    calibration = calibrate(scores, RULES)
    assert calibration.rows == 3000
    assert 0 < calibration.threshold("1/1000") < 1


def test_too_few_held_out_rows_are_refused() -> None:
    with pytest.raises(InputError, match="longer training part"):
        calibrate(np.full(20, 0.1))
    with pytest.raises(InputError, match="longer training part"):
        calibrate([])


def test_scores_outside_their_range_are_refused() -> None:
    with pytest.raises(InputError, match="score_series"):
        calibrate(np.linspace(-3, 3, 100))


@given(st.integers(1, 20_000), st.sampled_from([16, 64, 256]), st.sampled_from([0.1, 0.25, 0.4]))
def test_blocks_cover_the_training_part_once(length: int, size: int, share: float) -> None:
    kept, held = held_out_blocks(length, size=size, share=share)
    if kept == held:
        assert kept == [slice(0, length)]
        assert int(length * share) < size
        return
    ordered = sorted([*kept, *held], key=lambda block: block.start)
    assert ordered[0].start == 0
    assert ordered[-1] == held[-1]
    assert ordered[-1].stop == length
    assert all(before.stop == after.start for before, after in pairwise(ordered))
    held_rows = sum(block.stop - block.start for block in held)
    assert held_rows == pytest.approx(share * length, abs=len(held))
    assert all(block.stop - block.start >= size - 1 for block in held)


def test_a_bound_keeps_the_order_of_the_strongest_rows() -> None:
    evidence = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 200)])
    values = bounded(evidence, 3.5)
    assert (np.diff(values) > 0).all()
    assert values[0] == 0
    assert values[-1] < 3.5
    assert np.isnan(bounded(np.array([np.nan]), 3.5)).all()


def test_alarms_to_expect_are_those_counted_at_a_threshold() -> None:
    """Low thresholds merge what lies above them into few events: there are never more."""
    scores = normal_scores(np.random.default_rng(5), 20_000)
    calibration = calibrate(scores, RULES)
    for share in (0.3, 0.9, 0.98, 0.99):
        threshold = float(np.quantile(scores, share))
        counted = len(event_spans(scores, threshold, RULES))
        expected = calibration.expected_alarms(threshold, 20_000)
        assert expected > 0.9 * counted
        if share >= 0.98:
            assert expected == pytest.approx(counted, rel=0.25)


@pytest.mark.parametrize("length", [5, 40])
@pytest.mark.parametrize("budget", ["1/300", "1/1000", "1/3000"])
def test_a_few_anomalies_of_training_hardly_move_the_threshold(length: int, budget: str) -> None:
    """As many as are doubted, a third of those above one in a hundred rows: all are still found."""
    rng, config = np.random.default_rng(6), CalibrationConfig()
    levels = -np.log1p(-normal_scores(rng, 4000))
    contaminated = levels.copy()
    anomalies = int(config.doubted * 4000 / config.tail_share)
    for start in rng.choice(4000 // length, anomalies, replace=False) * length:
        contaminated[start : start + length] = 4 + rng.random() + np.hanning(length)  # one peak
    clean, found = (
        -np.log1p(-calibrate_logits([each], RULES, config, 0.3).threshold(budget))
        for each in (levels, contaminated)
    )
    assert clean <= found + 0.1
    assert found < clean + 1
    assert found < 4  # so that they are found


def test_the_p_value_of_an_event_is_the_rate_of_events_as_strong(calibration: Calibration) -> None:
    fresh = normal_scores(np.random.default_rng(7), 100_000)
    for score in (0.8, 0.9):
        counted = len(event_spans(fresh, score, RULES)) / len(fresh)
        assert counted / 3 < float(calibration.event_p_values(score)) < 3 * counted
    assert np.isnan(calibration.event_p_values(np.nan))
