"""CAPS equals the numbers TSB-AD 1.5 gave for the same seeds (`make parity` writes them)."""

import json
from pathlib import Path

import pytest

from caps.metrics import Evaluation, acf_window, affiliation, evaluate
from oracles.parity_cases import cases, series

GOLDEN = json.loads((Path(__file__).parent / "golden" / "tsb_ad.json").read_text(encoding="utf-8"))
METRICS = ["vus_pr", "vus_roc", "auc_pr", "auc_roc", "standard_f1", "affiliation_f"]


@pytest.fixture(scope="module")
def evaluations() -> dict[str, Evaluation]:
    return {
        case.name: evaluate(case.scores, case.labels, protocol="tsb-ad", window=case.window)
        for case in cases()
    }


def test_the_golden_file_covers_at_least_300_cases_of_tsb_ad_1_5():
    assert GOLDEN["source"].startswith("TSB-AD 1.5")
    assert len(GOLDEN["cases"]) >= 300
    assert set(GOLDEN["cases"]) == {case.name for case in cases()}


@pytest.mark.parametrize("metric", METRICS)
def test_metric_equals_tsb_ad(metric, evaluations):
    for name, numbers in GOLDEN["cases"].items():
        ours = evaluations[name].as_dict()[metric]
        if numbers[metric] is None:
            assert ours is None, name
        else:
            assert ours == pytest.approx(numbers[metric], abs=1e-9), name


def test_affiliation_at_1500_quantiles_equals_a_loop_over_tsb_ad():
    wanted = {
        name: numbers["affiliation_f_caps"]
        for name, numbers in GOLDEN["cases"].items()
        if "affiliation_f_caps" in numbers
    }
    assert len(wanted) >= 30
    for case in cases():
        if case.name in wanted:
            found = affiliation(case.scores, case.labels)
            assert found == pytest.approx(wanted[case.name], abs=1e-9), case.name


@pytest.mark.parametrize("seed", range(len(GOLDEN["windows"])))
def test_window_rule_equals_tsb_ad(seed):
    assert acf_window(series(seed)) == GOLDEN["windows"][seed]
