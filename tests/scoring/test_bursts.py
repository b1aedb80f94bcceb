"""A count that is mostly zero: bursts that came often in training are usual, others are not."""

import numpy as np
import pandas as pd
import pytest

from caps import CAPS
from caps.scoring.following import Standardiser

ROWS, BURSTS = 1000, 8


def bursts(times: int, size: float = 5.0) -> np.ndarray:
    """Rows that are all the same, but for two at each of so many times."""
    rows = np.zeros(ROWS)
    for start in np.linspace(10, ROWS - 10, times).astype(int):
        rows[start : start + 2] = size - 1, size + 1
    return rows


def of(rows: np.ndarray) -> Standardiser:
    return Standardiser.of(rows, 1e-3, seldom=0.05, bursts=BURSTS)


def test_others_that_came_often_tell_what_is_usual() -> None:
    usual = of(bursts(BURSTS))
    assert usual.mean == pytest.approx(5.0)
    assert usual.std == pytest.approx(1.0 / 1.2816)  # from the middle of them to the upper tenth


def test_others_that_came_once_too_seldom_are_odd() -> None:
    rows = bursts(BURSTS - 1)
    usual = of(rows)
    assert usual.mean == 0.0
    assert usual.std == pytest.approx(0.05 * rows.std())


def test_one_long_stay_elsewhere_is_one_time_however_many_rows_it_has() -> None:
    rows = np.zeros(ROWS)
    rows[500:590] = 5.0
    assert of(rows).mean == 0.0


def test_rows_that_vary_are_held_to_all_of_them_however_often_they_burst() -> None:
    rows = bursts(4 * BURSTS) + np.random.default_rng(0).standard_normal(ROWS)
    assert of(rows) == Standardiser.of(rows, 1e-3, seldom=0.05)


@pytest.mark.parametrize("causal", [False, True])
def test_usual_bursts_hide_neither_an_outage_nor_a_spike(causal: bool) -> None:
    """Every burst was as odd as could be before, and so was nothing beyond."""
    rng = np.random.default_rng(3)
    errors = np.zeros(8000)
    for start in rng.choice(7990, 60, replace=False):
        errors[start : start + rng.integers(1, 5)] = rng.poisson(5) + 1
    errors[6500:6560] = rng.poisson(5, 60) + 1
    errors[7300:7302] = 60
    times = pd.date_range("2024-05-01", periods=len(errors), freq="1min")
    frame = pd.DataFrame({"errors": errors}, times)

    model = CAPS(detector=None, causal=causal, alarms="1/1000").fit(frame[:4000])
    events = model.analyze(frame[4000:]).events

    for start, end in ((2500, 2560), (3300, 3302)):
        assert any(each.start < end and each.end > start for each in events)
    strongest = max(events, key=lambda each: each.score)
    assert 2400 < strongest.start < 2570 or strongest.start == 3300
    assert len(events) < 20  # of some thirty bursts
