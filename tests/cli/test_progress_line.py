"""One line for all long work: on a terminal a bar, elsewhere a line now and then."""

import io

import pytest
from rich.console import Console

from caps.cli.progress import ProgressLine, progress_line
from caps.training import Report

STEP = Report("router", 50, 200, {"loss": 0.25}, steps_per_second=2.0)


def test_lines_are_rare_and_tell_share_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line() as line:
        line("reading", 0.1)
        assert capsys.readouterr().err == ""
        line.every = 0
        line("reading", 0.0)  # nothing to judge the time by
        line.started -= 25
        line("training", 0.25)
        line.started -= 35
        line("scoring", 0.5)
        line.every = 3600
        line("scoring", 0.6)
        line.say("failed: lof")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("training: 25 %, 0:01:1")
    assert lines[1].startswith("scoring: 50 %, 0:01:0")
    assert lines[2:] == ["failed: lof"]


def test_training_is_told_whenever_it_reports(capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine()
    line.report(STEP)
    line.close()
    assert capsys.readouterr().err == (
        "router: step 50 of 200, loss 0.25, 2.0 steps/s, 0:01:15 left\n"
    )


def test_a_terminal_shows_a_bar_keeps_what_is_said_and_gets_its_cursor_back() -> None:
    screen = io.StringIO()
    line = ProgressLine(Console(file=screen, force_terminal=True, width=120))
    line.end()
    assert screen.getvalue() == ""  # no bar before there is anything to show
    line.report(STEP)
    line.close()
    line.say("written")
    line.end()
    shown = screen.getvalue()
    for text in ("\u2501", "step 50 of 200", "0:01:15 left", "written"):
        assert text in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is hidden"


def test_what_begins_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line() as line:
        line.begin("reading a.csv")
        line.every = 3600
        line("learning", 0.5)
        line.begin("scoring 400 rows")
    assert capsys.readouterr().err.splitlines() == ["reading a.csv", "scoring 400 rows"]


def test_a_terminal_shows_what_begins_without_a_share() -> None:
    screen = io.StringIO()
    line = ProgressLine(Console(file=screen, force_terminal=True, width=120))
    line.begin("reading a.csv")
    line.end()
    assert "reading a.csv" in screen.getvalue()
    assert "left" not in screen.getvalue()
