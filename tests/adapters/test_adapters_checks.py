"""aeon and sktime check the adapters by their own rules, where they are installed.

`make ecosystems` runs this in an environment with both of them.
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps import CAPS

TRAIN = 400


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-05-01", periods=700, freq="h", name="time")
    wave = np.sin(np.arange(700) * 2 * np.pi / 24)
    table = pd.DataFrame({"cpu": wave, "load": 2 * wave}, index=time)
    table += 0.1 * rng.standard_normal(table.shape)
    table.iloc[600:606, 0] += 4
    return table


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> CAPS:
    return CAPS(train=TRAIN, alarms="1/day").fit(frame)


def adapter(library: str) -> Any:
    pytest.importorskip(library, reason=f"{library} is not installed: make ecosystems")
    from caps import adapters

    return adapters.AeonDetector if library == "aeon" else adapters.SktimeDetector


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_aeon_finds_no_fault() -> None:
    detector = adapter("aeon")
    from aeon.testing.estimator_checking import check_estimator

    results = check_estimator(detector)
    assert len(results) > 30
    assert {check: found for check, found in results.items() if found != "PASSED"} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_sktime_finds_no_fault() -> None:
    detector = adapter("sktime")
    from sktime.utils.estimator_checks import check_estimator

    results = check_estimator(detector, verbose=False)
    assert len(results) > 60
    assert {check: found for check, found in results.items() if found != "PASSED"} == {}


@pytest.mark.filterwarnings("default")
def test_aeon_scores_as_caps_does(frame: pd.DataFrame, model: CAPS) -> None:
    detector = adapter("aeon")(CAPS(train=TRAIN, alarms="1/day"))
    scores = detector.fit_predict(frame, axis=0)
    np.testing.assert_array_equal(scores, model.decision_function(frame))
    assert detector.model_.names_ == ("cpu", "load")
    pd.testing.assert_frame_equal(detector.model_.events(frame), model.events(frame))
    assert not hasattr(detector.model, "fitted_"), "the estimator given is left as it was"
    assert detector.get_params()["model__alarms"] == "1/day"


@pytest.mark.filterwarnings("default")
def test_aeon_gets_a_score_for_rows_without_a_value(frame: pd.DataFrame) -> None:
    values = frame.to_numpy(copy=True)
    values[500:510] = np.nan
    scores = adapter("aeon")().fit(values[:TRAIN], axis=0).predict(values, axis=0)
    assert np.isfinite(scores).all()
    assert (scores[500:510] == 0).all()
    assert scores[600:606].max() == scores.max()


@pytest.mark.filterwarnings("default")
def test_sktime_gets_the_rows_of_events_and_all_scores(frame: pd.DataFrame, model: CAPS) -> None:
    detector = adapter("sktime")(CAPS(train=TRAIN, alarms="1/day"))
    rows = detector.fit(frame).predict(frame)["ilocs"].to_numpy()
    np.testing.assert_array_equal(rows, np.flatnonzero(model.predict(frame)))
    assert set(range(600, 606)) <= set(rows)
    scores = detector.transform_scores(frame)
    assert scores.index.equals(frame.index)
    np.testing.assert_array_equal(scores["scores"], model.decision_function(frame))
    np.testing.assert_array_equal(
        detector.predict_scores(frame)["scores"], model.decision_function(frame)[rows]
    )


@pytest.mark.parametrize("library", ["aeon", "sktime"])
def test_without_the_library_the_message_names_the_remedy(library: str) -> None:
    name = f"{library.capitalize()}Detector"
    code = f"import sys; sys.modules['{library}'] = None; from caps.adapters import {name}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"{library} is not installed: pip install 'caps-tsad[{library}]'" in found.stderr
