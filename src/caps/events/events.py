"""From scores to events: when each begins, ends and peaks, and how rare it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.events.config import EventConfig
from caps.scoring import Calibration, EventRules, event_spans, odd_rows

Direction = Literal["up", "down", "both"]
Severity = Literal["low", "medium", "high"]
Why = Literal["feedback", "planned"]
# The most that a p-value of each may be: the same on every series, so that they compare.
SEVERITIES: Mapping[Severity, float] = {"high": 1e-6, "medium": 1e-4, "low": 1.0}


@dataclass(frozen=True, slots=True)
class Silence:
    """What keeps an event from being an alarm: feedback on one like it, or a planned event.

    >>> print(Silence("planned", "nightly backup"))
    No alarm: it lies within the planned event "nightly backup".
    """

    why: Why
    name: str  # of the planned event, or the id of the feedback
    note: str = ""

    def __str__(self) -> str:
        if self.why == "planned":
            return f'No alarm: it lies within the planned event "{self.name}".'
        note = f': "{self.note}"' if self.note else ""
        return f"No alarm: it is like the event dismissed by feedback {self.name}{note}."


@dataclass(frozen=True, slots=True)
class Event:
    """One subsequence that stands out, and what is known of it; every output is made of this.

    `end` is exclusive, `end_time` that of the last row.
    """

    number: int  # counted from 1
    start: int
    end: int
    peak: int  # row of the highest score
    score: float  # at the peak
    p_value: float | None = None  # how often, a row, normal data have an event as strong
    kind: str | None = None
    kind_scores: Mapping[str, float] = field(default_factory=dict, hash=False)  # best first
    direction: Direction | None = None
    size: float | None = None  # mean distance to the counterpart, in local standard deviations
    contributions: Mapping[str, float] = field(default_factory=dict, hash=False)  # sum 1
    reason: str = ""  # one sentence a person on call can use
    start_time: np.datetime64 | None = None
    end_time: np.datetime64 | None = None
    peak_time: np.datetime64 | None = None
    silence: Silence | None = None  # why it is no alarm; None for an alarm

    @classmethod
    def of(cls, event: "Event", **more: Any) -> Self:
        """The same event with more known of it."""
        return cls(**{each.name: getattr(event, each.name) for each in fields(Event)} | more)

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def channel(self) -> str | None:
        """The channel with the largest share of the evidence."""
        return max(self.contributions, key=self.contributions.__getitem__, default=None)

    @property
    def alarm(self) -> bool:
        """Whether it is one that somebody is to be told of."""
        return self.silence is None

    @property
    def severity(self) -> Severity | None:
        """How strong it is beside events of any series: by how rare normal data have one such.

        >>> [Event(1, 0, 1, 0, 0.9, p_value).severity for p_value in (2e-4, 2e-5, 2e-8, None)]
        ['low', 'medium', 'high', None]
        """
        p_value = self.p_value
        if p_value is None:
            return None
        return next((name for name, most in SEVERITIES.items() if p_value <= most), None)

    def to_dict(self, clock: Callable[[np.datetime64], Any] = str) -> dict[str, Any]:
        """All of it as JSON values, for outputs to choose from; `clock` writes the times."""
        times = {"start": self.start_time, "end": self.end_time, "peak": self.peak_time}
        return {
            "event": self.number,
            "start_row": self.start,
            "end_row": self.end,
            "peak_row": self.peak,
            **{name: None if time is None else clock(time) for name, time in times.items()},
            "score": self.score,
            "p_value": self.p_value,
            "severity": self.severity,
            "kind": self.kind,
            "kind_scores": dict(self.kind_scores),
            "direction": self.direction,
            "size": self.size,
            "channel": self.channel,
            "contributions": dict(self.contributions),
            "reason": self.reason,
            "alarm": self.alarm,
            "silenced": None if self.silence is None else self.silence.why,
            "silenced_by": None if self.silence is None else self.silence.name,
        }


def find_events(
    scores: FloatArray,
    threshold: float,
    rules: EventRules | None = None,
    *,
    local: FloatArray | None = None,
    causal: bool = False,
    calibration: Calibration | None = None,
    time: NDArray[np.datetime64] | None = None,
) -> list[Event]:
    """The events of a scored series, in order of time.

    `local` cuts them to the rows that are odd by themselves (`caps.scoring.event_spans`), `time`
    gives them their times, `calibration` their p-values.

    >>> scores = np.array([0.1, 0.9, 0.2, 0.8, 0.1, 0.1, 0.1, 0.7])
    >>> events = find_events(scores, 0.5, EventRules(merge_gap=1))
    >>> [(event.number, event.start, event.end, event.peak) for event in events]
    [(1, 1, 4, 1), (2, 7, 8, 7)]
    """
    if time is not None and len(time) != len(scores):
        raise InputError(
            f"{len(time)} rows of time for {len(scores)} scores", "give one for each score"
        )
    events = []
    rules = rules or EventRules()
    spans = event_spans(scores, threshold, rules, local, causal=causal).tolist()
    odd = np.where(odd_rows(scores, threshold, rules, local, causal=causal), scores, -np.inf)
    # Rows of one event have one score as a rule: the peak is where it is odd by itself.
    alone = np.zeros_like(odd) if local is None else np.nan_to_num(local, nan=-np.inf)
    for number, (start, end) in enumerate(spans, start=1):
        peak = start + int(np.lexsort((-alone[start:end], -odd[start:end]))[0])
        score = float(scores[peak])
        p_value = None if calibration is None else float(calibration.event_p_values(score))
        times = (None,) * 3 if time is None else time[[start, end - 1, peak]]
        named = dict(zip(("start_time", "end_time", "peak_time"), times, strict=True))
        events.append(Event(number, start, end, peak, score, p_value, **named))
    return events


def effect(deviation: FloatArray, config: EventConfig) -> tuple[Direction | None, float | None]:
    """Direction and mean size of the signed distances of an event's rows to their counterpart."""
    known = deviation[np.isfinite(deviation)]
    if len(known) == 0:
        return None, None
    size, mean = float(np.abs(known).mean()), float(known.mean())
    if abs(mean) < config.one_sided * size or size == 0:
        return "both", size
    return ("up" if mean > 0 else "down"), size


def lasting_shift(values: FloatArray, start: int, end: int, config: EventConfig) -> float | None:
    """The level after the rows [start, end) less that before; None where it went back.

    >>> steps = np.repeat([0.0, 5.0], [400, 600]) + np.sin(np.arange(1000.0))
    >>> round(lasting_shift(steps, 400, 700, EventConfig()))
    5
    >>> growth = np.arange(1000.0) / 50
    >>> lasting_shift(growth + np.sin(np.arange(1000.0)), 400, 700, EventConfig()) is None
    True
    """
    if end - start < config.staying_rows:
        return None
    beside = min(end - start, config.staying_beside)
    sides = values[max(0, start - beside) : start], values[end : end + beside]
    before, after = (side[np.isfinite(side)] for side in sides)
    if min(len(before), len(after)) < config.staying_rows // 2:
        return None
    shift = float(np.median(after) - np.median(before))
    # What grows evenly is as much higher afterwards as it grew before.
    half = len(before) // 2
    pace = float(np.median(before[-half:]) - np.median(before[:half])) / half
    beyond = min(abs(shift), abs(shift - pace * (end - start + beside)))
    # Both sides span whole swings, as a rule: their std is no less than that of a cycle.
    usual = max(float(before.std()), float(after.std()))
    return shift if beyond > config.staying_size * usual else None
