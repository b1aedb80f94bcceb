"""Events: merged, long enough, kept apart, with direction, size and times."""

import json

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from caps.errors import ArtifactError, InputError
from caps.events.config import EventConfig
from caps.events.events import effect, find_events
from caps.scoring.calibration import calibrate
from caps.scoring.spans import EventRules, event_spans
from oracles.scoring import naive_spans

levels = st.sampled_from([0.0, 0.2, 0.5, 0.9, float("nan")])


@given(
    scores=st.lists(levels, max_size=60),
    threshold=st.sampled_from([0.2, 0.5, 0.95]),
    merge_gap=st.integers(0, 4),
    minimum_length=st.integers(1, 4),
    cool_down=st.integers(0, 8),
)
# The ends of each rule, whatever is drawn: kept and dropped, merged and apart, long and short.
@example(
    scores=[0.9, 0.0, 0.0, 0.0, 0.9], threshold=0.5, merge_gap=1, minimum_length=1, cool_down=3
)
@example(
    scores=[0.9, 0.0, 0.0, 0.0, 0.9], threshold=0.5, merge_gap=1, minimum_length=1, cool_down=4
)
@example(
    scores=[0.9, 0.0, 0.0, 0.0, 0.9], threshold=0.5, merge_gap=3, minimum_length=5, cool_down=0
)
@example(
    scores=[0.9, 0.0, 0.0, 0.0, 0.9], threshold=0.5, merge_gap=2, minimum_length=1, cool_down=0
)
@example(
    scores=[0.9, 0.9, 0.0, 0.0, 0.9], threshold=0.5, merge_gap=1, minimum_length=2, cool_down=0
)
def test_events_equal_their_definition(
    scores: list[float], threshold: float, merge_gap: int, minimum_length: int, cool_down: int
) -> None:
    rules = EventRules(merge_gap, minimum_length, cool_down)
    found = event_spans(np.array(scores), threshold, rules)
    expected = naive_spans(np.array(scores), threshold, merge_gap, minimum_length, cool_down)
    assert [tuple(span) for span in found.tolist()] == expected


def test_the_peak_is_the_highest_score_of_the_event() -> None:
    scores = np.array([0.0, 0.6, np.nan, 0.9, 0.6, 0.0])
    (event,) = find_events(scores, 0.5, EventRules(merge_gap=1))
    assert (event.start, event.end, event.peak, event.score) == (1, 5, 3, 0.9)
    assert len(event) == 4


def test_no_score_above_the_threshold_gives_no_event() -> None:
    assert find_events(np.full(10, 0.2), 0.5) == []
    assert find_events(np.full(10, np.nan), 0.5) == []
    assert find_events(np.zeros(0), 0.5) == []


@pytest.mark.parametrize(
    ("deviation", "direction", "size"),
    [
        ([2.0, 3.0, 4.0], "up", 3.0),
        ([-2.0, -1.0, np.nan], "down", 1.5),
        ([2.0, -2.0, 2.0 - 2.0], "both", 4 / 3),
        ([0.0, 0.0, 0.0], "both", 0.0),
        ([np.nan, np.nan, np.nan], None, None),
    ],
)
def test_direction_and_size_come_from_the_deviation(
    deviation: list[float], direction: str | None, size: float | None
) -> None:
    assert effect(np.array(deviation), EventConfig()) == (
        direction,
        None if size is None else pytest.approx(size),
    )


def test_events_carry_the_times_of_their_first_and_last_row() -> None:
    time = np.datetime64("2024-01-01", "ns") + np.arange(5) * np.timedelta64(1, "h")
    (event,) = find_events(np.array([0.0, 0.9, 0.8, 0.0, 0.0]), 0.5, time=time)
    assert (event.start_time, event.end_time) == (time[1], time[2])


def test_events_tell_how_often_normal_data_have_one_as_strong() -> None:
    calibration = calibrate(np.random.default_rng(0).beta(1, 9, 2000))
    scores = np.array([0.1, 0.6, 0.7, 0.1])
    (event,) = find_events(scores, 0.5, calibration=calibration)
    assert event.p_value == pytest.approx(float(calibration.event_p_values(0.7)))
    assert event.p_value is not None
    assert 0 < event.p_value < 0.01


def test_times_of_another_length_are_refused() -> None:
    with pytest.raises(InputError, match="3 rows of time for 4 scores"):
        find_events(np.zeros(4), 0.5, time=np.zeros(3, dtype="datetime64[ns]"))


@pytest.mark.parametrize(
    "wrong", [{"merge_gap": -1}, {"minimum_length": 0}, {"cool_down": -1}], ids=str
)
def test_rules_below_their_least_value_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="or more rows"):
        EventRules(**wrong)


def test_rules_survive_json() -> None:
    rules = EventRules(3, 2, 9)
    assert EventRules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    with pytest.raises(ArtifactError, match="cool_down"):
        EventRules.from_dict({"merge_gap": 1, "minimum_length": 1})
