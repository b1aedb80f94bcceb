import io
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import small_stage as small
from rich.console import Console
from torch import Tensor

from caps.training import Bar, Lines, Report, bar_or_lines, train


def test_lines_tell_step_losses_rate_and_time_left() -> None:
    lines: list[str] = []
    schedule = replace(small.SCHEDULE, steps=4, warmup=0)
    train(
        small.small_stage(),
        small.batches,
        schedule,
        seed=0,
        name="small",
        progress=Lines(lines.append, every=0),
    )
    assert len(lines) == 4
    assert lines[1].startswith("small: step 2 of 4, loss ")
    for word in ("absolute ", " steps/s", "0:00:00 left"):
        assert word in lines[3]


def test_lines_are_rare_by_default_but_the_last_step_is_told() -> None:
    lines: list[str] = []
    train(
        small.small_stage(),
        small.batches,
        small.SCHEDULE,
        seed=0,
        name="small",
        progress=Lines(lines.append, every=3600),
    )
    assert len(lines) == 1
    assert "step 60 of 60" in lines[0]


def test_reported_losses_are_means_since_the_last_report() -> None:
    reports: list[Report] = []

    class Rare(Lines):
        def report(self, report: Report) -> None:
            reports.append(report)

    stage = small.small_stage()
    progress = Rare(print, every=3600)
    result = train(stage, small.batches, small.SCHEDULE, seed=0, name="small", progress=progress)
    assert reports[0].losses["loss"] == pytest.approx(np.mean(result.curves["loss"]))


def test_the_bar_shows_losses_and_is_closed_on_an_error() -> None:
    def failing_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError("no more data")
        return small.batches(size, generator)

    left = 5
    screen = io.StringIO()
    bar = Bar(Console(file=screen, force_terminal=True, width=120))
    bar.every = 0
    with pytest.raises(OSError, match="no more data"):
        train(
            small.small_stage(), failing_batches, small.SCHEDULE, seed=0, name="small", progress=bar
        )
    shown = screen.getvalue()
    for text in ("small", "4/60", "loss ", "absolute ", "left"):
        assert text in shown
    assert bar.bar is None
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is hidden"


def test_without_a_terminal_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(bar_or_lines(print), Lines)


def test_training_writes_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    train(small.small_stage(), small.batches, small.SCHEDULE, seed=0, name="small")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("steps", "points"), [(60, 60), (400, 400), (1001, 334)])
def test_curves_are_thinned_by_averaging(steps: int, points: int) -> None:
    reports: list[Report] = []

    class Every(Lines):
        def report(self, report: Report) -> None:
            reports.append(report)

    result = train(
        small.small_stage(),
        small.batches,
        replace(small.SCHEDULE, steps=steps),
        seed=0,
        name="small",
        progress=Every(print, every=0),
    )
    losses = np.array([report.losses["loss"] for report in reports])
    ends = np.array(result.curves["step"])
    means = [part.mean() for part in np.split(losses, ends)[: len(ends)]]
    assert len(ends) == points
    assert ends[-1] == steps
    np.testing.assert_allclose(result.curves["loss"], means)
    assert json.loads(json.dumps(asdict(result)))["curves"] == result.curves
