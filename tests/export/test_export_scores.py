"""An exported model says what its model says, in batch and row by row, and needs no torch."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from exported_model import Pair, table, unseen

from caps import InputError
from caps.export import OnnxModel
from caps.export.writing import graph_of
from caps.network.config import TRANSFORMER, DetectorConfig
from caps.network.detector import Detector

CLOSE = 1e-5


def test_batch_scores_and_events_equal_those_of_torch(both_sides: Pair) -> None:
    ours, theirs = both_sides.exported.analyze(table()), both_sides.model.analyze(table())
    np.testing.assert_allclose(ours.score, theirs.score, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(ours.scores.evidence, theirs.scores.evidence, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.stack(ours.band), np.stack(theirs.band))
    assert np.isnan(ours.score[610:615]).all()
    assert ours.threshold == theirs.threshold
    assert [(e.start, e.end, e.peak) for e in ours.events] == [
        (e.start, e.end, e.peak) for e in theirs.events
    ]
    assert any(event.start < 660 and event.end > 640 for event in ours.events)
    assert both_sides.written.difference < CLOSE
    assert both_sides.written.size == both_sides.path.stat().st_size


def test_a_series_shorter_than_a_window_scores_the_same(both_sides: Pair) -> None:
    for rows in (1, 7, 300):
        np.testing.assert_allclose(
            both_sides.exported.decision_function(table()[:rows]),
            both_sides.model.decision_function(table()[:rows]),
            rtol=0,
            atol=CLOSE,
        )


def test_a_stream_equals_the_batch_and_the_stream_of_torch(causal: Pair) -> None:
    values = unseen()
    batch = causal.model.decision_function(values)
    np.testing.assert_allclose(causal.exported.decision_function(values), batch, rtol=0, atol=CLOSE)
    ours, theirs = causal.exported.stream(), causal.model.stream()
    opened = 0
    for first in (0, 400):  # many at once, then one at a time
        chunk = values[first:400] if first == 0 else values[400:]
        steps = [chunk] if first == 0 else chunk[:, None]
        for step in steps:
            mine, its = ours.extend(step), theirs.extend(step)
            np.testing.assert_allclose(mine.scores, batch[mine.rows], rtol=0, atol=CLOSE)
            np.testing.assert_allclose(mine.p_values, its.p_values, rtol=1e-3)
            assert [c.what for c in mine.changes] == [c.what for c in its.changes]
            opened += sum(change.what == "opened" for change in mine.changes)
    assert opened
    np.testing.assert_array_equal(ours.drift.bets, theirs.drift.bets)


def test_a_stream_of_the_model_goes_on_in_its_export(causal: Pair, tmp_path: Path) -> None:
    values = unseen()
    first = causal.model.stream()
    first.extend(values[:650])
    first.save(tmp_path / "state")
    rest = causal.exported.stream(state=tmp_path / "state").extend(values[650:])
    np.testing.assert_allclose(
        rest.scores, causal.model.decision_function(values)[650:], rtol=0, atol=CLOSE
    )


ALONE = """
import sys
for name in ("torch", "scipy", "narwhals", "pandas", "sklearn", "safetensors", "einops", "onnx"):
    sys.modules[name] = None  # importing it is an error
import numpy as np
from caps.export import OnnxModel
model = OnnxModel.load(sys.argv[1])
values = np.load(sys.argv[2])
stream = model.stream()
streamed = [stream.extend(part).scores for part in np.split(values, [500])]
streamed.append(stream.finish().scores)
assert len(model.events(values)["event"])
np.save(sys.argv[3], np.stack([model.decision_function(values), np.concatenate(streamed)]))
"""


def test_numpy_and_onnxruntime_are_enough(causal: Pair, tmp_path: Path) -> None:
    values = unseen()
    np.save(tmp_path / "values.npy", values)
    paths = [str(causal.path), str(tmp_path / "values.npy"), str(tmp_path / "scores.npy")]
    subprocess.run([sys.executable, "-c", ALONE, *paths], check=True)
    for scores in np.load(tmp_path / "scores.npy"):
        np.testing.assert_allclose(
            scores, causal.model.decision_function(values), rtol=0, atol=CLOSE
        )


def test_tables_are_read_where_their_libraries_are(both_sides: Pair) -> None:
    names = both_sides.exported.names_
    frame = pd.DataFrame(table(), columns=list(names))[list(reversed(names))]
    np.testing.assert_array_equal(
        both_sides.exported.decision_function(frame), both_sides.exported.decision_function(table())
    )


@pytest.mark.parametrize(
    "values",
    [np.zeros((0, 3)), np.zeros((5, 2)), np.zeros(5), np.zeros((2, 3, 4)), ["a", "b"]],
    ids=["empty", "two channels", "one channel", "cube", "text"],
)
def test_input_that_does_not_fit_is_refused(both_sides: Pair, values: object) -> None:
    with pytest.raises(InputError):
        both_sides.exported.decision_function(values)


def test_only_a_causal_model_streams(both_sides: Pair) -> None:
    with pytest.raises(InputError, match="causal=True"):
        both_sides.exported.stream()


def test_another_budget_is_another_threshold(both_sides: Pair) -> None:
    exported = OnnxModel.load(both_sides.path)
    before, found = exported.threshold_, len(exported.events(table())["event"])
    assert exported.set_alarms("1/100000") is exported
    assert exported.threshold_ > before
    assert len(exported.events(table())["event"]) < found
    with pytest.raises(InputError, match="needs times"):
        exported.set_alarms("1/day")


@pytest.mark.parametrize(
    "config",
    [
        replace(TRANSFORMER, layers=1),  # more of the same take seconds to export
        DetectorConfig(members=1, dilations=(1, 4), outputs=4),
    ],
    ids=["transformer", "outputs of modes"],
)
def test_other_networks_are_exported_too(config: DetectorConfig) -> None:
    torch.manual_seed(0)
    detectors = [Detector(config).eval().requires_grad_(False) for _ in range(2)]
    session = onnxruntime.InferenceSession(graph_of(detectors, "a note"))
    assert session.get_modelmeta().custom_metadata_map["caps"] == "a note"
    windows = np.random.default_rng(0).normal(size=(3, config.window)).astype(np.float32)
    for index, detector in enumerate(detectors):
        feed = {"windows": windows, "channel": np.array([index])}
        wanted = detector(torch.from_numpy(windows)).numpy()
        np.testing.assert_allclose(session.run(None, feed)[0], wanted, atol=1e-5)


def test_threads_are_at_least_one(causal: Pair) -> None:
    with pytest.raises(InputError, match="threads=0"):
        OnnxModel.load(causal.path, threads=0)
