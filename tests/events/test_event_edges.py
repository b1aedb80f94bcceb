"""Events are cut to the rows that are odd by themselves; the rest of the high scores is an echo."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st

from caps.errors import ArtifactError, InputError
from caps.events.events import find_events
from caps.events.tables import event_table, score_table
from caps.neighbours.counterpart import Counterpart, counterpart_of
from caps.scoring.spans import EventRules, event_spans
from handmade_analysis import analysed, daily
from oracles.scoring import naive_located

FOUND = slice(1300, 1490)  # rows of high score
TRUE = slice(1380, 1410)  # those odd by themselves
PEAK = 1395
LOCAL = st.sampled_from([-1.0, 0.0, 0.4, 1.0, 3.0, float("nan")])


def with_level(rows: int = 2000) -> np.ndarray:
    values = daily(rows)
    values[TRUE] += 4
    return values


def spans(local: list[float], *, causal: bool = False, **rules: float) -> list[list[int]]:
    """Events of rows that are all above the threshold."""
    given_rules = EventRules(**{"merge_gap": 2, "fresh": 0.3} | rules)  # type: ignore[arg-type]
    scores = np.full(len(local), 0.9)
    return event_spans(scores, 0.5, given_rules, np.array(local), causal=causal).tolist()


def test_an_event_is_cut_to_the_rows_that_are_odd_by_themselves() -> None:
    analysis = analysed(with_level(), {"value": FOUND}, odd=TRUE)
    (event,) = analysis.events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)
    assert event.peak == PEAK
    assert event.score == analysis.score.max()
    assert analysis.score[FOUND].min() > analysis.threshold  # scores stay as they are


def test_flags_tables_budgets_and_explanations_agree_on_the_rows() -> None:
    frame = pd.DataFrame({"load": with_level()})
    frame.index = pd.date_range("2024-05-01", periods=len(frame), freq="10min", tz="UTC")
    analysis = analysed(frame, {"load": FOUND}, odd=TRUE)
    explained = analysis.explanations()
    table, scores = event_table(analysis, explained), score_table(analysis)
    assert np.array_equal(np.flatnonzero(analysis.flag), np.arange(TRUE.start, TRUE.stop))
    assert np.array_equal(scores["flag"], analysis.flag)
    assert [*table["start_row"], *table["end_row"]] == [TRUE.start, TRUE.stop]
    assert [*table["start"], *table["end"]] == [*frame.index[[TRUE.start, TRUE.stop - 1]]]
    (event,) = explained
    assert event.start_time == analysis.series.time[TRUE.start]
    known = np.isfinite(event.channels[0].counterpart)
    assert np.array_equal(event.channels[0].rows[known], np.arange(TRUE.start, TRUE.stop))
    assert event.direction == "up"
    strict = analysis.alarms("1/1000")
    assert strict.spans == ((TRUE.start, TRUE.stop),)


@given(
    rows=st.lists(st.tuples(st.sampled_from([0.2, 0.9, float("nan")]), LOCAL), max_size=50),
    merge_gap=st.integers(0, 4),
    minimum_length=st.integers(1, 3),
    cool_down=st.integers(0, 8),
    edge=st.sampled_from([0.1, 0.4, 0.6, 1.0]),
    echo=st.integers(0, 12),
    causal=st.booleans(),
)
# Exactly the edge, and a later peak that only hindsight knows.
@example(
    rows=[(0.9, 0.4), (0.9, 1.0), (0.9, 0.4), (0.9, 0.4)],
    merge_gap=0, minimum_length=1, cool_down=0, edge=0.4, echo=0, causal=False,
)  # fmt: skip
@example(
    rows=[(0.9, 0.4), (0.9, 1.0), (0.9, 0.4), (0.9, 3.0)],
    merge_gap=0, minimum_length=1, cool_down=0, edge=0.6, echo=0, causal=True,
)  # fmt: skip
# Before the first row that is odd by itself nothing tells an echo.
@example(
    rows=[(0.9, -1.0), (0.9, 3.0)],
    merge_gap=0, minimum_length=1, cool_down=0, edge=0.6, echo=0, causal=True,
)  # fmt: skip
def test_edges_equal_their_definition(
    rows: list[tuple[float, float]],
    merge_gap: int,
    minimum_length: int,
    cool_down: int,
    edge: float,
    echo: int,
    causal: bool,
) -> None:
    scores, local = np.array(rows, dtype=np.float64).reshape(-1, 2).T
    rules = EventRules(merge_gap, minimum_length, cool_down, edge, edge, 0.9, 0.5, echo)
    found = event_spans(scores, 0.5, rules, local, causal=causal).tolist()
    expected = naive_located(scores, 0.5, local, rules, causal=causal)
    assert [tuple(span) for span in found] == expected


def test_odd_rows_that_lie_apart_are_events_of_their_own() -> None:
    apart = [1.0, 1.0, 0.1, 0.1, 0.1, 0.9, 0.1]
    assert spans(apart) == [[0, 2], [5, 6]]
    assert spans(apart, merge_gap=3) == [[0, 6]]
    assert spans([1.0, 1.0, 0.1, 0.1, 0.1, 0.4, 0.1]) == [[0, 2]]  # an echo of the first


def test_a_larger_edge_cuts_more() -> None:
    rising = [0.2, 0.5, 0.8, 1.0, 0.7]
    assert spans(rising, edge=0.0) == [[0, 5]]
    assert spans(rising, edge=0.6) == [[2, 5]]
    assert spans(rising, edge=1.0) == [[3, 4]]


@pytest.mark.parametrize("edge", [-0.1, 1.1, float("nan"), "0.5", None])
def test_an_edge_is_a_share(edge: object) -> None:
    with pytest.raises(InputError, match="share between 0 and 1"):
        EventRules(edge=edge)  # type: ignore[arg-type]


def test_the_edge_is_one_of_the_rules_that_are_saved() -> None:
    rules = EventRules(edge=0.3)
    assert EventRules.from_dict(rules.to_dict()) == rules
    without = {name: value for name, value in rules.to_dict().items() if name != "edge"}
    with pytest.raises(ArtifactError, match="edge"):
        EventRules.from_dict(without)


@pytest.mark.parametrize("nothing", [0.0, -2.0, float("nan")])
def test_rows_of_which_none_is_odd_by_itself_are_the_echo_of_others(nothing: float) -> None:
    assert spans([nothing] * 5 + [0.3]) == [[5, 6]]
    assert spans([nothing] * 5, causal=True) == []


@pytest.mark.parametrize("nothing", [0.0, -2.0, float("nan")])
def test_rows_of_which_none_is_odd_by_itself_are_an_event_where_there_is_no_other(
    nothing: float,
) -> None:
    """A change that comes slowly is odd as a whole, and none of its rows beside those before."""
    assert spans([nothing] * 5) == [[0, 5]]


def beside_an_event(distance: int, *, before: bool = False, **options: bool) -> list[list[int]]:
    """Events of a row that is odd by itself, and of five, so many rows away, that are not."""
    scores, local = np.full(100, 0.1), np.zeros(100)
    first = 50 - distance - 5 if before else 51 + distance
    scores[50], local[50] = 0.9, 3.0
    scores[first : first + 5], local[first : first + 5] = 0.9, 0.4
    rules = EventRules(merge_gap=2, echo=20)
    return event_spans(scores, 0.5, rules, local, **options).tolist()


def test_a_surge_without_a_fresh_row_is_an_echo_only_near_an_event() -> None:
    assert beside_an_event(19) == [[50, 51]]
    assert beside_an_event(20) == [[50, 51], [71, 76]]  # as wide as it is
    assert beside_an_event(19, before=True) == [[50, 51]]
    assert beside_an_event(20, before=True) == [[25, 30], [50, 51]]


def test_by_the_past_a_surge_without_a_fresh_row_is_never_an_event() -> None:
    """Whether an event that it echoes backwards will follow is not known yet."""
    assert beside_an_event(30, causal=True) == [[50, 51]]
    assert beside_an_event(30, before=True, causal=True) == [[50, 51]]


def test_surges_without_a_fresh_row_do_not_echo_each_other() -> None:
    scores = np.full(40, 0.1)
    scores[[5, 6, 20, 21]] = 0.9
    rules = EventRules(merge_gap=2)
    assert event_spans(scores, 0.5, rules, np.zeros(40)).tolist() == [[5, 7], [20, 22]]


@pytest.mark.parametrize("echo", [-1, 2.5, None])
def test_an_echo_is_a_number_of_rows(echo: object) -> None:
    with pytest.raises(InputError, match="echo"):
        EventRules(echo=echo)  # type: ignore[arg-type]


def test_clearly_odd_rows_belong_to_an_event_beside_a_much_stronger_one() -> None:
    ramp = [2.0, 2.0, 2.0, 2.0, 9.0]
    assert spans(ramp) == [[0, 5]]
    assert spans(ramp, clear=3.0) == [[4, 5]]


def test_the_peak_is_one_of_the_rows_that_are_left() -> None:
    scores, local = np.array([0.99, 0.8, 0.9, 0.7]), np.array([0.1, 1.0, 1.0, 0.2])
    (event,) = find_events(scores, 0.5, EventRules(fresh=0.5), local=local)
    assert (event.start, event.end, event.peak, event.score) == (1, 3, 2, 0.9)


def test_what_is_left_of_an_event_is_as_long_as_the_rules_demand() -> None:
    long_enough = EventRules(minimum_length=TRUE.stop - TRUE.start)
    (event,) = analysed(with_level(), {"value": FOUND}, odd=TRUE, rules=long_enough).events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)
    longer = EventRules(minimum_length=TRUE.stop - TRUE.start + 1)
    assert analysed(with_level(), {"value": FOUND}, odd=TRUE, rules=longer).events == ()


def test_by_the_past_a_row_is_held_to_the_strongest_so_far_by_an_edge_of_its_own() -> None:
    rising, scores = np.array([1.0, 4.0, 3.1, 2.9, 2.5, 8.0]), np.full(6, 0.9)
    rules = EventRules(merge_gap=0, edge=0.5, live_edge=0.75, clear=9.0, fresh=1.0)
    live = event_spans(scores, 0.5, rules, rising, causal=True).tolist()
    assert live == [[0, 3], [5, 6]]  # not cut by the row of 8, which nobody had seen
    assert event_spans(scores, 0.5, rules, rising).tolist() == [[1, 2], [5, 6]]


def test_a_causal_event_begins_with_its_first_fresh_row_and_loses_its_echo() -> None:
    """Rows before it were above the threshold, but nothing was odd enough to say so."""
    (event,) = analysed(with_level(), {"value": FOUND}, odd=TRUE, causal=True).events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)


def test_of_rows_with_one_score_the_peak_is_the_oddest_by_itself() -> None:
    scores, local = np.full(20, 0.1), np.zeros(20)
    scores[5:12], local[5:12] = 0.9, [2.0, 2.1, 2.2, 3.0, 2.2, np.nan, 2.0]
    (event,) = find_events(scores, 0.5, local=local)
    assert event.peak == 8


def test_loud_rows_of_which_none_is_odd_by_itself_are_an_event_in_hindsight_alone() -> None:
    nowhere = slice(0, 0)
    live = analysed(with_level(), {"value": FOUND}, odd=nowhere, causal=True)
    (event,) = analysed(with_level(), {"value": FOUND}, odd=nowhere).events
    assert live.events == ()
    assert (event.start, event.end) == (FOUND.start, FOUND.stop)


def test_missing_rows_do_not_end_an_event() -> None:
    values = with_level()
    values[TRUE.start + 5 : TRUE.start + 9] = np.nan
    values[FOUND.start + 10 : FOUND.start + 15] = np.nan
    (event,) = analysed(values, {"value": FOUND}, odd=TRUE).events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)


def test_rows_that_were_not_observed_raise_no_flag_and_no_alarm() -> None:
    values = with_level()
    missing = np.r_[TRUE.start + 5 : TRUE.start + 9, 1600:1900]
    values[missing] = np.nan
    analysis = analysed(values, {"value": FOUND}, odd=TRUE)
    inside = np.arange(TRUE.start, TRUE.stop)
    assert np.flatnonzero(analysis.flag).tolist() == np.setdiff1d(inside, missing).tolist()
    assert np.flatnonzero(analysis.event_id).tolist() == inside.tolist()
    alarms, calibration = analysis.alarms("1/100"), analysis.fitted.calibration
    observed = 2000 - len(missing)
    assert alarms.expected == calibration.expected_alarms(alarms.threshold, observed) > 0


def test_every_channel_of_an_event_has_its_own_counterpart() -> None:
    """Each is expected to go on as it does itself, in time and units of its own."""
    other = 50 + 10 * daily(2017, seed=1)[17:]
    second = other.copy()
    second[TRUE] -= 40
    frame = pd.DataFrame({"first": with_level(), "second": second})
    (event,) = analysed(frame, {"first": FOUND, "second": FOUND}, odd=TRUE).explanations()
    views = {view.name: view for view in event.channels}
    for name, normal, way in (("first", daily(2000), "up"), ("second", other, "down")):
        known = np.isfinite(views[name].counterpart)
        away = views[name].counterpart[known] - normal[views[name].rows[known]]
        assert np.abs(away).max() < 0.5 * normal.std()
        assert views[name].direction == way


def test_counterparts_are_looked_up_for_explanations_alone_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up = []

    def counted(*arguments: object) -> Counterpart:
        looked_up.append(arguments[1:3])
        return counterpart_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("caps.events.analysis.counterpart_of", counted)
    analysis = analysed(with_level(), {"value": FOUND}, odd=TRUE)
    assert np.isfinite(analysis.score).all()
    assert len(analysis.events) == int(analysis.flag.any())
    assert looked_up == []  # scores and events alone cost nothing
    assert len(analysis.explanations()) == len(analysis.explanations()) == 1
    assert looked_up == [(TRUE.start, TRUE.stop)]
