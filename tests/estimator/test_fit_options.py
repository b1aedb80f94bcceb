"""An option of a fit is said once, and stands everywhere: Python, commands, HTTP, saved models."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.base import clone

from caps import CAPS, InputError
from caps.cli.detect import detect, fit
from caps.cli.fleet import fit as fit_fleet
from caps.network import AUTO
from caps.recover import Construction
from caps.scoring import OPTIONS, FitOptions
from caps.scoring.options import Construction as NamedConstruction
from caps.serve.requests import FitRequest
from untrained_weights import FAST, noisy_wave

OFFERED = {name: option for name, option in OPTIONS.items() if option.given is not None}


def test_the_options_are_the_parameters_of_the_estimator() -> None:
    shown = inspect.signature(CAPS).parameters
    assert list(shown) == [each.name for each in fields(FitOptions)]
    assert CAPS().get_params() == FitOptions().parameters()
    assert all(f"\n    {name}\n" in CAPS.__doc__ for name in shown)
    with pytest.raises(TypeError, match="unexpected keyword argument 'detectr'"):
        CAPS(detectr=None)


@pytest.mark.parametrize("command", [detect, fit, fit_fleet], ids=["detect", "fit", "fleet"])
def test_every_option_offered_is_one_of_the_commands(command: Any) -> None:
    shown = inspect.signature(command).parameters
    for name, option in OFFERED.items():
        found = shown[f"no_{name}" if option.off else name]
        flag = option.off or option.on
        assert found.default == (False if flag else option.default)
        assert get_args(found.annotation)[1].help == (flag or option.help)


def test_every_option_offered_is_a_field_of_a_request_to_fit() -> None:
    elsewhere = {"time", "pretrained"}  # those of the upload and of the service
    assert set(OFFERED) - elsewhere <= set(FitRequest.model_fields)
    assert not elsewhere & set(FitRequest.model_fields)
    request = FitRequest(series="pump").model_dump()
    differing = {
        name for name in OFFERED if name in request and request[name] != OFFERED[name].default
    }
    assert differing == {"alarms"}  # None: the model's own


def test_options_come_back_from_json_values() -> None:
    given = FitOptions(
        train=np.datetime64("2024-03-15"), modes=np.arange(2), detector=FAST, columns=("a", "b")
    )
    facts = json.loads(json.dumps(given.to_dict()))
    again = FitOptions.from_dict(facts)
    assert (again.train, list(again.modes), again.columns) == ("2024-03-15", [0, 1], ["a", "b"])
    assert again.detector == FAST
    assert FitOptions.from_dict(FitOptions().to_dict()) == FitOptions()
    carried = {"pretrained", "cache", "rules", "config"}
    assert set(facts) == set(OPTIONS) - carried


def test_every_construction_can_be_named() -> None:
    assert get_args(NamedConstruction) == get_args(Construction)


def test_there_is_no_detector_unless_it_is_asked_for() -> None:
    assert clone(CAPS()).detector is None
    assert FitOptions().detector_for(1) is None
    assert clone(CAPS(detector="auto")).detector == "auto"
    assert FitOptions(detector="auto").detector_for(1) == AUTO
    with pytest.raises(InputError, match="neither a detector nor a memory"):
        CAPS(memory=False).fit(np.arange(400.0))


@pytest.mark.parametrize(("detector", "noted"), [(None, "only kept out"), (FAST, "diagnosed as")])
def test_a_note_says_what_becomes_of_known_anomalies(detector: Any, noted: str) -> None:
    values = noisy_wave(700)
    values[200:220] += 6
    options = {"construction": "injection", "references": 16} if detector else {}
    model = CAPS(detector=detector, **options)
    assert noted in " ".join(model.fit(values, known_anomalies=[(200, 220)]).notes_)
    assert noted not in " ".join(model.fit(values).notes_)


def test_without_a_detector_rows_are_compared_with_training_alone(tmp_path: Path) -> None:
    values = noisy_wave(1200)
    values[1000:1010] += 3
    model = CAPS(train=900, alarms="1/500").fit(values)
    assert [channel.detector for channel in model.fitted_.channels] == [None]
    events = model.events(values)
    strongest = int(np.argmin(events["p_value"]))
    assert abs(int(events["start_row"][strongest]) - 1000) < 40
    model.save(tmp_path / "model")
    again = CAPS.load(tmp_path / "model")
    assert again.detector is None
    assert np.array_equal(again.decision_function(values), model.decision_function(values))
