"""CAPS and an exported model have one interface and give the same kinds of results."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported_model import Pair, table
from sklearn.base import BaseEstimator

from caps import CAPS
from caps.export import OnnxModel

FITTING = {
    "fit", "fit_predict", "save", "load", "decision_scores_", "labels_",
}  # fmt: skip
READING = {"load", "from_bytes"}


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")} - set(dir(BaseEstimator))


def test_the_public_names_are_the_same() -> None:
    assert public(OnnxModel) - READING == public(CAPS) - FITTING
    wanted = {"set_alarms", "events", "score_frame", "decision_function", "predict", "stream"}
    wanted |= {"predict_proba", "threshold_", "expected_alarms_", "notes_"}
    assert wanted <= public(OnnxModel)


@pytest.mark.parametrize("name", sorted(public(OnnxModel) - READING))
def test_the_signatures_are_the_same(name: str) -> None:
    ours, theirs = getattr(OnnxModel, name), getattr(CAPS, name)
    assert type(ours) is type(theirs)
    if callable(ours):
        assert inspect.signature(ours) == inspect.signature(theirs)


def shape(result: Any) -> Any:
    """Types all the way down, without the numbers."""
    if isinstance(result, pd.DataFrame):
        return {name: result[name].dtype for name in result}
    if isinstance(result, dict):
        return {name: shape(each) for name, each in result.items()}
    return (type(result), getattr(result, "dtype", None))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame], ids=["array", "frame"])
@pytest.mark.parametrize("name", ["decision_function", "predict", "score_frame", "events"])
def test_the_results_are_of_the_same_kind(
    both_sides: Pair, name: str, kind: Callable[[np.ndarray], Any]
) -> None:
    model, exported = both_sides.model, both_sides.exported
    given = kind(table())
    if isinstance(given, pd.DataFrame):
        given.columns = list(exported.names_)
    ours, theirs = getattr(exported, name)(given), getattr(model, name)(given)
    assert shape(ours) == shape(theirs)
    assert len(ours) == len(theirs) > 0


def test_what_is_known_of_the_model_is_the_same(both_sides: Pair) -> None:
    model, exported = both_sides.model, both_sides.exported
    for name in ("names_", "threshold_", "expected_alarms_", "notes_", "alarms"):
        assert getattr(exported, name) == getattr(model, name)
    ours, theirs = exported.explain(table(), 1), model.explain(table(), 1)
    assert (ours.reason, ours.start, ours.end) == (theirs.reason, theirs.start, theirs.end)
