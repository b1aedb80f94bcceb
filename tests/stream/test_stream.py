"""`CAPS.stream`: rows one at a time give what the whole series gives; odd arrivals are counted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from caps import CAPS, InputError
from caps.artifacts import sealed
from caps.errors import ArtifactError
from caps.network.config import DetectorConfig
from caps.network.detector import Detector
from caps.network.few_windows import few_logits
from caps.scoring.spans import EventRules
from caps.stream.storage import SavedStreams
from caps.stream.stream import Stream, Update
from caps.training import seeded
from untrained_weights import FAST, noisy_wave, save_untrained_weights

ROWS, TRAIN = 900, 700
STEP = np.timedelta64(10, "m")
# Sums in float32 depend on how many windows go through the network at once.
TOLERANCE = 1e-5


def metrics(start: str = "2024-05-01", seed: int = 0) -> pd.DataFrame:
    """Two metrics with anomalies, missing values and gaps, one longer than a window."""
    rng = np.random.default_rng(seed + 1)
    time = pd.date_range(start, periods=ROWS + 400, freq="10min")
    load = noisy_wave(len(time), seed)
    heat = np.cos(np.arange(len(time)) / 11) + 0.1 * rng.standard_normal(len(time))
    load[760:775] += 6
    load[790] += 9
    load[880:890] -= 6
    heat[400:405] = np.nan
    heat[1215:1230] += 5
    frame = pd.DataFrame({"time": time, "load": load, "heat": heat})
    frame.loc[820, ["load", "heat"]] = np.nan
    return frame.drop(index=[*range(300, 310), *range(900, 1200)]).reset_index(drop=True)


def arrived() -> pd.DataFrame:
    """New rows: a stream does not recognise those of training, a whole series does."""
    return metrics("2024-07-01", seed=2)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CAPS:
    weights = save_untrained_weights(tmp_path_factory.mktemp("weights") / "untrained")
    given = CAPS(
        train=TRAIN, causal=True, pretrained=weights, detector=FAST, construction="injection",
        references=48, alarms="1/200", rules=EventRules(merge_gap=6),
    )  # fmt: skip
    return given.fit(metrics())


def feed(stream: Stream, frame: pd.DataFrame, at_once: int = 1) -> tuple[np.ndarray, list]:
    """Scores and changes of the rows, so many at a time."""
    values, times = frame[["load", "heat"]].to_numpy(), [*frame["time"]]
    updates = []
    for first in range(0, len(frame), at_once):
        if at_once == 1:
            updates.append(stream.update(values[first], times[first]))
        else:
            part = slice(first, first + at_once)
            updates.append(stream.extend(values[part], times[part]))
    updates.append(stream.finish())
    changes = [change for update in updates for change in update.changes]
    return np.concatenate([update.scores for update in updates]), changes


def bands_of(updates: list[Update]) -> np.ndarray:
    """(what, row, channel)."""
    return np.concatenate([np.stack(update.band) for update in updates], axis=1)


@pytest.mark.parametrize("size", [1, 7])
def test_bands_of_a_stream_are_those_of_the_batch_after_a_restart_too(
    model: CAPS, tmp_path: Path, size: int
) -> None:
    frame, stream = arrived(), model.stream()
    values, times = frame[["load", "heat"]].to_numpy(), [*frame["time"]]
    updates = [stream.extend(values[:600], times[:600])]
    stream.save(tmp_path / "state")
    again = model.stream(state=tmp_path / "state")
    for first in range(600, len(frame), size):
        part = slice(first, first + size)
        updates.append(again.extend(values[part], times[part]))
    expected = np.stack(model.analyze(frame).band)
    np.testing.assert_allclose(bands_of(updates), expected, rtol=1e-9)
    assert np.isfinite(expected[:, 10:200]).all()


def assert_same_events(changes: list, model: CAPS, frame: pd.DataFrame) -> None:
    analysis = model.analyze(frame)
    closed = [change for change in changes if change.what == "closed"]
    assert len(closed) == len(analysis.spans) > 2
    for change, event in zip(closed, analysis.spans, strict=True):
        for name in ("number", "start", "end", "peak", "start_time", "end_time", "peak_time"):
            assert getattr(change, name) == getattr(event, name), name
        assert change.score == pytest.approx(event.score, abs=TOLERANCE)
        assert change.p_value == pytest.approx(event.p_value, rel=1e-3)
        on_rows = analysis.events[change.number - 1]
        assert change.contributions == pytest.approx(on_rows.contributions, abs=1e-4)


def test_rows_one_at_a_time_give_the_scores_and_events_of_the_batch(model: CAPS) -> None:
    frame = arrived()
    stream = model.stream()
    scores, changes = feed(stream, frame)
    np.testing.assert_allclose(scores, model.decision_function(frame), atol=TOLERANCE)
    assert_same_events(changes, model, frame)
    assert stream.counts.gaps == 2
    assert stream.counts.absent == 310
    assert stream.counts.missing == 1
    assert stream.counts.rows == len(frame)
    for number in range(1, stream.tracker.events + 1):
        own = [change.what for change in changes if change.number == number]
        assert own == ["opened", *["updated"] * (len(own) - 2), "closed"]


@pytest.mark.parametrize("size", [7, 450])
def test_many_rows_at_once_give_the_same(model: CAPS, size: int) -> None:
    frame = arrived()
    scores, changes = feed(model.stream(), frame, at_once=size)
    np.testing.assert_allclose(scores, model.decision_function(frame), atol=TOLERANCE)
    assert_same_events(changes, model, frame)


def shuffled(frame: pd.DataFrame, lateness: int) -> pd.DataFrame:
    """Rows up to `lateness` steps late, and some twice."""
    rng = np.random.default_rng(3)
    steps = ((frame["time"] - frame["time"][0]) / STEP).to_numpy()
    order = np.argsort(steps + rng.integers(0, lateness + 1, len(frame)), kind="stable")
    twice = np.sort(np.concatenate([np.arange(len(frame)), rng.choice(len(frame), 40)]))
    return frame.iloc[order].iloc[twice].reset_index(drop=True)


def test_late_and_repeated_rows_do_no_harm_within_the_lateness(model: CAPS) -> None:
    frame = arrived()
    stream = model.stream(lateness=5)
    scores, changes = feed(stream, shuffled(frame, 5), at_once=13)
    assert stream.counts.duplicate == 40
    assert stream.counts.out_of_order > 100
    assert stream.counts.late == 0
    np.testing.assert_allclose(scores, model.decision_function(frame), atol=TOLERANCE)
    assert_same_events(changes, model, frame)


def test_rows_that_come_too_late_are_refused_and_counted(model: CAPS) -> None:
    frame = arrived()[:50]
    stream = model.stream()
    order = [*range(20), *range(21, 30), 20, 29, 5, *range(30, 50)]
    scores, _ = feed(stream, frame.iloc[order])
    assert (stream.counts.late, stream.counts.duplicate) == (1, 2)
    assert len(scores) == 49
    kept = frame.drop(index=20)
    np.testing.assert_allclose(scores, model.decision_function(kept), atol=TOLERANCE)


def test_a_row_far_in_the_future_does_not_make_all_others_late(model: CAPS) -> None:
    stream = model.stream()
    frame = arrived()[:30]
    for index, row in enumerate(frame.itertuples(index=False)):
        update = stream.update([row.load, row.heat], row.time)
        if index == 10:
            jump = stream.update([0.0, 0.0], "2093-01-01")
            assert (len(jump.scores), jump.held, dict(jump.refused)) == (0, 1, {})
        if index == 11:
            assert (update.held, dict(update.refused)) == (0, {"ahead": 1})
    assert stream.counts.rows == 30
    assert (stream.counts.ahead, stream.counts.late) == (1, 0)
    later = pd.Timestamp("2025-01-01")
    stream.update([0.0, 0.0], later)
    assert len(stream.update([0.0, 0.0], later + STEP).scores) == 2
    assert stream.counts.gaps == 1


def test_a_second_message_brings_the_channels_that_the_first_lacked(model: CAPS) -> None:
    stream = model.stream(lateness=1)
    stream.update({"load": 5.0}, "2024-05-01 00:00")
    stream.update({"heat": 0.5}, "2024-05-01 00:00")
    stream.update({"heat": 0.7}, "2024-05-01 00:00")
    assert stream.counts.rows == 1
    assert stream.counts.duplicate == 1
    assert stream.finish().rows.tolist() == [0]
    assert stream.past.tolist() == [[5.0, 0.5]]


@pytest.mark.parametrize("cut", [200, 765, 885])
def test_a_restored_stream_goes_on_as_if_nothing_had_happened(
    model: CAPS, tmp_path: Path, cut: int
) -> None:
    frame = shuffled(arrived(), 3)
    stream = model.stream(lateness=3)
    parts = [frame[:cut], frame[cut:]]
    first = stream.extend(parts[0][["load", "heat"]].to_numpy(), [*parts[0]["time"]])
    stream.save(tmp_path / "state")
    again = model.stream(lateness=3, state=tmp_path / "state")
    last = again.extend(parts[1][["load", "heat"]].to_numpy(), [*parts[1]["time"]])
    end = again.finish()
    scores = np.concatenate([first.scores, last.scores, end.scores])
    np.testing.assert_allclose(scores, model.decision_function(arrived()), atol=TOLERANCE)
    assert_same_events([*first.changes, *last.changes, *end.changes], model, arrived())
    assert again.counts.duplicate == 40


def forge(folder: Path, old: str, new: str) -> None:
    """Change the manifest as someone would who knows about the seal."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text().replace(old, new))
    facts = {name: manifest[name] for name in ("streams", "extra")}
    path.write_text(json.dumps(manifest | sealed(facts)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"tracker"', '"tracked"', "no sound state"),
        ('"model": "', '"model": "0', "another model"),
        ('"version": ', '"version": 9', "format version"),
    ],
)
def test_the_state_of_another_model_or_an_edited_one_is_refused(
    model: CAPS, tmp_path: Path, old: str, new: str, message: str
) -> None:
    stream = model.stream()
    stream.update([5.0, 0.0], "2024-05-01")
    stream.save(tmp_path / "state")
    forge(tmp_path / "state", old, new)
    with pytest.raises(ArtifactError, match=message):
        model.stream(state=tmp_path / "state")


