"""Day and week as contexts: a day out of its place in the week shows, and only where rows have
times."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.errors import ArtifactError
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.measures import Calendar, cycles_of
from caps.scoring.memory import Memory

HOURS, WEEK, TRAINING, ROWS = 24, 168, 4 * 168, 8 * 168
WEDNESDAY = 6 * WEEK + 2 * HOURS  # the third day of a week that begins on a Monday


def traffic(seed: int = 0) -> pd.DataFrame:
    """Hourly rows from a Monday on: busy at noon, but on weekends; one Wednesday is like them."""
    rng, hour = np.random.default_rng(seed), np.arange(ROWS)
    weekend = hour // HOURS % 7 >= 5
    weekend[WEDNESDAY : WEDNESDAY + HOURS] = True
    noon = np.exp(-(((hour % HOURS) - 12) ** 2) / 18)
    values = 20 + np.where(weekend, 20, 80) * noon + rng.standard_normal(ROWS)
    times = pd.date_range("2024-04-01", periods=ROWS, freq="h")
    return pd.DataFrame({"time": times, "orders": values})


@cache
def fitted(*, causal: bool) -> CAPS:
    return CAPS(train=TRAINING, causal=causal).fit(traffic())


@pytest.mark.parametrize(
    ("step", "rows", "wanted"),
    [
        (np.timedelta64(5, "m"), 10 * 2016, (288, 2016)),
        (np.timedelta64(5, "m"), 2016, (288,)),  # one week tells nothing of weeks
        (np.timedelta64(5, "m"), 300, ()),
        (np.timedelta64(6, "h"), 10_000, ()),  # subsequences hold weeks
        (np.timedelta64(7, "m"), 10_000, ()),  # days are no whole number of rows
        (np.timedelta64(1, "D"), 10_000, ()),
        (np.timedelta64(30, "D"), 10_000, ()),
        (None, 10_000, ()),
    ],
)
def test_cycles_are_days_and_weeks_that_training_holds(
    step: np.timedelta64 | None, rows: int, wanted: tuple[int, ...]
) -> None:
    assert cycles_of(step, rows, ScoringConfig()) == wanted


def test_rows_are_held_to_the_nearest_at_the_same_place_in_other_cycles() -> None:
    rng, first, cycle, most = np.random.default_rng(0), 5, 10, 3
    rows = rng.standard_normal(57).astype(np.float32)
    rows[31] = np.nan
    values, positions = rng.standard_normal(40), np.arange(30, 70)  # the first of them in training
    values[7] = np.nan
    found = Calendar(rows, first, cycle, most).errors(values, positions)
    for row, position in enumerate(positions):
        there = [at for at in range(len(rows)) if (at - (position - first)) % cycle == 0]
        others = [at for at in there[-most:] if at != position - first]
        errors = [abs(values[row] - rows[at]) for at in others]
        wanted = min((each for each in errors if np.isfinite(each)), default=np.nan)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_a_wednesday_like_a_sunday_is_an_event(causal: bool) -> None:
    found = fitted(causal=causal).analyze(traffic()).events
    assert any(WEDNESDAY <= event.start < WEDNESDAY + HOURS for event in found)


@pytest.mark.parametrize("causal", [False, True])
def test_a_file_without_times_is_scored_by_the_rest(causal: bool) -> None:
    found = fitted(causal=causal).analyze(traffic()[["orders"]])
    assert np.isfinite(found.score).all()


def test_rows_that_arrive_have_the_scores_of_the_whole() -> None:
    """One at a time, with a gap of days; the phase of day and week goes on behind it."""
    new = traffic(seed=3).iloc[TRAINING:]
    new = new.drop(index=new.index[200:260])
    model = fitted(causal=True)
    stream, scores = model.stream(), []
    for time, value in zip(new.time, new.orders, strict=True):
        scores += stream.update(value, time).scores.tolist()
    np.testing.assert_allclose(scores, model.analyze(new).score, atol=1e-9)


def test_a_saved_model_keeps_its_cycles(tmp_path: Path) -> None:
    fitted(causal=True).save(tmp_path / "model")
    loaded = CAPS.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.analyze(traffic()).score, fitted(causal=True).analyze(traffic()).score
    )


@pytest.mark.parametrize("cycles", [[0], [ROWS], ["day"], None])
def test_cycles_that_fit_no_rows_are_refused(cycles: object) -> None:
    memory = Memory.fit(traffic().orders.to_numpy()[:TRAINING], step=np.timedelta64(1, "h"))
    assert memory is not None
    assert memory.cycles == (HOURS, WEEK)
    facts = memory.to_dict()
    assert Memory.from_dict(facts, memory.rows, ModelConfig()).cycles == memory.cycles
    with pytest.raises(ArtifactError, match="a memory cannot be read"):
        Memory.from_dict(facts | {"cycles": cycles}, memory.rows, ModelConfig())
