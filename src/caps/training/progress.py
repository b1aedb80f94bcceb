"""What a training run tells of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Report:
    """Where a stage stands; `losses` are means since the last report.

    >>> print(Report("router", 50, 200, {"loss": 0.25}, steps_per_second=2.0))
    router: step 50 of 200, loss 0.25, 2.0 steps/s, 0:01:15 left
    """

    name: str
    step: int
    steps: int
    losses: Mapping[str, float]
    steps_per_second: float

    @property
    def time_left(self) -> timedelta:
        """Until the last step, at the rate of this sitting."""
        seconds = (self.steps - self.step) / max(self.steps_per_second, 1e-9)
        return timedelta(seconds=round(min(seconds, 1e9)))

    def __str__(self) -> str:
        losses = "".join(f"{name} {value:.3g}, " for name, value in self.losses.items())
        rate = f"{self.steps_per_second:.1f} steps/s, {self.time_left} left"
        return f"{self.name}: step {self.step} of {self.steps}, {losses}{rate}"


class Progress(Protocol):
    """What `train` reports to: every `every` seconds and at the end, then `close`."""

    every: float

    def report(self, report: Report) -> None:
        """Show where the stage stands."""

    def close(self) -> None:
        """The stage has ended, for whatever reason."""
