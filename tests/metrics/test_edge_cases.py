"""Every unusual input has a defined answer or an error that names the remedy."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

from caps.errors import InputError
from caps.metrics import (
    acf_window,
    affiliation,
    auc_pr,
    auc_roc,
    evaluate,
    floors,
    range_f1,
    standard_f1,
    vus,
)
from caps.metrics.range_wise import range_sweep
from caps.metrics.scored import Events

METRICS = [
    "vus_pr",
    "vus_roc",
    "auc_pr",
    "auc_roc",
    "standard_f1",
    "f1_t",
    "f1_t_fixed",
    "affiliation_f",
]
LABELS = np.repeat([0, 1, 0, 1, 0], [30, 8, 40, 1, 21])
SCORES = np.random.default_rng(0).random(100)


@pytest.mark.parametrize("protocol", ["caps", "tsb-ad"])
def test_without_positives_every_metric_is_undefined_and_never_zero(protocol):
    result = evaluate(SCORES, np.zeros(100), protocol=protocol, window=10)
    assert all(math.isnan(getattr(result, name)) for name in METRICS)
    assert result.as_dict() == {**dict.fromkeys(METRICS), "window": 10}


def test_single_metrics_are_undefined_without_positives_too():
    none = np.zeros(100)
    values = [
        vus(SCORES, none, window=5).pr,
        auc_pr(SCORES, none),
        auc_roc(SCORES, none),
        standard_f1(SCORES, none),
        range_f1(SCORES, none).published,
        range_f1(SCORES, none).fixed,
        affiliation(SCORES, none),
    ]
    assert all(math.isnan(value) for value in values)


@pytest.mark.parametrize("protocol", ["caps", "tsb-ad"])
def test_with_only_positives_the_roc_areas_are_undefined_and_the_pr_areas_one(protocol):
    result = evaluate(SCORES, np.ones(100), protocol=protocol, window=10)
    assert math.isnan(result.vus_roc)
    assert math.isnan(result.auc_roc)
    assert result.vus_pr == pytest.approx(1)
    assert result.auc_pr == pytest.approx(1)
    assert 0.9 < result.affiliation_f <= 1


def test_constant_scores_get_the_rate_from_ranking_and_nothing_from_thresholds():
    result = evaluate(np.full(100, 0.4), LABELS, window=0)
    rate = LABELS.mean()
    assert result.auc_pr == pytest.approx(rate)
    assert result.vus_pr == pytest.approx(rate)
    assert result.auc_roc == pytest.approx(0.5)
    # The published sweep then keeps threshold 0: everything is predicted.
    assert result.standard_f1 == pytest.approx(2 * rate / (1 + rate))
    assert result.f1_t == 0
    assert result.affiliation_f == 0


def test_constant_negative_scores_get_no_standard_f1():
    assert standard_f1(np.full(100, -0.4), LABELS) == 0


def test_constant_scores_have_no_affiliation_under_tsb_ad():
    assert math.isnan(affiliation(np.full(100, 0.4), LABELS, protocol="tsb-ad"))


@pytest.mark.parametrize("protocol", ["caps", "tsb-ad"])
def test_perfect_scores_get_one(protocol):
    result = evaluate(LABELS.astype(float), LABELS, protocol=protocol, window=0)
    assert all(getattr(result, name) == pytest.approx(1, abs=1e-5) for name in METRICS)


def test_the_published_precision_forgets_false_runs_behind_the_first():
    labels = np.zeros(100, dtype=bool)
    labels[10:20] = True
    predictions = labels.astype(int)
    for start, length in ((30, 5), (40, 20), (70, 20)):
        predictions[start : start + length] = 1
    sweep = range_sweep(predictions, 1, Events.of(labels))
    assert sweep.recall[0] == 1
    assert sweep.precision[0] == pytest.approx(10 / 15)
    assert sweep.precision_fixed[0] == pytest.approx(10 / 55)


def test_false_runs_before_the_last_event_count_in_both_precisions():
    labels = np.zeros(100, dtype=bool)
    labels[80:90] = True
    predictions = labels.astype(int)
    predictions[10:40] = 1
    sweep = range_sweep(predictions, 1, Events.of(labels))
    assert sweep.precision[0] == sweep.precision_fixed[0] == pytest.approx(10 / 40)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.1, np.nan, 0.3], [0, 1, 0], "1 of 3 scores .* position 1.*nan_to_num"),
        ([0.1, np.inf, 0.3], [0, 1, 0], "missing or infinite"),
        ([0.1, 0.2], [0, 1, 0], "2 scores do not match 3 labels"),
        ([0.1, 0.2, 0.3], [0, 2, 0], "must be 0 or 1, found 2.0: mark"),
        ([0.1, 0.2, 0.3], [0, np.nan, 1], "must be 0 or 1, found nan"),
        ([0.1, 0.2, 0.3], ["a", "b", "c"], "labels are of type .*, not numbers"),
        ([], [], "there are no scores"),
        (np.zeros((3, 2)), [0, 1, 0], "one-dimensional"),
        ([-1.7e308, 1.7e308, 0.0], [0, 1, 0], "scale them"),
    ],
)
def test_unusable_input_is_refused_with_the_remedy(scores, labels, message):
    with pytest.raises(InputError, match=message):
        evaluate(scores, labels, window=0)


@pytest.mark.parametrize("window", [-1, 2.5, True])
def test_a_window_must_be_a_whole_number_of_points(window):
    with pytest.raises(InputError, match="whole number of points"):
        evaluate(SCORES, LABELS, window=window)


def test_a_series_no_longer_than_the_window_is_refused():
    with pytest.raises(InputError, match="100 points are too few for a VUS window of 100"):
        evaluate(SCORES, LABELS)
    assert evaluate(SCORES, LABELS, window=99).window == 99


def test_an_unknown_protocol_is_refused():
    with pytest.raises(InputError, match="choose from caps, tsb-ad"):
        evaluate(SCORES, LABELS, protocol="other", window=5)


def test_booleans_and_single_columns_are_accepted():
    plain = evaluate(SCORES, LABELS, window=5)
    assert evaluate(SCORES[:, None], LABELS.astype(bool), window=5) == plain
    assert evaluate(list(SCORES), list(LABELS), window=5) == plain


def test_inputs_are_left_as_they_were():
    scores, labels = SCORES.copy(), LABELS.copy()
    evaluate(scores, labels, window=5)
    np.testing.assert_array_equal(scores, SCORES)
    np.testing.assert_array_equal(labels, LABELS)


def test_the_window_comes_from_the_series_when_none_is_given():
    series = np.sin(2 * np.pi * np.arange(100) / 20)
    assert evaluate(SCORES, LABELS, series=series).window == 20
    assert evaluate(SCORES, LABELS, series=series, window=7).window == 7


def test_the_window_rule_uses_the_first_channel_and_answers_125_without_a_period():
    wave = np.sin(2 * np.pi * np.arange(400) / 30)
    assert acf_window(np.stack([wave, np.zeros(400)], axis=1)) == 30
    assert acf_window(np.full(400, 0.1)) == 125
    assert acf_window(np.arange(5.0)) == 125
    with pytest.raises(InputError, match="fill them or give a window"):
        acf_window([1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("period", "of_version_1_5", "of_2026"),
    [(4, 125, 4), (5, 125, 5), (6, 6, 6), (300, 300, 300), (301, 301, 125), (304, 125, 125)],
)
def test_the_two_window_rules_differ_at_their_ends(period, of_version_1_5, of_2026):
    series = np.tile(np.random.default_rng(0).normal(size=period), 12_000 // period)
    assert acf_window(series) == of_version_1_5
    assert acf_window(series, rule="2026") == of_2026
    with pytest.raises(InputError, match=r"choose from 1\.5, 2026"):
        acf_window(series, rule="2")


def test_doubling_the_scores_changes_nothing():
    plain = evaluate(SCORES, LABELS, window=9)
    assert evaluate(2 * SCORES, LABELS, window=9) == plain


def test_reversing_time_keeps_vus_and_affiliation():
    plain = evaluate(SCORES, LABELS, window=9)
    back = evaluate(SCORES[::-1], LABELS[::-1], window=9)
    for name in ("vus_pr", "vus_roc", "auc_pr", "standard_f1", "f1_t_fixed", "affiliation_f"):
        assert getattr(back, name) == pytest.approx(getattr(plain, name), abs=1e-12)


def test_all_ones_floor_is_the_prediction_of_everything():
    floor = floors(LABELS, window=10)
    rate = LABELS.mean()
    assert floor.all_ones.standard_f1 == pytest.approx(2 * rate / (1 + rate))
    assert 0.6 < floor.all_ones.affiliation_f < 0.75
    assert floor.constant.affiliation_f == 0
    assert floor.random.auc_roc == pytest.approx(0.5, abs=0.15)


def test_floors_are_the_same_for_the_same_generator_and_undefined_without_positives():
    assert floors(LABELS, window=10) == floors(LABELS, window=10)
    other = floors(LABELS, window=10, rng=np.random.default_rng(1))
    assert other.random != floors(LABELS, window=10).random
    empty = floors(np.zeros(50), window=10)
    for column in dataclasses.fields(empty):
        assert math.isnan(getattr(empty, column.name).vus_pr)


@pytest.mark.parametrize(
    "ragged", [[[1.0, 2.0], [3.0]], torch.ones(3, requires_grad=True)], ids=["list", "tensor"]
)
def test_what_is_no_array_is_refused(ragged: Any) -> None:
    for name, given in (
        ("scores", {"scores": ragged, "labels": [0, 1, 0]}),
        ("labels", {"scores": [0.1, 0.9, 0.2], "labels": ragged}),
        ("series", {"scores": [0.1, 0.9, 0.2], "labels": [0, 1, 0], "series": ragged}),
    ):
        with pytest.raises(InputError, match=f"the {name} cannot be turned into an array"):
            evaluate(**given)


def test_masked_scores_are_missing() -> None:
    scores = np.ma.array([0.1, 0.9, 0.2], mask=[False, True, False])
    with pytest.raises(InputError, match=r"1 of 3 scores are missing .* position 1"):
        evaluate(scores, [0, 1, 0], window=0)