def test_every_edit_of_a_digit_in_the_state_is_refused(model: CAPS, tmp_path: Path) -> None:
    stream = model.stream(lateness=2)
    frame = arrived()[:70]
    stream.extend(frame[["load", "heat"]].to_numpy(), [*frame["time"]])
    stream.save(tmp_path / "state")
    path = tmp_path / "state" / "manifest.json"
    whole, refused = path.read_text(), 0
    digits = [index for index, letter in enumerate(whole) if letter.isdigit()]
    for index in digits:
        path.write_text(whole[:index] + str((int(whole[index]) + 1) % 10) + whole[index + 1 :])
        with pytest.raises(ArtifactError):
            SavedStreams(tmp_path / "state")
        refused += 1
    assert refused == len(digits) >= 386
    path.write_text(whole)
    assert model.stream(lateness=2, state=tmp_path / "state").counts == stream.counts


def test_memory_does_not_grow_with_the_stream(model: CAPS) -> None:
    stream = model.stream(lateness=4)
    for hour in range(40):
        time = np.datetime64("2024-05-01") + STEP * np.arange(hour * 50, hour * 50 + 50)
        stream.extend(np.full((50, 2), 5.0), [*time])
        if hour == 20:
            sizes = {name: array.shape for name, array in stream.state()[1].items()}
    assert len(stream.past) == model.fitted_.context < 600
    assert {name: array.shape for name, array in stream.state()[1].items()} == sizes
    assert len(stream.arrivals.waiting) == 4
    assert len(stream.arrivals.recent) <= 512


