"""Events followed row by row are those that `find_events` finds in all rows at once."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caps.events import find_events
from caps.scoring.evidence import shares
from caps.scoring.spans import EventRules
from caps.stream.tracker import EventChange, EventTracker

START = np.datetime64("2024-05-01", "ns")
STEP = np.timedelta64(60, "s")
LEVELS = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9, float("nan")])


def follow(
    tracker: EventTracker, scores: np.ndarray, evidence: np.ndarray, first: int = 0
) -> list[EventChange]:
    changes = []
    for row, score in enumerate(scores.tolist()):
        if np.isnan(score) and (first + row) % 2:
            continue  # a row that never came
        time = int((START + (first + row) * STEP).astype(int))
        changes += tracker.feed(first + row, time, score, score / 10, evidence[row])
    return changes


@given(
    scores=st.lists(LEVELS, max_size=60),
    merge_gap=st.integers(0, 4),
    minimum_length=st.integers(1, 4),
    cool_down=st.integers(0, 8),
    cut=st.integers(0, 60),
)
# The ends of each rule, whatever is drawn.
@example(scores=[0.9, 0.0, 0.0, 0.0, 0.9], merge_gap=1, minimum_length=1, cool_down=3, cut=2)
@example(scores=[0.9, 0.0, 0.0, 0.0, 0.9], merge_gap=1, minimum_length=1, cool_down=4, cut=2)
@example(scores=[0.9, 0.0, 0.0, 0.0, 0.9], merge_gap=3, minimum_length=5, cool_down=0, cut=2)
@example(scores=[0.9, 0.0, 0.0, 0.0, 0.9], merge_gap=2, minimum_length=1, cool_down=0, cut=2)
@example(scores=[0.9, 0.9, 0.0, 0.0, 0.9], merge_gap=1, minimum_length=2, cool_down=0, cut=2)
def test_rows_give_the_events_of_the_batch(
    scores: list[float], merge_gap: int, minimum_length: int, cool_down: int, cut: int
) -> None:
    rules, given_scores = EventRules(merge_gap, minimum_length, cool_down), np.array(scores)
    evidence = 10 * np.stack([given_scores, 1 - given_scores], axis=1)
    cut = min(cut, len(scores))
    first, rest = (EventTracker(0.5, rules, ("a", "b")) for _ in range(2))
    changes = follow(first, given_scores[:cut], evidence)
    rest.restore(json.loads(json.dumps(first.facts())))
    changes += [*follow(rest, given_scores[cut:], evidence[cut:], cut), *rest.close()]
    closed = [change for change in changes if change.what == "closed"]
    time = START + np.arange(len(scores)) * STEP
    events = find_events(given_scores, 0.5, rules, time=time)
    fields = ("number", "start", "end", "peak", "score", "start_time", "end_time", "peak_time")
    assert [[getattr(each, name) for name in fields] for each in closed] == [
        [getattr(each, name) for name in fields] for each in events
    ]
    for change in closed:
        inside = evidence[change.start : change.end]
        share = shares(np.nanmean(inside, axis=0))
        assert list(change.contributions.values()) == pytest.approx(share.tolist())
        assert change.p_value == change.score / 10


def test_an_event_opens_with_the_row_that_makes_it_one_and_is_updated_by_rows_above() -> None:
    tracker = EventTracker(0.5, EventRules(merge_gap=1, minimum_length=2), ("a",))
    rows = []
    for row, score in enumerate([0.9, 0.6, 0.1, 0.95, 0.1, 0.1, 0.8]):
        rows.append([change.what for change in tracker.feed(row, None, score, 0.1, np.ones(1))])
    assert rows == [[], ["opened"], [], ["updated"], [], ["closed"], []]
    assert tracker.close() == []  # one row alone is no event
