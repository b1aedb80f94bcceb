"""What a report accepts, and what its words say."""

import numpy as np
import pytest
from telemetry_report import telemetry_report

from caps.errors import InputError
from caps.report import Budget, Channel, EventCard, Panel, Report, render_report
from caps.report.charts import panel_chart
from caps.report.page import carriers, effect, summary

VALUES = np.arange(10.0)
SCORES = np.linspace(0, 0.9, 10)
HOURS = np.datetime64("2024-05-01T00:00") + np.arange(10) * np.timedelta64(1, "h")


def small(**changes: object) -> Report:
    facts: dict[str, object] = {
        "title": "pump 4",
        "channels": (Channel("flow", VALUES),),
        "scores": SCORES,
        "threshold": 0.75,
    }
    return Report(**{**facts, **changes})  # type: ignore[arg-type]


def event(number: int = 1, start: int = 8, end: int = 10, **facts: object) -> EventCard:
    return EventCard(number, start, end, end - 1, 0.9, **facts)  # type: ignore[arg-type]


WRONG = {
    "no channel": ({"channels": ()}, "without rows or channels"),
    "a short channel": ({"channels": (Channel("flow", VALUES[:4]),)}, "'flow' has 4 rows"),
    "a short time axis": ({"time": HOURS[:3]}, "time axis has 3 rows"),
    "a score above one": ({"scores": SCORES * 2}, "reach from 0 to 1.8"),
    "a late training end": ({"training_end": 11}, "training_end is 11"),
    "an event outside": ({"events": (event(end=12),)}, "ends at row 12 of 10"),
    "the same event twice": ({"events": (event(), event())}, "same id"),
    "an unknown budget": (
        {"budget": "1/day", "budgets": (Budget("1/week", 0.8, 1.0, 1),)},
        "'1/day' is not in the table",
    ),
    "a panel outside": (
        {"events": (event(panel=Panel(9, ("flow",), np.ones((2, 1)), np.ones((2, 1)))),)},
        "covers rows 9 to 11",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_report_that_contradicts_itself_is_refused(name: str) -> None:
    changes, message = WRONG[name]
    with pytest.raises(InputError, match=message):
        small(**changes)


def test_an_event_has_its_peak_inside_and_a_known_direction() -> None:
    with pytest.raises(InputError, match="start 5, peak 3"):
        EventCard(1, 5, 7, 3, 0.9)
    with pytest.raises(InputError, match="sideways"):
        event(direction="sideways")


def test_a_panel_has_one_counterpart_for_each_value() -> None:
    with pytest.raises(InputError, match="counterpart has shape"):
        Panel(0, ("flow",), np.ones((4, 1)), np.ones((3, 1)))
    with pytest.raises(InputError, match="do not fit"):
        Panel(0, ("flow", "heat"), np.ones((4, 1)), np.ones((4, 1)))


def said(report: Report) -> str:
    return summary(report, report.timeline)


def test_the_summary_counts_events_after_training_and_names_the_strongest(month: Report) -> None:
    text = said(month)
    strongest = max(month.events, key=lambda each: each.score)
    assert text.startswith(f"{len(month.events)} events in 18 days; the strongest")
    assert f"number {strongest.number}" in text
    assert str(month.time[strongest.start].astype("datetime64[m]")).replace("T", " ") in text


def test_the_summary_of_a_quiet_series_tells_how_close_it_came() -> None:
    assert said(small(threshold=0.95)) == (
        "No events in 10 rows. The highest score is 0.900 at row 9, the threshold 0.950."
    )
    assert "No row could be scored" in said(small(scores=np.full(10, np.nan)))


def test_the_summary_tells_training_events_apart() -> None:
    report = small(events=(event(1, 1, 3), event(2, 8, 10, kind="trend")), training_end=5)
    assert said(report) == (
        "1 event in 5 rows; it, a trend anomaly, began at row 8 and lasted 2 rows. "
        "The training part holds 1 more."
    )


def test_times_are_written_as_finely_as_they_were_sampled() -> None:
    cases = {"D": "2024-05-02", "h": "2024-05-01 01:00", "s": "2024-05-01 00:00:01"}
    for unit, text in cases.items():
        steps = np.arange(10).astype(f"timedelta64[{unit}]")
        timeline = small(time=np.datetime64("2024-05-01") + steps).timeline
        assert timeline.moment(1) == text


def test_steps_too_fine_for_dates_are_drawn_in_seconds() -> None:
    time = np.datetime64("2024-05-01") + np.arange(10) * np.timedelta64(20, "us")
    timeline = small(time=time).timeline
    assert not timeline.dated
    np.testing.assert_allclose(timeline.positions(np.array([0, 9])), [0, 18e-5])
    assert timeline.label.startswith("seconds since 2024-05-01 00:00:00.000000")


def test_the_length_of_an_event_includes_its_last_row() -> None:
    assert small(time=HOURS).timeline.lasting(3, 5) == "2 h"
    assert small().timeline.lasting(3, 4) == "1 row"


def test_only_channels_with_a_fair_share_are_named() -> None:
    shares = {"a": 0.1, "b": 0.5, "c": 0.4, "d": 0.0}
    assert carriers(event(contributions=shares)) == "b, c"
    assert carriers(event()) == ""


def test_an_effect_says_what_is_known_of_it() -> None:
    assert effect(event()) == ""
    assert effect(event(direction="down")) == "below normal"
    assert effect(event(direction="up", size=6.24)) == "above normal by 6.2 standard deviations"


def test_another_seed_makes_another_month_of_events(month: Report) -> None:
    other = telemetry_report(seed=1)
    assert [each.start for each in other.events] != [each.start for each in month.events]


def test_the_nearest_subsequence_of_a_panel_fits_its_values() -> None:
    ones = np.ones((2, 1))
    with pytest.raises(InputError, match=r"nearest subsequence has shape \(3, 1\)"):
        Panel(8, ("flow",), ones, ones, np.ones((3, 1)))


def test_a_panel_draws_the_nearest_subsequence_where_there_is_one() -> None:
    values, nothing = np.ones((3, 2)), np.full((3, 2), np.nan)
    nearest = np.array([[np.nan, np.nan], [4.0, np.nan], [5.0, np.nan]])
    card = event(contributions={"flow": 0.9, "heat": 0.1})
    lines = {}
    for past in (None, nearest):
        chart = panel_chart(
            card, Panel(7, ("flow", "heat"), values, nothing, past), small().timeline
        )
        lines[past is not None] = {line["name"]: line for line in chart["data"]}
    assert set(lines[True]) - set(lines[False]) == {"flow, nearest past"}
    drawn = lines[True]["flow, nearest past"]
    assert drawn["line"]["color"] == "--past"
    assert [each for each in drawn["y"] if np.isfinite(each)] == [4.0, 5.0]


def test_the_legend_names_the_nearest_subsequence_only_where_it_is_drawn() -> None:
    ones = np.ones((2, 1))
    for past in (None, ones):
        page = render_report(small(events=(event(panel=Panel(8, ("flow",), ones, ones, past)),)))
        assert ("nearest subsequence of training" in page) == (past is not None)
