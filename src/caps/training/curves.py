"""Averages of the losses: short ones for the progress, a thinned curve for the manifest."""

from collections.abc import Mapping
from typing import Any

POINTS = 400  # per loss: enough to draw, small enough for a manifest


class Mean:
    """The mean of named values since it was last taken."""

    def __init__(self) -> None:
        self.totals: dict[str, float] = {}
        self.count = 0

    def add(self, values: Mapping[str, float]) -> None:
        """Count one more set of values; the names are the same every time."""
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + value
        self.count += 1

    def take(self) -> dict[str, float]:
        """Give the means and start anew."""
        means = {name: total / self.count for name, total in self.totals.items()}
        self.totals, self.count = {}, 0
        return means


class Curves:
    """Loss curves of at most `POINTS` points: each is the mean over an interval of steps.

    >>> curves = Curves(steps=800)
    >>> for step in range(1, 5):
    ...     curves.add(step, {"loss": float(step)})
    >>> curves.points
    {'step': [2, 4], 'loss': [1.5, 3.5]}
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.interval = -(-steps // POINTS)
        self.points: dict[str, list[float]] = {"step": []}
        self.mean = Mean()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Take in the losses of `step`, counted from 1."""
        self.mean.add(values)
        if step % self.interval == 0 or step == self.steps:
            self.points["step"].append(step)
            for name, value in self.mean.take().items():
                self.points.setdefault(name, []).append(value)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as JSON."""
        return {"points": self.points, "totals": self.mean.totals, "count": self.mean.count}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.points = {name: list(values) for name, values in state["points"].items()}
        self.mean.totals, self.mean.count = dict(state["totals"]), state["count"]
