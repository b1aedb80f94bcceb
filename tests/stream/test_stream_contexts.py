"""A stream looks up each context once, and its scores are those of the batch all the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.neighbours import SubsequenceIndex
from caps.scoring.contexts import PIECE
from untrained_weights import noisy_wave

ROWS, TRAIN = 2200, 1000
TOLERANCE = 1e-9


def frame_of(values: np.ndarray) -> pd.DataFrame:
    times = pd.date_range("2024-05-01", periods=len(values), freq="10min")
    return pd.DataFrame({"time": times, "load": values[:, 0], "power": values[:, 1]})


def waves() -> np.ndarray:
    """Two channels, the second of another period."""
    return np.stack([noisy_wave(ROWS), noisy_wave(2 * ROWS)[::2]], axis=1)


def with_gaps() -> pd.DataFrame:
    """Spikes, values missing in one channel, in both, and rows that are not there."""
    values, rng = waves(), np.random.default_rng(3)
    values[[1100, 1620], [0, 1]] += 9
    values[rng.random(ROWS) < 0.02, 0] = np.nan
    values[1300:1312] = np.nan
    values[1400:1560, 1] = np.nan
    return frame_of(values).drop(index=[*range(1205, 1211), *range(1700, 2010)])[TRAIN:]


@pytest.fixture(scope="module")
def model() -> CAPS:
    return CAPS(train=TRAIN, causal=True, alarms="1/500").fit(frame_of(waves()))


@pytest.fixture(scope="module")
def scores(model: CAPS) -> np.ndarray:
    return np.asarray(model.analyze(with_gaps()).score)


@pytest.mark.parametrize("seed", range(4))
def test_random_batches_saved_and_restored_between_give_the_scores_of_the_batch(
    model: CAPS, scores: np.ndarray, tmp_path: Path, seed: int
) -> None:
    frame, rng = with_gaps(), np.random.default_rng(seed)
    stream, found, first = model.stream(), [], 0
    while first < len(frame):
        part = frame[first : first + int(rng.choice([1, 2, 3, 17, 200]))]
        found.append(stream.extend(part[["load", "power"]].to_numpy(), [*part["time"]]).scores)
        first += len(part)
        if rng.random() < 0.3:
            stream.save(tmp_path / f"state-{first}")
            stream = model.stream(state=tmp_path / f"state-{first}")
    np.testing.assert_allclose(np.concatenate(found), scores, atol=TOLERANCE)


def test_rows_one_at_a_time_give_the_scores_of_the_batch(model: CAPS, scores: np.ndarray) -> None:
    frame, stream = with_gaps(), model.stream()
    found = [
        stream.update([load, power], time).scores
        for time, load, power in frame.itertuples(index=False)
    ]
    np.testing.assert_allclose(np.concatenate(found), scores, atol=TOLERANCE)


def test_a_batch_is_the_same_in_pieces_of_any_size(
    model: CAPS, scores: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(scores) > PIECE
    monkeypatch.setattr("caps.scoring.contexts.PIECE", 37)
    again = np.asarray(model.analyze(with_gaps()).score)
    np.testing.assert_allclose(again, scores, atol=TOLERANCE)


def test_a_row_looks_up_one_context_of_each_length(
    model: CAPS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, stream = with_gaps()[["load", "power"]].to_numpy(), model.stream()
    stream.extend(rows[:280])
    asked, query = [], SubsequenceIndex.query

    def counted(index: SubsequenceIndex, queries: np.ndarray, *others: object, **more: bool):  # type: ignore[no-untyped-def]
        asked.append(len(queries))
        return query(index, queries, *others, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(SubsequenceIndex, "query", counted)
    stream.update(rows[280])
    memories = [channel.memory for channel in model.fitted_.channels]
    assert asked == [1] * sum(len(memory.recent_contexts().indices) for memory in memories)
    # A stream that goes on from a state looks up those before its first row, once.
    stream.save(tmp_path / "state")
    again = model.stream(state=tmp_path / "state")
    asked.clear()
    again.update(rows[281])
    assert sum(asked) > 2 * len(memories) * max(model.fitted_.config.neighbours.horizons)
    asked.clear()
    again.update(rows[282])
    assert set(asked) == {1}
