"""From scores to events: when each begins, ends and peaks, and how rare it is."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.scoring import Calibration, EventRules, event_spans

FloatArray = NDArray[np.float64]
Direction = Literal["up", "down", "both"]

ONE_SIDED = 0.25  # of the mean size: a smaller mean deviation has no direction


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
    calibration: Calibration | None = None,
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


def _effect(deviation: FloatArray) -> tuple[Direction | None, float | None]:
    """Direction and mean size of the deviation inside an event."""
    known = deviation[np.isfinite(deviation)]
    if len(known) == 0:
        return None, None
    size, mean = float(np.abs(known).mean()), float(known.mean())
    if abs(mean) < ONE_SIDED * size or size == 0:
        return "both", size
    return ("up" if mean > 0 else "down"), size
