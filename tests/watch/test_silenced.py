"""What is planned or dismissed is watched and printed, and told to nobody."""

import json
from copy import copy

import pytest
from minute_load import ORIGIN, TRAIN, load
from played_watch import FIRST, HOST, RELEASE, SECOND, STARTS, Played, frame, look

from caps import CAPS


@pytest.fixture(scope="module")
def dismissed(model: CAPS) -> CAPS:
    """The model, to which the first incident was none."""
    found = copy(model)
    analysis = found.analyze(frame(0, FIRST + 20))
    number = int(analysis.event_id[FIRST + 2])
    found.dismiss(analysis, number, note="backup")
    return found


@pytest.mark.parametrize("apart", [False, True])
def test_a_planned_window_keeps_an_incident_from_every_sink(played: Played, apart: bool) -> None:
    entry = f'[[planned]]\n{RELEASE}series = "*host*"\n'
    if apart:
        (played.folder / "planned.toml").write_text(entry)
        summary = played.play(first='planned = "planned.toml"\n')
    else:
        summary = played.play(last=entry)
    assert played.told() == [[], []]
    for start in STARTS:
        (line,) = played.opened(start)
        assert (line["silenced"], line["silenced_by"]) == ("planned", "release")
        assert (line["alert"], line["incident"]) == (False, None)
        assert 'within the planned event "release"' in line["reason"]
    assert summary["silenced"] >= 2
    assert played.watch.figures is not None
    shown = played.watch.figures.text().decode()
    assert f"caps_watch_silenced_total{{series={json.dumps(HOST)}}} {summary['silenced']}" in shown


def test_an_incident_outside_the_window_is_told_to_every_sink(played: Played) -> None:
    played.play(last=f'[[planned]]\n{RELEASE}series = "*disk*"\n')
    assert played.told() == [STARTS, STARTS]
    assert [line["alert"] for line in played.opened(STARTS[0])] == [True]


def test_a_dismissed_shape_is_told_to_no_sink(played: Played, dismissed: CAPS) -> None:
    dismissed.save(played.folder / "model")
    played.play()
    assert played.told() == [[], []]
    (line,) = played.opened(STARTS[1])
    assert (line["silenced"], line["silenced_by"], line["alert"]) == ("feedback", "f1", False)


def test_a_running_watch_takes_over_feedback_and_a_refit_in_place(
    played: Played, dismissed: CAPS, capsys: pytest.CaptureFixture[str]
) -> None:
    again = CAPS(causal=True, alarms="1/day").fit(frame(10, TRAIN))
    again.set_feedback(dismissed.feedback_)

    def refitted(play: Played) -> None:
        again.save(play.folder / "model")
        look(play)

    def later(play: Played) -> None:
        play.row = SECOND + 30

    played.row = FIRST + 2  # within the first incident
    summary = played.play(refitted, later)
    assert "the watch goes on by the new version" in capsys.readouterr().err
    assert played.told() == [STARTS[:1], STARTS[:1]]
    own = [each for each in played.lines if each.get("start") == STARTS[0]]
    assert [each["what"] for each in own if each["what"] != "risen"] == [
        "opened", "closed", "recovered",
    ]  # fmt: skip
    assert [line["silenced_by"] for line in played.opened(STARTS[1])] == ["f1"]
    assert summary["rows"] == SECOND + 30 - (FIRST + 2 - 180) + 1


def test_a_plan_made_in_an_incident_holds_for_the_next_one(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = played.folder / "planned.toml"
    plan.write_text("")

    def spoiled(play: Played) -> None:
        plan.write_text("[[planned]\n")
        look(play)

    def written(play: Played) -> None:
        plan.write_text(f"[[planned]]\n{RELEASE}")
        look(play)

    def later(play: Played) -> None:
        play.row = SECOND + 30

    played.row = FIRST + 2
    played.play(spoiled, written, later, first='planned = "planned.toml"\n')
    assert "what is planned stays as it was" in capsys.readouterr().err
    assert played.told() == [STARTS[:1], STARTS[:1]]
    ends = [each["start"] for each in played.lines if each["what"] == "recovered"]
    assert STARTS[0] in ends  # what was told as an alarm has an end
    assert [line["silenced"] for line in played.opened(STARTS[1])] == ["planned"]


def test_a_series_that_stops_in_a_planned_window_is_told_of_after_it(played: Played) -> None:
    others = [({"__name__": "load", "host": "b"}, lambda moment: load((moment - ORIGIN) // 60))]
    labels = {"__name__": "load", "host": "a"}
    played.prometheus.series["load"] = [
        (labels, lambda moment: None if moment >= ORIGIN + 60 * 725 else 50.0), *others,
    ]  # fmt: skip

    def told(play: Played) -> list[str]:
        return [each["series"] for each in play.lines if each["what"] == "no_data"]

    within: list[list[str]] = []

    def after(play: Played) -> None:
        within.append(told(play))
        play.row = 842  # 14:02

    played.row = 740
    played.play(after, last=f"[[planned]]\n{RELEASE}")
    assert within == [[]]
    assert told(played) == [HOST]
