"""From scores to events: runs above the threshold, merged, long enough and not too close."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from caps.errors import ArtifactError, InputError

if TYPE_CHECKING:
    from caps.detect.threshold import Calibration

FloatArray = NDArray[np.float64]
Spans = NDArray[np.intp]  # (event, 2): start and end, the end exclusive
Direction = Literal["up", "down", "both"]

ONE_SIDED = 0.25  # of the mean size: a smaller mean deviation has no direction


@dataclass(frozen=True, slots=True)
class EventRules:
    """What counts as one event; an alarm budget is calibrated for these rules."""

    merge_gap: int = 32  # rows below the threshold that do not end an event: an eighth of a window
    minimum_length: int = 1  # rows, after merging; 1 keeps one-point spikes
    cool_down: int = 0  # rows after an event in which no other is raised

    def __post_init__(self) -> None:
        least = {"merge_gap": 0, "minimum_length": 1, "cool_down": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < bound:
                raise InputError(f"{name} is {value!r}", f"give {bound} or more rows")

    def to_dict(self) -> dict[str, int]:
        """As JSON values; `from_dict` gives the same rules back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The rules that `to_dict` described; other or missing keys are errors."""
        odd = set(facts) ^ {field.name for field in fields(cls)}
        if odd:
            raise ArtifactError(
                f"event rules with odd or missing keys: {', '.join(sorted(odd))}",
                "write them again with this version",
            )
        return cls(**facts)


@dataclass(frozen=True, slots=True)
class Event:
    """One stretch of rows that stands out; `end` is exclusive, `end_time` that of the last row."""

    start: int
    end: int
    peak: int  # row of the highest score
    score: float  # at the peak
    p_value: float | None = None  # how often, a row, normal data have an event as strong
    direction: Direction | None = None
    size: float | None = None  # mean distance to the counterpart, in local spreads
    start_time: np.datetime64 | None = None
    end_time: np.datetime64 | None = None

    def __len__(self) -> int:
        return self.end - self.start


def find_events(
    scores: FloatArray,
    threshold: float,
    rules: EventRules | None = None,
    *,
    calibration: "Calibration | None" = None,
    deviation: FloatArray | None = None,
    time: NDArray[np.datetime64] | None = None,
) -> list[Event]:
    """The events of a scored series, in order of time.

    `deviation` is the signed distance of each row to its normal counterpart in local spreads; it
    gives direction and size. `time` gives the events their times, `calibration` their p-values.

    >>> scores = np.array([0.1, 0.9, 0.2, 0.8, 0.1, 0.1, 0.1, 0.7])
    >>> events = find_events(scores, 0.5, EventRules(merge_gap=1))
    >>> [(event.start, event.end, event.peak) for event in events]
    [(1, 4, 1), (7, 8, 7)]
    """
    for name, array in (("deviation", deviation), ("time", time)):
        if array is not None and len(array) != len(scores):
            raise InputError(
                f"{len(array)} rows of {name} for {len(scores)} scores", "give one for each score"
            )
    events = []
    for start, end in event_spans(scores, threshold, rules or EventRules()).tolist():
        peak = start + int(np.nanargmax(scores[start:end]))
        score = float(scores[peak])
        direction, size = (None, None) if deviation is None else _effect(deviation[start:end])
        events.append(
            Event(
                start,
                end,
                peak,
                score,
                None if calibration is None else float(calibration.event_p_values(score)),
                direction,
                size,
                None if time is None else time[start],
                None if time is None else time[end - 1],
            )
        )
    return events


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


def _effect(deviation: FloatArray) -> tuple[Direction | None, float | None]:
    """Direction and mean size of the deviation inside an event."""
    known = deviation[np.isfinite(deviation)]
    if len(known) == 0:
        return None, None
    size, mean = float(np.abs(known).mean()), float(known.mean())
    if abs(mean) < ONE_SIDED * size or size == 0:
        return "both", size
    return ("up" if mean > 0 else "down"), size
