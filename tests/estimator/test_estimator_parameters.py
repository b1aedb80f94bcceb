"""Parameters that no fit can use are refused by name, before anything is read or learned."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils import get_tags

from caps import CAPS
from caps.errors import InputError
from caps.network.config import DetectorConfig
from caps.scoring import FitOptions
from caps.scoring.calibration import alarm_rate
from caps.scoring.spans import EventRules

WRONG: list[tuple[str, Any]] = [
    ("aggregate", ["max"]),
    ("cache", 5),
    ("causal", "no"),
    ("construction", "magic"),
    ("detector", {}),
    ("memory", np.ones(3)),
    ("members", 1.5),
    ("members", True),
    ("members", 0),
    ("modes", 5),
    ("modes", "01"),
    ("modes", [1.5]),
    ("pretrained", 5),
    ("references", -3),
    ("rules", "x"),
    ("rules", EventRules),
    ("seed", None),
    ("seed", 10**400),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: repr(value)[:20])
def test_a_value_that_no_fit_can_use_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name}="):
        CAPS(**{name: value}).fit(np.arange(400.0))


def test_numbers_of_numpy_are_numbers() -> None:
    given = CAPS(members=np.int64(2), seed=np.int32(3), causal=np.bool_(False), modes=np.arange(2))
    assert FitOptions(**given.get_params(deep=False)).seed == 3
    saved = FitOptions(references=np.int64(8), columns=[np.int64(0)]).to_dict()
    assert (type(saved["references"]), saved["columns"]) == (int, [0])


@pytest.mark.parametrize(
    "budget", [None, True, [1], object(), 10**400, "1/" + "9" * 400, float("nan")]
)
def test_a_budget_that_is_no_rate_is_refused(budget: Any) -> None:
    with pytest.raises(InputError, match="the alarm budget"):
        alarm_rate(budget)
    with pytest.raises(InputError, match="the alarm budget"):
        CAPS(alarms=budget).fit(np.arange(400.0))


@pytest.mark.parametrize(
    "sizes",
    [
        {"members": 1.5},
        {"window": "x"},
        {"steps": None},
        {"dilations": 5},
        {"dilations": (0,)},
        {"learning_rate": "x"},
        {"learning_rate": -1},
        {"dropout": None},
    ],
    ids=str,
)
def test_sizes_of_a_detector_are_checked_by_kind_too(sizes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(sizes))):
        DetectorConfig(**sizes)


@pytest.mark.parametrize("value", [1.5, "x", None, -1])
def test_rules_of_events_are_whole_rows(value: Any) -> None:
    with pytest.raises(InputError, match="merge_gap"):
        EventRules(merge_gap=value)


def test_known_anomalies_that_are_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="give a list of"):
        CAPS().fit(np.arange(400.0), known_anomalies=5)


def test_a_representation_tells_what_differs_from_the_defaults() -> None:
    assert repr(CAPS()) == "CAPS()"
    assert repr(CAPS(seed=3, alarms="1/day")) == "CAPS(alarms='1/day', seed=3)"
    long = CAPS(alarms="1/day", train=0.5, columns=["a" * 40, "b" * 40])
    assert eval(repr(long), {"CAPS": CAPS}).get_params() == long.get_params()
    assert repr(long).count("\n     ") == 2


def test_an_unknown_parameter_is_refused_and_nothing_is_set() -> None:
    model = CAPS(seed=3)
    with pytest.raises(InputError, match=r"no parameter 'sed': choose from .*\bseed\b"):
        model.set_params(seed=4, sed=5)
    assert model.seed == 3


def test_scikit_learn_is_told_what_kind_of_estimator_it_is() -> None:
    tags = get_tags(CAPS())
    assert not tags.target_tags.required
    assert tags.requires_fit
