"""The fast metrics equal their naive twins on random, tied, constant and border inputs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from caps.metrics import acf_window, auc_pr, auc_roc, evaluate, standard_f1, vus
from caps.metrics.range_wise import range_sweep
from caps.metrics.scored import Events, FirstAbove, levels_of
from caps.metrics.zones import affiliation_sweep
from oracles import (
    affiliation as naive_affiliation,
    points as naive_points,
    range_wise as naive_range_wise,
    volume as naive_volume,
    window as naive_window,
)


@st.composite
def scored_points(draw, longest=40):
    """Scores with many or few ties, and labels with at least one anomalous and one normal point."""
    size = draw(st.integers(3, longest))
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    labels[draw(st.integers(0, size - 1))] = 1
    if labels.all():
        labels[draw(st.integers(0, size - 1))] = 0
    values = draw(st.sampled_from([1, 3, 1000]))
    scores = draw(st.lists(st.integers(-1, values), min_size=size, max_size=size))
    return np.array(scores) / 8, labels


@given(scored_points(longest=25), st.integers(0, 9))
@settings(max_examples=40)
def test_vus_equals_its_definition(points, window):
    scores, labels = points
    pr, roc = naive_volume.volume(scores, labels, window)
    found = vus(scores, labels, window=window)
    assert found.pr == pytest.approx(pr, abs=1e-12)
    assert found.roc == pytest.approx(roc, abs=1e-12)


@given(scored_points(), st.lists(st.integers(-2, 1001), min_size=1, max_size=6))
@settings(max_examples=200)
def test_affiliation_equals_its_definition_at_every_threshold(points, steps):
    scores, labels = points
    thresholds = np.sort(np.array(steps)) / 8
    levels = levels_of(scores, thresholds)
    precision, recall = affiliation_sweep(levels, len(thresholds), Events.of(labels == 1))
    for index, threshold in enumerate(thresholds):
        expected = naive_affiliation.precision_recall(scores > threshold, labels)
        assert precision[index] == pytest.approx(expected[0], abs=1e-12, nan_ok=True)
        assert recall[index] == pytest.approx(expected[1], abs=1e-12)


@given(scored_points(), st.lists(st.integers(-2, 1001), min_size=1, max_size=6))
@settings(max_examples=200)
def test_range_wise_equals_its_definition_at_every_threshold(points, steps):
    scores, labels = points
    thresholds = np.sort(np.array(steps)) / 8
    sweep = range_sweep(levels_of(scores, thresholds), len(thresholds), Events.of(labels == 1))
    for index, threshold in enumerate(thresholds):
        for fixed, found in ((False, sweep.precision), (True, sweep.precision_fixed)):
            precision, recall = naive_range_wise.precision_recall(
                scores > threshold, labels, fixed=fixed
            )
            assert found[index] == pytest.approx(precision, abs=1e-12)
            assert sweep.recall[index] == pytest.approx(recall, abs=1e-12)


@given(scored_points(longest=16))
@settings(max_examples=15)
def test_the_caps_protocol_equals_a_loop_over_its_quantiles(points):
    scores, labels = points
    found = evaluate(scores, labels, window=0)
    quantiles = np.quantile(scores, np.linspace(0, 1, 1500))
    best = 0.0
    for predicted in {tuple(scores > threshold) for threshold in quantiles}:
        precision, recall = naive_affiliation.precision_recall(np.array(predicted), labels)
        if precision + recall > 0:
            best = max(best, 2 * precision * recall / (precision + recall))
    assert found.affiliation_f == pytest.approx(best, abs=1e-12)
    assert found.standard_f1 == pytest.approx(naive_points.standard_f1(scores, labels), abs=1e-12)
    for fixed, value in ((False, found.f1_t), (True, found.f1_t_fixed)):
        expected = naive_range_wise.best_range_f1(scores, labels, fixed=fixed)
        assert value == pytest.approx(expected, abs=1e-12)


@given(scored_points())
@settings(max_examples=100)
def test_point_metrics_equal_their_definitions(points):
    scores, labels = points
    assert auc_pr(scores, labels) == pytest.approx(naive_points.auc_pr(scores, labels))
    assert auc_roc(scores, labels) == pytest.approx(naive_points.auc_roc(scores, labels))
    assert standard_f1(scores, labels, protocol="tsb-ad") == pytest.approx(
        naive_points.tsb_ad_standard_f1(scores, labels)
    )


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_the_window_rule_equals_direct_sums(seed):
    rng = np.random.default_rng(seed)
    time = np.arange(rng.integers(5, 1500))
    series = np.sin(2 * np.pi * time / rng.uniform(3, 400)) + rng.uniform(0, 1) * rng.normal(
        size=len(time)
    )
    for rule in ("1.5", "2026"):
        assert acf_window(series, rule=rule) == naive_window.acf_window(series, rule)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
@settings(max_examples=100)
def test_searches_find_the_first_value_above_the_bound(values, data):
    queries = data.draw(
        st.lists(st.tuples(st.integers(0, len(values)), st.integers(-1, 5)), max_size=8)
    )
    found = FirstAbove(np.array(values))(
        np.array([start for start, _ in queries], dtype=int),
        np.array([bound for _, bound in queries], dtype=int),
    )
    for (start, bound), position in zip(queries, found, strict=True):
        later = [k for k in range(start, len(values)) if values[k] > bound]
        assert position == (later[0] if later else len(values))


def test_many_events_in_blocks_equal_one_table(monkeypatch):
    rng = np.random.default_rng(5)
    labels = (rng.random(3000) < 0.3).astype(int)
    scores = np.round(rng.random(3000), 2)
    whole = evaluate(scores, labels)
    monkeypatch.setattr("caps.metrics.scored._BLOCK", 20_000)
    monkeypatch.setattr("caps.metrics.range_wise._PAIRS", 7)
    parts = evaluate(scores, labels)
    for name, value in whole.as_dict().items():
        assert math.isclose(value, parts.as_dict()[name], rel_tol=1e-12)
