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
def model(day_waves: pd.DataFrame) -> CAPS:
    return CAPS(train=TRAIN, alarms="1/day").fit(day_waves)


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
def test_aeon_scores_as_caps_does(day_waves: pd.DataFrame, model: CAPS) -> None:
    detector = adapter("aeon")(CAPS(train=TRAIN, alarms="1/day"))
    scores = detector.fit_predict(day_waves, axis=0)
    np.testing.assert_array_equal(scores, model.decision_function(day_waves))
    assert detector.model_.names_ == ("cpu", "load")
    pd.testing.assert_frame_equal(detector.model_.events(day_waves), model.events(day_waves))
    assert not hasattr(detector.model, "fitted_"), "the estimator given is left as it was"
    assert detector.get_params()["model__alarms"] == "1/day"


@pytest.mark.filterwarnings("default")
def test_aeon_gets_a_score_for_rows_without_a_value(day_waves: pd.DataFrame) -> None:
    values = day_waves.to_numpy(copy=True)
    values[500:510] = np.nan
    scores = adapter("aeon")().fit(values[:TRAIN], axis=0).predict(values, axis=0)
    assert np.isfinite(scores).all()
    assert (scores[500:510] == 0).all()
    assert scores[600:606].max() == scores.max()


@pytest.mark.filterwarnings("default")
def test_sktime_gets_the_rows_of_events_and_all_scores(
    day_waves: pd.DataFrame, model: CAPS
) -> None:
    detector = adapter("sktime")(CAPS(train=TRAIN, alarms="1/day"))
    rows = detector.fit(day_waves).predict(day_waves)["ilocs"].to_numpy()
    np.testing.assert_array_equal(rows, np.flatnonzero(model.predict(day_waves)))
    assert set(range(600, 606)) <= set(rows)
    scores = detector.transform_scores(day_waves)
    assert scores.index.equals(day_waves.index)
    np.testing.assert_array_equal(scores["scores"], model.decision_function(day_waves))
    np.testing.assert_array_equal(
        detector.predict_scores(day_waves)["scores"], model.decision_function(day_waves)[rows]
    )


@pytest.mark.parametrize("library", ["aeon", "sktime"])
def test_without_the_library_the_message_names_the_remedy(library: str) -> None:
    name = f"{library.capitalize()}Detector"
    code = f"import sys; sys.modules['{library}'] = None; from caps.adapters import {name}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"{library} is not installed: pip install 'caps-tsad[{library}]'" in found.stderr
