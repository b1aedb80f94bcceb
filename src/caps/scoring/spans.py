"""Runs of scores above a threshold: merged, long enough and not too close."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.configuration import Configuration
from caps.errors import InputError

Spans = NDArray[np.intp]  # (event, 2): start and end, the end exclusive


@dataclass(frozen=True, slots=True)
class EventRules(Configuration):
    """What counts as one event; an alarm budget is calibrated for these rules."""

    WHAT: ClassVar[str] = "event rules"

    merge_gap: int = 32  # rows below the threshold that do not end an event: an eighth of a window
    minimum_length: int = 1  # rows, after merging; 1 keeps one-point spikes
    cool_down: int = 0  # rows after an event in which no other is raised

    def __post_init__(self) -> None:
        least = {"merge_gap": 0, "minimum_length": 1, "cool_down": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < bound:
                raise InputError(f"{name} is {value!r}", f"give {bound} or more rows")


def event_spans(scores: FloatArray, threshold: float, rules: EventRules) -> Spans:
    """Start and end of every event: merge, then drop the short ones, then keep the distance."""
    rows = np.flatnonzero(scores > threshold)  # not-a-number is never above
    if len(rows) == 0:
        return np.empty((0, 2), dtype=np.intp)
    breaks = np.flatnonzero(np.diff(rows) > rules.merge_gap + 1)
    starts = rows[np.concatenate([[0], breaks + 1])]
    ends = rows[np.concatenate([breaks, [len(rows) - 1]])] + 1
    long_enough = ends - starts >= rules.minimum_length
    spans = np.stack([starts[long_enough], ends[long_enough]], axis=1)
    return _kept_apart(spans, rules.cool_down) if rules.cool_down > rules.merge_gap else spans


def _kept_apart(spans: Spans, cool_down: int) -> Spans:
    """Drop events that begin within the cool-down of the last one kept."""
    kept: list[int] = []
    for number, start in enumerate(spans[:, 0]):
        if not kept or start - spans[kept[-1], 1] >= cool_down:
            kept.append(number)
    return spans[kept]
