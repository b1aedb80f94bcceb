"""Events are cut to the rows that are odd by themselves: no echo, and one for each incident."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from caps import CAPS
from caps.errors import InputError
from caps.scoring import FitOptions, fit, read_input
from caps.scoring.spans import EventRules, event_spans

RULES = EventRules(merge_gap=3)
ROWS = 60
BOTH = pytest.mark.parametrize("causal", [False, True])


def spans(
    above: range, odd: dict[int, float], *, causal: bool, rules: EventRules = RULES
) -> list[list[int]]:
    """Rows above the threshold, and how odd some of them are by themselves; the others hardly."""
    scores, local = np.full(ROWS, 0.1), np.full(ROWS, 0.2)
    scores[above.start : above.stop] = 0.9
    local[list(odd)] = list(odd.values())
    return event_spans(scores, 0.5, rules, local, causal=causal).tolist()


@BOTH
def test_a_spike_with_an_echo_is_one_short_event(causal: bool) -> None:
    assert spans(range(20, 45), {20: 4.0}, causal=causal) == [[20, 21]]


def test_in_hindsight_neither_is_what_lies_before_it_part_of_it() -> None:
    assert spans(range(10, 45), {20: 4.0}, causal=False) == [[20, 21]]


@BOTH
def test_two_spikes_in_one_echo_are_two_events(causal: bool) -> None:
    assert spans(range(20, 45), {20: 4.0, 33: 4.5}, causal=causal) == [[20, 21], [33, 34]]
    assert spans(range(20, 45), {20: 4.0, 22: 4.0}, causal=causal) == [[20, 23]]  # near: one


@BOTH
def test_rows_that_are_all_odd_stay_one_event(causal: bool) -> None:
    odd = dict.fromkeys(range(20, 45), 4.0)
    assert spans(range(20, 45), odd, causal=causal) == [[20, 45]]


@BOTH
def test_an_edge_of_zero_cuts_nothing(causal: bool) -> None:
    rules = EventRules(merge_gap=3, edge=0.0, live_edge=0.0)
    assert spans(range(20, 45), {20: 4.0}, causal=causal, rules=rules) == [[20, 45]]


@BOTH
def test_a_later_run_is_not_cut_by_a_stronger_one(causal: bool) -> None:
    scores, local = np.full(ROWS, 0.1), np.zeros(ROWS)
    scores[10:15], local[10:15] = 0.9, 9.0
    scores[40:45], local[40:45] = 0.8, 2.0
    assert event_spans(scores, 0.5, RULES, local, causal=causal).tolist() == [[10, 15], [40, 45]]


@BOTH
def test_gaps_in_what_is_local_are_no_part_of_an_event(causal: bool) -> None:
    scores, local = np.full(ROWS, 0.1), np.full(ROWS, 3.0)
    scores[10:30], local[20:30] = 0.9, np.nan
    assert event_spans(scores, 0.5, RULES, local, causal=causal).tolist() == [[10, 20]]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.6, 1.0]), st.booleans())
def test_cut_events_lie_within_whole_ones_and_hold_their_oddest_row(
    seed: int, edge: float, causal: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores, local = rng.random(200), rng.exponential(2, 200) + 2
    rules = EventRules(merge_gap=2, edge=edge, live_edge=edge)
    whole = event_spans(scores, 0.7, rules)
    cut = event_spans(scores, 0.7, rules, local, causal=causal)
    inside = np.zeros(200, dtype=bool)
    for start, end in whole:
        inside[start:end] = True
    held = np.zeros(200, dtype=bool)
    for start, end in cut:
        held[start:end] = True
    assert (held <= inside).all()
    for start, end in whole:
        above = np.flatnonzero(scores[start:end] > 0.7) + start
        assert held[above[local[above].argmax()]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 199))
def test_by_the_past_later_rows_change_no_earlier_row(seed: int, row: int) -> None:
    rng = np.random.default_rng(seed)
    scores, local = rng.random(200), rng.exponential(2, 200) + 2

    def flagged(last: int) -> np.ndarray:
        rows = np.zeros(last, dtype=bool)
        for start, end in event_spans(
            scores[:last], 0.7, EventRules(merge_gap=0), local[:last], causal=True
        ):
            rows[start:end] = True
        return rows

    np.testing.assert_array_equal(flagged(row), flagged(200)[:row])


@pytest.mark.parametrize("edge", [-0.1, 1.1, "half", None])
def test_an_edge_that_is_no_share_is_refused(edge: object) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        EventRules(edge=edge)  # type: ignore[arg-type]


def test_bursts_that_are_usual_in_one_channel_hide_no_spike_of_another() -> None:
    """From what on a row is odd by itself is told channel by channel."""
    rng, rows, spike = np.random.default_rng(3), 3000, 2600
    errors = np.zeros(rows)
    for start in range(20, rows, 100):
        errors[start : start + 3] = rng.integers(3, 12)
    load = np.sin(np.arange(rows) * 2 * np.pi / 48) + 0.1 * rng.standard_normal(rows)
    load[spike : spike + 4] += 2.5
    series = read_input(np.column_stack([load, errors]))
    model = fit(series, 1500, None, FitOptions(causal=True))
    calm, bursting = (each.fresh for each in model.channels)
    assert bursting > calm + 0.2
    found = model.score(series)
    events = event_spans(
        found.score, model.threshold("1/1000"), model.calibration.rules, found.local, causal=True
    )
    assert any(start < spike + 4 and end > spike for start, end in events.tolist())


def test_a_lull_by_chance_beside_an_incident_is_no_event() -> None:
    """Sixteen rows a little quieter than any of training, in the surge of the incident after."""
    load = np.sin(np.arange(2000) * np.pi / 72) + np.random.default_rng(0).normal(0, 0.1, 2000)
    load[1500:1530] = 2.5
    events = CAPS(train=1200).fit(load).analyze(load).events
    later = [event for event in events if event.end > 1200]
    assert len(later) == 1
    assert abs(later[0].start - 1500) <= 2
    assert abs(later[0].end - 1530) <= 2
