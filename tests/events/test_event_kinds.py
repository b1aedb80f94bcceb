"""The kind of an event is asked for with the rows that deviate, not with all rows of the event."""

from typing import Any

import numpy as np
import pytest

from caps.events.config import EventConfig
from caps.events.kinds import event_kind

WINDOW = 32


class Router:
    """Notes what it is asked, and finds a trend the likelier the more rows are marked."""

    window = WINDOW
    modes = ("point", "trend")

    def __init__(self) -> None:
        self.asked: list[tuple[np.ndarray, np.ndarray]] = []

    def associate(self, windows: np.ndarray, supports: np.ndarray) -> np.ndarray:
        self.asked.append((windows, supports))
        trend = supports.mean(axis=1)
        return np.stack([1 - trend, trend], axis=1)


def asked(values: np.ndarray, start: int, end: int, **config: Any) -> tuple[Router, dict]:
    router = Router()
    found = event_kind(
        router,  # type: ignore[arg-type]
        *(values, start, end, np.zeros(end - start)),
        EventConfig(**config),
    )
    return router, found


def test_the_support_is_the_rows_that_deviate_by_a_share_of_the_largest_deviation() -> None:
    values = np.zeros(200)
    values[90:110] = [*[1.0] * 4, *[4.0] * 4, *[10.0] * 4, *[4.0] * 4, *[1.0] * 4]
    router, found = asked(values, 80, 120, support_shares=(0.05, 0.3, 0.9))
    marked = [supports.sum(axis=1).tolist() for _, supports in router.asked]
    assert marked == [[20.0], [12.0], [4.0]]
    for windows, supports in router.asked:
        assert windows.shape == supports.shape == (1, WINDOW)
        assert np.flatnonzero(windows[0]).tolist() == list(range(6, 26))  # centred
    assert found == pytest.approx({"point": 1 - 12 / WINDOW, "trend": 12 / WINDOW})
    assert list(found) == ["point", "trend"]  # the best first


def test_a_deviation_that_crosses_zero_does_not_end_the_support() -> None:
    values = np.zeros(200)
    values[95:105] = [5, 5, 5, 0, 0, 0, 0, -5, -5, -5]
    whole, _ = asked(values, 90, 110, support_closing=7)
    parts, _ = asked(values, 90, 110, support_closing=3)
    assert {supports.sum() for _, supports in whole.asked} == {10}
    assert {supports.sum() for _, supports in parts.asked} == {6}


def test_long_events_are_asked_about_in_windows_that_count_by_what_they_hold() -> None:
    values = np.zeros(300)
    values[100:180] = 3.0
    values[130:160] = 0.0  # nothing deviates here
    router, found = asked(values, 100, 180, support_shares=(0.5,))
    ((_, supports),) = router.asked
    held = supports.sum(axis=1)
    assert len(set(held.tolist())) > 2
    assert found["trend"] == pytest.approx((held / WINDOW * held).sum() / held.sum())
