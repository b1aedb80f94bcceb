"""What a stream follows beside its rows: what became usual, and the echo of what just happened."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from caps import CAPS
from caps.errors import ArtifactError
from caps.events import Event
from caps.scoring.spans import EventRules
from caps.stream.stream import Stream
from untrained_weights import noisy_wave

ROWS, TRAIN = 2600, 1200
SPIKE = 1700
TOLERANCE = 1e-9
MERGE_GAP = EventRules().merge_gap


def timed(values: np.ndarray) -> pd.DataFrame:
    index = pd.date_range("2024-05-01", periods=len(values), freq="10min")
    return pd.DataFrame({"time": index, "load": values})


def drifting() -> pd.DataFrame:
    """Noise and level grow after training; spikes, missing values, a short and a long gap."""
    values = noisy_wave(ROWS)
    rng = np.random.default_rng(5)
    after = np.arange(ROWS - TRAIN) / (ROWS - TRAIN)
    values[TRAIN:] += 1.5 * after + 0.5 * after * rng.standard_normal(len(after))
    values[[SPIKE, SPIKE + 25, 2300]] += 12
    values[1500:1504] = np.nan
    return timed(values).drop(index=[*range(1900, 1906), *range(2000, 2250)])


@pytest.fixture(scope="module")
def model() -> CAPS:
    given = CAPS(train=TRAIN, causal=True, alarms="1/500")
    return given.fit(timed(noisy_wave(ROWS)))


def rough(*spikes: int, size: float = 8.0) -> np.ndarray:
    """A process that forgets within a dozen rows, with spikes of so many std."""
    values = lfilter([1.0], [1.0, -0.9], np.random.default_rng(0).standard_normal(ROWS))
    values[list(spikes)] += size * values.std()
    return values


@pytest.fixture(scope="module")
def of_rough() -> CAPS:
    given = CAPS(train=TRAIN, causal=True, alarms="1/1000")
    return given.fit(timed(rough()))


def fed(stream: Stream, frame: pd.DataFrame, at_once: int) -> tuple[np.ndarray, list[Event]]:
    """Scores and closed events, so many rows at a time."""
    scores, closed = [], []
    for first in range(0, len(frame), at_once):
        part = frame[first : first + at_once]
        update = stream.extend(part["load"].to_numpy(), [*part["time"]])
        scores.append(update.scores)
        closed += [change for change in update.changes if change.what == "closed"]
    return np.concatenate(scores), closed


def ended(stream: Stream) -> list[Event]:
    return [change for change in stream.finish().changes if change.what == "closed"]


def rows_of(events: list[Event] | tuple[Event, ...]) -> list[tuple[int, int, int]]:
    return [(event.start, event.end, event.peak) for event in events]


@pytest.mark.parametrize("at_once", [7, 1000])
def test_streaming_equals_batch_while_what_is_usual_changes(model: CAPS, at_once: int) -> None:
    frame = drifting()[TRAIN:]
    stream, analysis = model.stream(), model.analyze(frame)
    scores, closed = fed(stream, frame, at_once)
    closed += ended(stream)
    np.testing.assert_allclose(scores, analysis.score, atol=TOLERANCE)
    assert rows_of(closed) == rows_of(analysis.spans)
    assert len(closed) >= 3
    usual = [each.mean for each in model.fitted_.channels[0].memory.standardisers.values()]
    assert (stream.followers[0].location > np.array(usual)).any()  # or nothing was followed


@pytest.mark.parametrize("cut", [1, 301, 501, 505, 703, 706, 800, 806, 1100])
def test_a_stream_saved_in_the_middle_goes_on_as_the_batch(
    model: CAPS, tmp_path: Path, cut: int
) -> None:
    """Before, in and after gaps, within an event and within its echo."""
    frame = drifting()[TRAIN:]
    analysis = model.analyze(frame)
    first = model.stream()
    before, closed = fed(first, frame[:cut], 97)
    first.save(tmp_path / "state")
    second = model.stream(state=tmp_path / "state")
    after, closed_later = fed(second, frame[cut:], 97)
    np.testing.assert_allclose(np.concatenate([before, after]), analysis.score, atol=TOLERANCE)
    assert rows_of([*closed, *closed_later, *ended(second)]) == rows_of(analysis.spans)


def test_what_became_usual_is_part_of_the_state(model: CAPS, tmp_path: Path) -> None:
    """Without it, the rows after a restart would be scored as those after training."""
    frame = drifting()[TRAIN:]
    first = model.stream()
    fed(first, frame[:900], 450)
    first.save(tmp_path / "state")
    restored, forgetful = (model.stream(state=tmp_path / "state") for _ in range(2))
    forgetful.followers = model.fitted_.followers()
    kept, lost = (fed(each, frame[900:], 450)[0] for each in (restored, forgetful))
    assert np.nanmax(np.abs(kept - lost)) > 0.05


@pytest.mark.parametrize("odd", ["shape", "scale", "rows", "none"])
def test_a_state_of_what_is_usual_that_is_none_is_refused(
    model: CAPS, tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = model.stream()
    fed(stream, drifting()[:50], 50)
    facts, arrays = stream.state()
    followed = arrays["followed"].copy()
    if odd == "shape":
        followed = followed[:-1]
    elif odd == "scale":
        followed[0, -1] = 0.0
    elif odd == "rows":
        facts = facts | {"followed": [-1]}
    else:
        facts = facts | {"followed": []}
    forged = facts, arrays | {"followed": followed}
    monkeypatch.setattr(stream, "state", lambda: forged)
    stream.save(tmp_path / "state")
    with pytest.raises(ArtifactError, match="no sound state"):
        model.stream(state=tmp_path / "state")


def events_near(events: list[Event] | tuple[Event, ...], row: int, rows: int) -> list[Event]:
    return [event for event in events if event.start < row + rows and event.end > row]


@pytest.mark.parametrize("size", [8, -8, 4])
def test_a_spike_is_one_short_live_event_without_an_echo(of_rough: CAPS, size: float) -> None:
    frame = timed(rough(SPIKE, size=size))[TRAIN:]
    stream = of_rough.stream()
    _, closed = fed(stream, frame, 200)
    (event,) = events_near([*closed, *ended(stream)], SPIKE - TRAIN, 128)
    assert event.start == SPIKE - TRAIN
    assert len(event) <= 3


def test_a_spike_on_a_wave_has_no_echo_either(model: CAPS) -> None:
    values = noisy_wave(ROWS)
    values[SPIKE] += 12
    (event,) = events_near(model.analyze(timed(values)[TRAIN:]).spans, SPIKE - TRAIN, 128)
    assert len(event) <= 3


@pytest.mark.parametrize("later", [MERGE_GAP + 4, 25, 60])
def test_a_spike_within_the_echo_of_another_is_an_event_of_its_own(
    of_rough: CAPS, tmp_path: Path, later: int
) -> None:
    frame = timed(rough(SPIKE, SPIKE + later))[TRAIN:]
    between = SPIKE - TRAIN + later // 2
    stream = of_rough.stream()
    _, closed = fed(stream, frame[:between], 50)
    stream.save(tmp_path / "state")
    again = of_rough.stream(state=tmp_path / "state")
    closed += [*fed(again, frame[between:], 50)[1], *ended(again)]
    near = events_near(closed, SPIKE - TRAIN, later + 1)
    assert [event.start for event in near] == [SPIKE - TRAIN, SPIKE + later - TRAIN]
    assert max(len(event) for event in near) <= MERGE_GAP
    assert rows_of(closed) == rows_of(of_rough.analyze(frame).spans)


def test_the_events_of_a_causal_analysis_are_those_of_its_tracker(model: CAPS) -> None:
    """Also at another edge, where more of the echo counts."""
    frame = drifting()[TRAIN:]
    strict = model.analyze(frame)
    for edge in (0.0, 0.6, 1.0):
        stream = model.stream()
        stream.tracker.rules = rules = EventRules(live_edge=edge)
        analysis = type(strict)(
            *(strict.series, strict.grid, strict.rows, strict.fitted, strict.scores),
            *(strict.threshold, rules),
        )
        _, closed = fed(stream, frame, 300)
        assert rows_of([*closed, *ended(stream)]) == rows_of(analysis.spans)
