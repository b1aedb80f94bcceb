"""Streams over HTTP when something goes wrong in between: a full disk, a refit, a misspelt name."""

import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running_service import Client, answering

from caps import CAPS
from caps.serve import streams
from caps.serve.files import ModelFolder
from untrained_weights import FAST, noisy_wave

TRAIN = 400
PATH = "/v1/models/live/streams/a"
QUICK = replace(FAST, steps=20)


@pytest.fixture(scope="module")
def causal(weights: Path) -> CAPS:
    model = CAPS(
        causal=True, construction="injection", references=8, detector=QUICK, pretrained=weights,
        alarms="1/100",
    )  # fmt: skip
    return model.fit({"load": noisy_wave(TRAIN), "heat": noisy_wave(TRAIN, seed=1)})


def put_in_force(model: CAPS, folder: Path) -> None:
    """What a fit of the service leaves."""
    models = ModelFolder(folder / "models", most=5)
    models.root.mkdir(parents=True, exist_ok=True)
    out = models.begin("live", {"series": "live", "alarms": "1/100", "known": []})
    model.save(out / "model")
    facts = {"channels": ["load", "heat"], "train": [0, TRAIN], "notes": [], "seconds": 1.0}
    (out / "facts.json").write_text(json.dumps(facts))
    models.commit("live")


@pytest.fixture
def live(causal: CAPS, tmp_path: Path) -> Iterator[Client]:
    put_in_force(causal, tmp_path)
    with answering(tmp_path) as client:
        yield client


def rows(start: int, end: int, **names: str) -> dict[str, Any]:
    both = {"load": noisy_wave(TRAIN, seed=2), "heat": noisy_wave(TRAIN, seed=3)}
    both["load"][40:50] += 8
    return {
        "columns": {names.get(name, name): each[start:end].tolist() for name, each in both.items()}
    }


def fed(client: Client, start: int, end: int, path: str = PATH) -> dict[str, Any]:
    answer = client.post(path, json=rows(start, end))
    assert answer.status_code == 200, answer.text
    update: dict[str, Any] = answer.json()
    return update


def test_rows_that_could_not_be_kept_have_not_been_taken(
    live: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_streams = streams.save_streams

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    updates = []
    for start, end in ((0, 30), (30, 60)):  # the first rows ever, and later ones
        monkeypatch.setattr(streams, "save_streams", fail)
        for _ in range(2):
            answer = live.post(PATH, json=rows(start, end))
            assert answer.status_code == 507
            assert "room" in answer.json()["remedy"]
        monkeypatch.setattr(streams, "save_streams", save_streams)
        updates.append(fed(live, start, end))
    assert updates[0]["row"] + updates[1]["row"] == list(range(60))
    assert updates[1]["counts"]["rows"] == 60
    whole = live.post("/v1/models/live/score", json=rows(0, 60)).json()
    assert np.allclose(updates[0]["score"] + updates[1]["score"], whole["score"], atol=1e-6)


def test_misspelt_or_missing_channels_are_refused(live: Client) -> None:
    fed(live, 0, 5)
    partly = {"columns": {"load": [1.0, 2.0]}}
    for odd in (rows(5, 9, load="laod"), rows(5, 9, load="x", heat="y"), partly):
        for path in (PATH, "/v1/models/live/score"):
            answer = live.post(path, json=odd)
            assert answer.status_code == 422, answer.text
            problem = answer.json()
            assert ("heat" if odd is partly else "load") in problem["problem"]
            assert problem["remedy"]
    assert fed(live, 5, 9)["row"] == [5, 6, 7, 8]


def test_a_stream_goes_on_after_a_refit_and_says_so(
    live: Client, causal: CAPS, tmp_path: Path
) -> None:
    first, _ = fed(live, 0, 45), fed(live, 0, 45, f"{PATH}-undisturbed")
    undisturbed = fed(live, 45, 60, f"{PATH}-undisturbed")
    assert first["note"] == undisturbed["note"] == ""
    put_in_force(causal, tmp_path)
    again = fed(live, 45, 60)
    assert "fitted again" in again.pop("note")
    assert again["row"] == list(range(45, 60))
    undisturbed.pop("note")
    assert again == undisturbed  # the same model: rows, scores, counts and an open event go on
    assert fed(live, 60, 70)["note"] == ""


def test_a_stream_of_other_channels_begins_anew_and_says_so(
    live: Client, causal: CAPS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(streams, "_kind", lambda _: {"channels": ["heat", "load"], "step": None})
        fed(live, 0, 5)
    put_in_force(causal, tmp_path)
    update = fed(live, 5, 9)
    assert "anew" in update["note"]
    assert update["row"] == [0, 1, 2, 3]


def test_an_ended_stream_is_forgotten(live: Client) -> None:
    fed(live, 0, 5)
    assert live.delete(PATH).json()["counts"]["rows"] == 5
    assert live.delete(PATH).status_code == 404
    assert fed(live, 0, 5)["row"] == [0, 1, 2, 3, 4]
