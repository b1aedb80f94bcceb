import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import small_stage as small
from torch import Tensor

from caps.training import Report, train


class Recorder:
    """Keeps what training reports."""

    def __init__(self, every: float) -> None:
        self.every, self.reports, self.closed = every, list[Report](), 0

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def close(self) -> None:
        self.closed += 1


def test_a_report_tells_step_losses_rate_and_time_left() -> None:
    recorder = Recorder(every=0)
    schedule = replace(small.SCHEDULE, steps=4, warmup=0)
    train(small.small_stage(), small.batches, schedule, seed=0, name="small", progress=recorder)
    lines = [str(report) for report in recorder.reports]
    assert len(lines) == 4
    assert lines[1].startswith("small: step 2 of 4, loss ")
    for word in ("absolute ", " steps/s", "0:00:00 left"):
        assert word in lines[3]


def test_the_last_step_is_told_with_the_means_since_the_last_report() -> None:
    recorder = Recorder(every=3600)
    stage = small.small_stage()
    result = train(stage, small.batches, small.SCHEDULE, seed=0, name="small", progress=recorder)
    (report,) = recorder.reports
    assert "step 60 of 60" in str(report)
    assert report.losses["loss"] == pytest.approx(np.mean(result.curves["loss"]))
    assert recorder.closed == 1


def test_progress_is_closed_on_an_error() -> None:
    def failing_batches(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError("no more data")
        return small.batches(size, generator)

    left, recorder = 5, Recorder(every=0)
    stage = small.small_stage()
    with pytest.raises(OSError, match="no more data"):
        train(stage, failing_batches, small.SCHEDULE, seed=0, name="small", progress=recorder)
    assert (len(recorder.reports), recorder.closed) == (4, 1)


def test_training_writes_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    train(small.small_stage(), small.batches, small.SCHEDULE, seed=0, name="small")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("steps", "points"), [(60, 60), (400, 400), (1001, 334)])
def test_curves_are_thinned_by_averaging(steps: int, points: int) -> None:
    recorder = Recorder(every=0)
    result = train(
        small.small_stage(),
        small.batches,
        replace(small.SCHEDULE, steps=steps),
        seed=0,
        name="small",
        progress=recorder,
    )
    losses = np.array([report.losses["loss"] for report in recorder.reports])
    ends = np.array(result.curves["step"])
    means = [part.mean() for part in np.split(losses, ends)[: len(ends)]]
    assert len(ends) == points
    assert ends[-1] == steps
    np.testing.assert_allclose(result.curves["loss"], means)
    assert json.loads(json.dumps(asdict(result)))["curves"] == result.curves
