"""Alarms beside labelled events, thresholds from a budget, NAB's score, UCR's first place."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from caps.errors import InputError
from caps.metrics import (
    NabScore,
    alarm_spans,
    best_nab,
    budget_threshold,
    event_figures,
    nab_curve,
    nab_score,
    ucr_top_1,
)
from caps.metrics.events import MERGE_GAP
from caps.metrics.nab import EXACT
from caps.scoring import EventRules, event_spans
from oracles import events as naive

FLAGS = st.lists(st.integers(0, 1), min_size=2, max_size=40)


@st.composite
def flags_and_labels(draw):
    labels = draw(FLAGS)
    return draw(st.lists(st.integers(0, 1), min_size=len(labels), max_size=len(labels))), labels


@given(flags_and_labels(), st.floats(0.001, 0.9))
@settings(max_examples=200)
def test_event_figures_equal_their_definition(case, rate):
    flags, labels = case
    alarms = alarm_spans(flags, 0.5, merge_gap=1)
    expected = naive.figures(alarms, labels, rate)
    found = event_figures(alarms, labels, rate).as_dict()
    assert found == {name: pytest.approx(value) for name, value in expected.items()}


def test_one_early_one_late_one_missed_and_one_false_alarm():
    labels = np.zeros(1000, dtype=int)
    for start, end in ((100, 120), (300, 340), (600, 610)):
        labels[start:end] = 1
    figures = event_figures([(90, 110), (310, 320), (330, 350), (800, 810)], labels, 0.01)
    assert (figures.events, figures.found, figures.false_alarms) == (3, 2, 1)
    assert figures.allowed == pytest.approx(9.3)
    assert figures.iou_found == pytest.approx((10 / 30 + 10 / 40) / 2)
    assert figures.iou == pytest.approx((10 / 30 + 10 / 40) / 3)
    assert (figures.delay, figures.delay_share) == (5, 0.125)
    assert figures.flagged == pytest.approx(0.06)
    assert figures.flagged_over_anomalous == pytest.approx(60 / 70)


def test_an_alarm_over_two_events_finds_both_and_is_no_false_one():
    figures = event_figures([(1, 6)], [0, 1, 0, 0, 1, 0], 0.5)
    assert (figures.found, figures.false_alarms, figures.any_found) == (2, 0, 1)


def test_silence_and_no_events_are_told_apart():
    silent = event_figures([], [0, 1, 0], 0.1).as_dict()
    assert (silent["recall"], silent["iou"], silent["any_found"]) == (0, 0, 0)
    assert silent["delay"] is silent["iou_found"] is None
    normal = event_figures([(1, 2)], [0, 0, 0], 0.1).as_dict()
    assert normal["recall"] is normal["iou"] is normal["any_found"] is None
    assert normal["over_budget"] == pytest.approx(1 / 0.3)


@pytest.mark.parametrize("alarm", [(-1, 2), (2, 2), (1, 9)])
def test_alarms_outside_the_rows_are_refused(alarm):
    with pytest.raises(InputError, match="start and end"):
        event_figures([alarm], [0, 1, 0], 0.1)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 4), st.integers(0, 6))
def test_alarms_are_runs_above_the_threshold_merged(scores, threshold, gap):
    found = alarm_spans(scores, threshold, gap)
    assert [tuple(span) for span in found.tolist()] == naive.merged(scores, threshold, gap)


def test_alarms_are_merged_as_caps_merges_its_own():
    scores = np.random.default_rng(0).random(5000)
    assert EventRules().merge_gap == MERGE_GAP
    np.testing.assert_array_equal(
        alarm_spans(scores, 0.99), event_spans(scores, 0.99, EventRules())
    )


@pytest.mark.parametrize("rows", [250, 1000, 20_000, 50_000])
def test_a_budget_holds_on_new_rows_of_the_same_kind(rows):
    rng = np.random.default_rng(rows)
    ratios = []
    for _ in range(20):
        threshold = budget_threshold(rng.standard_normal(rows), 1 / 1000)
        new = alarm_spans(rng.standard_normal(20_000), threshold)
        ratios.append(len(new) / 20)
    assert 1 / 3 < np.mean(ratios) < 3


@given(st.floats(-10, 10), st.floats(0.1, 10))
@settings(max_examples=20)
def test_a_threshold_moves_with_its_scores(shift, scale):
    scores = np.random.default_rng(0).gamma(2, size=400)
    expected = shift + scale * budget_threshold(scores, 0.001)
    assert budget_threshold(shift + scale * scores, 0.001) == pytest.approx(expected)


def test_constant_scores_never_raise_an_alarm():
    threshold = budget_threshold(np.full(100, 3.0), 0.001)
    assert len(alarm_spans(np.full(500, 3.0), threshold)) == 0
    with pytest.raises(InputError, match="above 0 and below 1"):
        budget_threshold(np.arange(9.0), 1)


@given(flags_and_labels(), st.integers(0, 5))
@settings(max_examples=300)
def test_nab_equals_its_sweep_over_rows(case, probationary):
    flags, labels = case
    probationary = min(probationary, len(labels) - 1)
    found = nab_score(flags, labels, probationary)
    assert found.raw == pytest.approx(naive.nab(flags, labels, probationary))


@given(flags_and_labels(), st.integers(0, 5), st.integers(0, 100))
@settings(max_examples=100)
def test_a_nab_curve_is_the_score_at_every_threshold(case, probationary, seed):
    _, labels = case
    probationary = min(probationary, len(labels) - 1)
    scores = np.random.default_rng(seed).integers(0, 6, len(labels)) / 4
    curve = nab_curve(scores, labels, probationary)
    thresholds = np.arange(-1, 8) / 4
    expected = [nab_score(scores >= level, labels, probationary).raw for level in thresholds]
    np.testing.assert_allclose(curve.at(thresholds), expected, atol=1e-12)


def test_nab_rewards_early_alarms_and_forgives_those_soon_after():
    labels = np.zeros(200, dtype=int)
    labels[100:120] = 1
    at = {row: nab_score(np.arange(200) == row, labels).raw for row in (100, 119, 121, 190, 10)}
    assert at[100] == 1
    assert 0 < at[119] < 0.2
    assert -1.11 < at[121] < -1
    assert at[190] == at[10] == pytest.approx(-1.11)
    assert nab_score(labels * 0, labels).normalised == 0
    assert nab_score(labels * 0, labels, probationary=150) == NabScore(0, 0)


def test_one_threshold_is_best_for_all_series_together():
    labels = np.repeat([0, 1, 0], [20, 10, 20])
    easy, hard = labels + 0.1, np.where(np.arange(50) < 5, 0.5, 0.4 * labels)
    curves = [nab_curve(each, labels) for each in (easy, hard)]
    score, threshold = best_nab(curves)
    by_hand = {
        level: sum(nab_score(each >= level, labels).raw for each in (easy, hard))
        for level in np.unique([*easy, *hard])
    }
    assert score.raw == pytest.approx(max(by_hand.values()))
    assert by_hand[threshold] == pytest.approx(score.raw)
    assert score.windows == 2
    worse = nab_curve(-labels, labels)
    assert best_nab([worse]) == (NabScore(-1, 1), np.inf)


def test_a_long_curve_is_thinned_but_keeps_its_ends():
    rng = np.random.default_rng(0)
    labels = np.arange(20_000) // 100 == 150
    curve = nab_curve(rng.random(20_000), labels)
    assert EXACT < len(curve.thresholds) < 600
    assert curve.raw[-1] == pytest.approx(nab_score(np.ones(20_000), labels).raw)


@pytest.mark.parametrize(
    ("top", "hit"), [(399, False), (400, True), (500, True), (609, True), (610, False)]
)
def test_ucr_counts_a_first_place_within_100_rows(top, hit):
    labels = (np.arange(1000) >= 500) & (np.arange(1000) < 510)
    assert ucr_top_1(np.arange(1000) == top, labels) is hit


def test_ucr_counts_a_first_place_within_the_events_own_length():
    labels = (np.arange(2000) >= 800) & (np.arange(2000) < 1000)
    assert [ucr_top_1(np.arange(2000) == row, labels) for row in (599, 600, 1199, 1200)] == [
        False,
        True,
        True,
        False,
    ]
    assert ucr_top_1(np.arange(3), [0, 0, 0]) is None
