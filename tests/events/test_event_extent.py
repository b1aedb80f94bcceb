"""Events are cut to the rows that deviate from what was expected."""

import numpy as np
import pandas as pd
import pytest

from caps.events.config import EventConfig
from caps.events.extent import deviating, excess
from caps.events.tables import event_table, score_table
from caps.neighbours.counterpart import Counterpart, counterpart_of
from caps.scoring.spans import EventRules
from handmade_analysis import analysed, daily

FOUND = slice(1300, 1490)  # rows of high score
TRUE = slice(1380, 1410)
PEAK = 1395
CONFIG = EventConfig()


def with_level(rows: int = 2000) -> np.ndarray:
    values = daily(rows)
    values[TRUE] += 4
    return values


def test_an_event_is_cut_to_the_rows_that_deviate() -> None:
    analysis = analysed(with_level(), {"value": FOUND})
    (event,) = analysis.events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)
    assert event.peak == PEAK
    assert event.score == analysis.score.max()
    assert analysis.score[FOUND].min() > analysis.threshold  # scores stay as they are


def test_flags_tables_budgets_and_explanations_agree_on_the_rows() -> None:
    frame = pd.DataFrame({"load": with_level()})
    frame.index = pd.date_range("2024-05-01", periods=len(frame), freq="10min", tz="UTC")
    analysis = analysed(frame, {"load": FOUND})
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


def test_all_channels_that_carry_an_event_count() -> None:
    first, second, third = with_level(), daily(2000, seed=1), daily(2000, seed=2)
    second[1430:1440] -= 4
    third[1320:1330] -= 4  # shows nothing of this event: its evidence is low
    frame = pd.DataFrame({"first": first, "second": second, "third": third})
    (event,) = analysed(frame, {"first": FOUND, "second": FOUND}).events
    assert (event.start, event.end) == (TRUE.start, 1440)


def test_the_peak_is_never_cut_off() -> None:
    analysis = analysed(with_level(), {"value": FOUND})
    peak = FOUND.start + 50
    analysis.scores.score[peak] = 0.99999
    (event,) = analysis.events
    assert (event.start, event.end) == (peak, TRUE.stop)
    assert (event.peak, event.score) == (peak, 0.99999)


def test_a_peak_after_the_rows_that_deviate_is_not_cut_off_either() -> None:
    analysis = analysed(with_level(), {"value": FOUND})
    peak = FOUND.stop - 20
    analysis.scores.score[peak] = 0.99999
    (event,) = analysis.events
    assert (event.start, event.end, event.peak) == (TRUE.start, peak + 1, peak)


def test_an_event_in_which_nothing_deviates_stays() -> None:
    (event,) = analysed(daily(2000), {"value": FOUND}).events
    assert (event.start, event.end) == (FOUND.start, FOUND.stop)


def test_an_event_without_known_surroundings_stays() -> None:
    values = with_level()
    values[FOUND.start - 80 : FOUND.start] = np.nan
    values[FOUND.stop : FOUND.stop + 80] = np.nan
    (event,) = analysed(values, {"value": FOUND}).events
    assert (event.start, event.end) == (FOUND.start, FOUND.stop)


def test_cut_events_are_never_shorter_than_the_rules_allow() -> None:
    (event,) = analysed(with_level(), {"value": FOUND}, rules=EventRules(minimum_length=60)).events
    assert (event.start, event.end) == (FOUND.start, FOUND.stop)


def test_events_of_causal_models_stay_as_a_stream_gives_them() -> None:
    (event,) = analysed(with_level(), {"value": FOUND}, causal=True).events
    assert (event.start, event.end) == (FOUND.start, FOUND.stop)


def test_missing_rows_do_not_end_an_event() -> None:
    values = with_level()
    values[TRUE.start + 5 : TRUE.start + 9] = np.nan
    values[FOUND.start + 10 : FOUND.start + 20] = np.nan
    (event,) = analysed(values, {"value": FOUND}).events
    assert (event.start, event.end) == (TRUE.start, TRUE.stop)


def test_rows_that_were_not_observed_raise_no_flag_and_no_alarm() -> None:
    values = with_level()
    missing = np.r_[TRUE.start + 5 : TRUE.start + 9, 1600:1900]
    values[missing] = np.nan
    analysis = analysed(values, {"value": FOUND})
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
    (excesses,) = analysed(frame, {"first": FOUND, "second": FOUND}).explanations()
    views = {view.name: view for view in excesses.channels}
    for name, normal, way in (("first", daily(2000), "up"), ("second", other, "down")):
        known = np.isfinite(views[name].counterpart)
        away = views[name].counterpart[known] - normal[views[name].rows[known]]
        assert np.abs(away).max() < 0.5 * normal.std()
        assert views[name].direction == way


def test_one_counterpart_is_looked_up_for_an_event_and_its_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up = []

    def counted(*arguments: object) -> Counterpart:
        looked_up.append(arguments[1:3])
        return counterpart_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("caps.events.analysis.counterpart_of", counted)
    analysis = analysed(with_level(), {"value": FOUND})
    assert np.isfinite(analysis.score).all()
    assert looked_up == []  # scores alone cost nothing
    assert len(analysis.events) == len(analysis.explanations()) == int(analysis.flag.any())
    assert looked_up == [(FOUND.start, FOUND.stop)]


def test_rows_next_to_those_that_deviate_belong_to_them_while_they_are_off() -> None:
    assert deviating([np.array([0.9, 0.3, 0.5, 1.5, 0.1, 2.0, 0.9, 0.2])], CONFIG) == (2, 7)
    assert deviating([np.array([0.5, 0.6, 1.5, 0.7])], CONFIG) == (0, 4)


def test_small_deviations_beside_a_large_one_are_its_tail() -> None:
    expected = np.zeros(5)
    excesses = excess(np.array([1.9, 0.7, 20.0, 2.5, np.nan]), Counterpart(expected, 0.1), CONFIG)
    assert excesses is not None
    assert deviating([excesses], CONFIG) == (2, 4)
    assert excess(expected, Counterpart(expected, None), CONFIG) is None
    nothing = excess(np.full(5, 1e-9), Counterpart(expected, 0.0), CONFIG)
    assert nothing is not None
    assert deviating([nothing], CONFIG) is None
