"""What users of scikit-learn, PyOD, pandas and notebooks try first."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import caps
from caps import CAPS, InputError

TRAIN = 400


@pytest.fixture(scope="module")
def model(day_waves: pd.DataFrame) -> CAPS:
    return CAPS(train=TRAIN).fit(day_waves)


def test_fit_predict_is_fit_and_predict(day_waves: pd.DataFrame, model: CAPS) -> None:
    flags = CAPS(train=TRAIN).fit_predict(day_waves)
    np.testing.assert_array_equal(flags, model.predict(day_waves))
    assert flags[600:606].any()


def test_score_samples_is_higher_for_what_is_normal(day_waves: pd.DataFrame, model: CAPS) -> None:
    np.testing.assert_array_equal(
        model.score_samples(day_waves), -model.decision_function(day_waves)
    )


def test_the_names_of_pyod_are_those_of_the_rows_of_the_fit(
    day_waves: pd.DataFrame, model: CAPS, tmp_path: Path
) -> None:
    scores = model.decision_function(day_waves)
    np.testing.assert_array_equal(model.decision_scores_, scores)
    np.testing.assert_array_equal(model.labels_, model.predict(day_waves))
    np.testing.assert_allclose(model.predict_proba(day_waves)[:, 1], scores)
    np.testing.assert_allclose(model.predict_proba(day_waves).sum(axis=1), 1)
    model.save(tmp_path / "model")
    for without in (CAPS(), CAPS.load(tmp_path / "model")):
        assert not hasattr(without, "decision_scores_")
        assert not hasattr(without, "labels_")
    with pytest.raises(AttributeError, match="call decision_function"):
        _ = CAPS.load(tmp_path / "model").decision_scores_


@pytest.mark.parametrize("given", [np.asarray, lambda day_waves: day_waves.to_numpy().tolist()])
def test_arrays_of_the_same_width_are_scored_by_position(
    day_waves: pd.DataFrame, model: CAPS, given: object
) -> None:
    rows = day_waves.reset_index(drop=True)
    scores = model.decision_function(given(day_waves))  # type: ignore[operator]
    np.testing.assert_array_equal(scores, model.decision_function(rows))


def test_arrays_of_another_width_are_refused(day_waves: pd.DataFrame, model: CAPS) -> None:
    for width in (1, 3):
        with pytest.raises(InputError, match="the model was fitted on cpu, load"):
            model.predict(np.zeros((50, width)))


def test_a_frame_with_other_names_is_refused(day_waves: pd.DataFrame, model: CAPS) -> None:
    with pytest.raises(InputError, match="the input has no cpu, load"):
        model.predict(day_waves.set_axis(["a", "b"], axis=1))


def test_one_call_finds_scores_and_reports(
    day_waves: pd.DataFrame, model: CAPS, tmp_path: Path
) -> None:
    found = caps.detect(day_waves, train=TRAIN)
    pd.testing.assert_frame_equal(found.events, model.events(day_waves))
    pd.testing.assert_frame_equal(found.scores, model.score_frame(day_waves))
    assert repr(found).startswith(f"Detection({len(found.events)} event")
    found.report(tmp_path / "report.html", title="pump 4")
    assert "pump 4" in (tmp_path / "report.html").read_text()


def test_notebooks_show_models_and_findings(day_waves: pd.DataFrame, model: CAPS) -> None:
    assert "cpu, load" in model._repr_html_()
    assert "CAPS" in CAPS(alarms="1/day")._repr_html_()
    named = day_waves.rename(columns={"cpu": "<b>cpu"})
    assert "&lt;b&gt;cpu" in CAPS(train=TRAIN).fit(named)._repr_html_()
    found = caps.detect(named, train=TRAIN)._repr_html_()
    assert "<ol><li>" in found
    assert "<b>" not in found
