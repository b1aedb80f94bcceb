"""Events followed row by row are those that `find_events` finds in all rows at once."""

import json

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from caps.events import find_events
from caps.scoring.evidence import shares
from caps.scoring.spans import EventRules
from caps.stream.tracker import EventChange, EventTracker

START = np.datetime64("2024-05-01", "ns")
STEP = np.timedelta64(60, "s")
LEVELS = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9, float("nan")])
LOCAL = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.4, 1.6, 2.0, 4.0, float("nan")])
ODD = [2.0] * 5  # by themselves, and enough of it for an event


def follow(
    tracker: EventTracker,
    scores: np.ndarray,
    local: np.ndarray,
    evidence: np.ndarray,
    first: int = 0,
) -> list[EventChange]:
    changes = []
    for row, score in enumerate(scores.tolist()):
        if np.isnan(score) and (first + row) % 2:
            continue  # a row that never came
        time = int((START + (first + row) * STEP).astype(int))
        given = first + row, time, score, score / 10, evidence[row], float(local[row])
        changes += tracker.feed(*given)
    return changes


@given(
    rows=st.lists(st.tuples(LEVELS, LOCAL), max_size=60),
    merge_gap=st.integers(0, 4),
    minimum_length=st.integers(1, 4),
    cool_down=st.integers(0, 8),
    edge=st.sampled_from([0.3, 0.6, 1.0]),
    cut=st.integers(0, 60),
)
# The ends of each rule, whatever is drawn.
@example([*zip([0.9, 0.0, 0.0, 0.0, 0.9], ODD, strict=True)], 1, 1, 3, 0.6, 2)
@example([*zip([0.9, 0.0, 0.0, 0.0, 0.9], ODD, strict=True)], 1, 1, 4, 0.6, 2)
@example([*zip([0.9, 0.0, 0.0, 0.0, 0.9], ODD, strict=True)], 3, 5, 0, 0.6, 2)
@example([*zip([0.9, 0.0, 0.0, 0.0, 0.9], ODD, strict=True)], 2, 1, 0, 0.6, 2)
@example([*zip([0.9, 0.9, 0.0, 0.0, 0.9], ODD, strict=True)], 1, 2, 0, 0.6, 2)
# An echo, exactly at the edge and below it, and one that reaches over the rows where it is cut.
@example([(0.9, 2.0), (0.9, 1.0), (0.9, 0.5), (0.9, 1.0)], 1, 1, 0, 0.5, 1)
@example([(0.9, 2.0), (0.9, 0.5), (0.9, 0.5), (0.9, 2.0), (0.9, 0.5)], 1, 1, 0, 0.6, 2)
@example([(0.9, 2.0), (0.9, 0.5), (0.2, 0.0), (0.2, 0.0), (0.9, 0.5)], 1, 1, 0, 0.6, 3)
@example([(0.9, 2.0), (0.9, 0.5), (0.2, 0.0), (0.9, 0.5)], 1, 1, 0, 0.6, 3)
# Clearly odd beside a far stronger row, and odd again after a spell that ends its echo.
@example([(0.9, 4.0), (0.9, 2.2), (0.9, 1.9)], 0, 1, 0, 0.6, 1)
@example([(0.9, 4.0), (0.0, 0.0), (0.0, 0.0), (0.9, 1.4)], 1, 1, 0, 0.6, 2)
# The highest score between two rows that are odd by themselves.
@example([(0.7, 2.0), (0.9, 0.5), (0.7, 2.0)], 1, 1, 0, 0.6, 1)
# Rows of one score: the peak is the one that is odd by itself, also from one piece to the next.
@example([(0.7, 1.4), (0.7, 1.6)], 0, 1, 0, 0.6, 1)
# A row of which nothing is known after one that is not odd.
@example([(0.9, -1.0), (0.9, float("nan")), (0.9, 2.0)], 0, 1, 0, 0.6, 1)
def test_rows_give_the_events_of_the_batch(
    rows: list[tuple[float, float]],
    merge_gap: int,
    minimum_length: int,
    cool_down: int,
    edge: float,
    cut: int,
) -> None:
    """Those of a causal analysis, also where the state is saved and restored in between."""
    rules = EventRules(merge_gap, minimum_length, cool_down, live_edge=edge)
    scores, local = np.array(rows, dtype=np.float64).reshape(-1, 2).T
    evidence = 10 * np.stack([scores, 1 - scores], axis=1)
    cut = min(cut, len(scores))
    first, rest = (EventTracker(0.5, rules, ("a", "b")) for _ in range(2))
    changes = follow(first, scores[:cut], local[:cut], evidence)
    rest.restore(json.loads(json.dumps(first.facts())))
    changes += follow(rest, scores[cut:], local[cut:], evidence[cut:], cut)
    changes += rest.close()
    closed = [change for change in changes if change.what == "closed"]
    time = START + np.arange(len(scores)) * STEP
    events = find_events(scores, 0.5, rules, local=local, causal=True, time=time)
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


def test_an_echo_neither_prolongs_an_event_nor_is_one() -> None:
    tracker = EventTracker(0.5, EventRules(merge_gap=2), ("a",))
    rows = []
    for row, local in enumerate([3.0, 0.6, 0.5, 0.5, 0.4, 2.9, 0.5]):
        rows.append([each.what for each in tracker.feed(row, None, 0.9, 0.1, np.ones(1), local)])
    assert rows == [["opened"], [], [], ["closed"], [], ["opened"], []]
    (last,) = tracker.close()
    assert (last.number, last.start, last.end) == (2, 5, 6)