def test_a_model_without_times_takes_every_row_as_the_next(model: CAPS) -> None:
    frame = arrived()[["load", "heat"]][:300]
    values = frame.to_numpy()
    stream = model.stream()
    scores = np.concatenate([stream.update(row).scores for row in values])
    np.testing.assert_allclose(scores, model.decision_function(frame), atol=TOLERANCE)
    with pytest.raises(InputError, match="give all or none"):
        stream.update(values[0], "2024-05-01")


def test_unusable_rows_and_models_name_the_remedy(model: CAPS) -> None:
    stream = model.stream()
    with pytest.raises(InputError, match="one number for each channel"):
        stream.update(1.0, "2024-05-01")
    with pytest.raises(InputError, match="give numbers"):
        stream.update(["a", 1.0], "2024-05-01")
    with pytest.raises(InputError, match="no moment"):
        stream.update([1.0, 2.0], 17)
    for time in ("9999-12-31", "1600-01-01", "0001-01-01T00:00:00+05:00"):
        with pytest.raises(InputError, match="outside 1677 to 2262"):
            stream.update([1.0, 2.0], time)
    with pytest.raises(InputError, match="lateness=-1"):
        model.stream(lateness=-1)
    assert stream.counts.rows == 0
    both = CAPS()
    both.fitted_ = type(model.fitted_)(
        **{name: getattr(model.fitted_, name) for name in model.fitted_.__slots__}
        | {"causal": False}
    )
    with pytest.raises(InputError, match="causal=True"):
        both.stream()


@pytest.mark.parametrize("view", ["window", "series", "both"])
@pytest.mark.parametrize(("patch", "kernel", "outputs"), [(4, 3, 1), (1, 5, 1), (4, 3, 4)])
def test_few_windows_in_numpy_have_the_logits_of_the_network(
    view: str, patch: int, kernel: int, outputs: int
) -> None:
    sizes = {"patch": patch, "kernel": kernel, "outputs": outputs}
    config = DetectorConfig(
        window=64, width=16, stride=16, dilations=(1, 8, 64), view=view, **sizes
    )
    with seeded(0, "few"):
        detector = Detector(config)
        detector.train()(torch.randn(64, 64))  # statistics of their own for the norms
    windows = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32) * 7
    assert few_logits(detector.members, windows) is None  # while it learns
    detector.eval()
    with torch.inference_mode():
        wanted = detector(torch.from_numpy(windows)).numpy()
    np.testing.assert_allclose(few_logits(detector.members, windows), wanted, atol=1e-5)
    attention = Detector(DetectorConfig(network="transformer", width=16, window=64, stride=16))
    assert few_logits(attention.eval().members, windows) is None
