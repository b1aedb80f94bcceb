"""A level that stays is said, with its size and since when; what goes back or grows on is not."""

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.events.config import EventConfig
from caps.events.events import lasting_shift

ROWS, START, END = 1200, 500, 800
CONFIG = EventConfig()


def noise(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(rows)


def step(size: float, end: int = ROWS) -> np.ndarray:
    values = noise()
    values[START:end] += size
    return values


@pytest.mark.parametrize("size", [4.0, -4.0])
def test_a_level_that_stays_has_a_size(size: float) -> None:
    assert lasting_shift(step(size), START, END, CONFIG) == pytest.approx(size, abs=0.3)


@pytest.mark.parametrize(
    "values",
    [
        step(4.0, END),  # went back
        step(1.0),  # within what varies
        noise() + np.arange(ROWS) / 50,  # grows evenly
        3 * np.sin(np.arange(ROWS) * 2 * np.pi / 100) + 0.1 * noise(),  # swings
        np.full(ROWS, np.nan),
    ],
)
def test_what_goes_back_grows_or_swings_stays_nowhere(values: np.ndarray) -> None:
    assert lasting_shift(values, START, END, CONFIG) is None


def test_a_short_event_or_one_at_the_end_says_nothing_of_levels() -> None:
    assert lasting_shift(step(4.0), START, START + CONFIG.staying_rows - 1, CONFIG) is None
    assert lasting_shift(step(4.0), START, ROWS, CONFIG) is None


def test_the_reason_says_since_when_a_level_is_normal() -> None:
    rows = 6000
    values = noise(rows)
    values[3000:] += 8
    times = pd.date_range("2024-03-01", periods=rows, freq="min")
    frame = pd.DataFrame({"time": times, "queue": values})
    model = CAPS(train=1000, causal=True).fit(frame)
    longest = max(model.analyze(frame).explanations(), key=len)
    assert 2990 <= longest.start <= 3010
    assert "The level stayed 8" in longest.reason
    assert f"from {times[longest.end]:%Y-%m-%d %H:%M} on" in longest.reason
