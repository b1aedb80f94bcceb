"""How long a stage trains, and with which step size at every step."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from caps.errors import InputError


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything about the optimisation of one stage that is not the stage itself.

    >>> Schedule(steps=100, batch=32, warmup=10, decay="cosine").rate_at(4)
    0.0005
    """

    steps: int
    batch: int  # of each process: two processes see twice as many samples a step
    learning_rate: float = 1e-3
    warmup: int = 0  # steps of linear growth from 0
    decay: Literal["none", "cosine"] = "none"  # after the warm-up; cosine ends at 0
    ema: float = 0.0  # decay of the weight average, 0 = off
    clip: float = 1.0  # largest gradient norm, 0 = off
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        rules = {
            "steps": (self.steps >= 1, "at least 1"),
            "batch": (self.batch >= 1, "at least 1"),
            "learning_rate": (0 < self.learning_rate < math.inf, "above 0"),
            "warmup": (0 <= self.warmup <= self.steps, f"0 to steps ({self.steps})"),
            "decay": (self.decay in ("none", "cosine"), "'none' or 'cosine'"),
            "ema": (0 <= self.ema < 1, "0 (off) or a decay below 1"),
            "clip": (0 <= self.clip < math.inf, "0 (off) or a norm"),
            "checkpoint_seconds": (self.checkpoint_seconds >= 0, "0 or more"),
        }
        for field, (holds, wanted) in rules.items():
            if not holds:
                raise InputError(f"{field} is {getattr(self, field)!r}", f"give {wanted}")

    def shortened(self, steps: int) -> "Schedule":
        """The same with so many steps, at most a tenth of them of warm-up."""
        return replace(self, steps=steps, warmup=min(self.warmup, steps // 10))

    def rate_at(self, step: int) -> float:
        """The learning rate of step `step` (from 0): a function of the step alone."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        if self.decay == "none":
            return self.learning_rate
        done = (step - self.warmup) / (self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
