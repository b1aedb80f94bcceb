"""A fitted model on rows that come one at a time, or a few at once, in bounded memory.

The last rows are kept, and new ones are scored by the very functions that score a whole series
causally: so the scores are those of the batch, whatever they are made of.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.events import Course, Silencer
from caps.scoring import Band, Fitted, Scores
from caps.series import Series, Time, read_moment
from caps.stream.arrivals import Arrival, Arrivals, Counts
from caps.stream.config import StreamConfig
from caps.stream.drift import DriftWatch
from caps.stream.tracker import EventChange, EventTracker

GROUP = 1024  # rows scored at once, when many arrive
NANOSECOND = np.timedelta64(1, "ns")


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """What rows brought. Arrays hold the rows scored: as a rule one, none while it waits."""

    rows: NDArray[np.intp]  # on the grid, counted from the first row of the stream
    times: NDArray[np.datetime64] | None
    scores: FloatArray
    p_values: FloatArray
    changes: tuple[EventChange, ...]
    drift: bool  # True once: the scores no longer look like those of calibration
    refused: Mapping[str, int] = field(default_factory=dict)  # rows just given, by reason
    held: int = 0  # rows given so far that wait for others
    # (row, channel): what was expected of the rows scored, and the range that counts as normal.
    band: Band = field(default_factory=lambda: Band(*np.empty((3, 0, 0))))

    @property
    def score(self) -> float:
        """The score of the newest row; not-a-number if none was scored."""
        return float(self.scores[-1]) if len(self.scores) else float("nan")

    @property
    def p_value(self) -> float:
        """How often a normal row scores at least as high."""
        return float(self.p_values[-1]) if len(self.p_values) else float("nan")


class Stream:
    """Scores rows as they come; made by `CAPS.stream`.

    `lateness` is how many steps a row waits for rows that should have come before it.
    """

    def __init__(
        self,
        fitted: Fitted,
        threshold: float,
        *,
        lateness: int = 0,
        config: StreamConfig | None = None,
        bets: FloatArray | None = None,  # of the drift watch, where they are known already
        silencer: Silencer | None = None,  # tells which events are no alarms; None: all are
    ) -> None:
        if not fitted.causal:
            raise InputError(
                "the model scores rows by both sides, a stream knows the past only",
                "fit with causal=True (caps fit --causal)",
            )
        step = None if fitted.step is None else int(fitted.step / NANOSECOND)
        if not fitted.facts.get("regular", True):
            step = None  # as in training, rows are equal steps
        if lateness < 0 or (lateness and step is None):
            raise InputError(
                f"lateness={lateness} for rows "
                + ("without regular times" if lateness > 0 else "of a stream"),
                "give 0, or fit on a series with regular times",
            )
        self.fitted, self.context, config = fitted, fitted.context, config or StreamConfig()
        typical_step = None if fitted.step is None else int(fitted.step / NANOSECOND)
        self.arrivals = Arrivals(step, lateness, typical_step, config.arrivals)
        self.followers = fitted.followers()
        self.recent = fitted.recent_contexts()  # looked up anew by a stream that is restored
        self.tracker = EventTracker(threshold, fitted.calibration.rules, fitted.names)
        self.drift = DriftWatch(fitted.calibration, config.drift, bets)
        self.silencer = silencer
        self.course: Course | None = None  # of the event that is open
        self.past = np.empty((0, len(fitted.names)))  # the last `context` rows of the grid
        self.rows = 0  # of the grid, so far
        self.origin: int | None = None  # position of row 0 among the arrivals
        self.timed: bool | None = None  # whether rows come with times

    @property
    def counts(self) -> Counts:
        """Rows accepted, late, repeated, missing, and the gaps."""
        return self.arrivals.counts

    def update(self, value: Any, time: Time | None = None) -> Update:
        """Take in one row: a number, one for each channel, or a mapping of channels to numbers.

        Missing values are None or not-a-number. Times are datetimes, ISO text or epochs; those
        without a zone are meant in UTC. Without times every row is the next one.
        """
        return self.extend([value], None if time is None else [time])

    def extend(
        self, values: Iterable[Any], times: Sequence[Time] | NDArray[Any] | None = None
    ) -> Update:
        """Take in rows in the order in which they came: faster than one at a time."""
        rows = [self._values(value) for value in values]
        if times is not None and len(times) != len(rows):
            raise InputError(f"{len(times)} times for {len(rows)} rows", "give one for each row")
        moments = (
            [None] * len(rows)
            if times is None
            else [int(read_moment(time).astype(np.int64)) for time in times]
        )
        if rows and self.timed is None:
            self.timed = times is not None
        if rows and self.timed != (times is not None):
            raise InputError("some rows come with a time and others do not", "give all or none")
        ready, before = [], self.counts.refused()
        for row, when in zip(rows, moments, strict=True):
            self.arrivals.add(row, when)
            # Asked after each row, so that it makes no difference how many come at once.
            ready += self.arrivals.ready()
        return self._with_refused(self._score(ready), before)

    def finish(self) -> Update:
        """The stream has ended: score what waits and close the event that is open."""
        before = self.counts.refused()
        last = self._score(self.arrivals.ready(everything=True))
        seen = Series(self.past, np.isfinite(self.past), self.fitted.names)
        closed = self._judged(self.tracker.close(), seen, self.rows - len(self.past))
        changes = (*last.changes, *closed)
        return self._with_refused(replace(last, changes=changes), before)

    def _with_refused(self, update: Update, before: Mapping[str, int]) -> Update:
        """Add what became of the rows that were not scored."""
        refused = {
            why: count - before[why]
            for why, count in self.counts.refused().items()
            if count > before[why]
        }
        return replace(update, refused=refused, held=self.arrivals.held)

    def _values(self, value: Any) -> FloatArray:
        names = self.fitted.names
        if isinstance(value, Mapping):
            value = [value.get(name) for name in names]
        try:
            row = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"{value!r} is no row of numbers", "give numbers or None") from None
        if row.shape != (len(names),):
            raise InputError(
                f"a row of shape {row.shape} for the channels {', '.join(names)}",
                "give one number for each channel",
            )
        return np.where(np.isfinite(row), row, np.nan)

    def _score(self, arrivals: list[Arrival]) -> Update:
        if self.origin is None and arrivals:
            self.origin = arrivals[0].position
        rows = np.array([each.position - (self.origin or 0) for each in arrivals], dtype=np.intp)
        scores, local = np.empty((2, len(rows)))
        evidence = np.empty((len(rows), len(self.fitted.names)))
        changes: list[EventChange] = []
        band = np.empty((3, *evidence.shape))
        for first in range(0, len(rows), GROUP):
            group = slice(first, first + GROUP)
            scored, index, seen = self._score_group(rows[group], arrivals[group])
            behind = len(seen) - 1 - int(index[-1])
            scores[group], local[group] = scored.score[index], scored.local[index]
            evidence[group] = scored.evidence[index]
            band[:, group] = np.stack(self.fitted.band(scored))[:, index]
            of_events = self.fitted.calibration.event_p_values(scores[group])
            for k, p_value in enumerate(of_events.tolist(), start=first):
                row, said = int(rows[k]), (evidence[k], float(local[k]))
                told = self.tracker.feed(row, arrivals[k].time, float(scores[k]), p_value, *said)
                changes += self._judged(told, seen, row - behind - int(index[k - first]))
        p_values = self.fitted.calibration.p_values(scores)
        times = None
        if self.timed:
            times = np.array([each.time for each in arrivals], dtype="datetime64[ns]")
        drift = self.drift.watch(p_values)
        found = rows, times, scores, p_values, tuple(changes), drift
        return Update(*found, band=Band(*band))

    def _judged(self, found: list[EventChange], seen: Series, first: int) -> list[EventChange]:
        """The changes with what keeps their event from being an alarm; `seen` begins at `first`."""
        if self.silencer is None or not found:
            return found
        scaled, judged = self.fitted.scaled(seen), []
        for change in found:
            if change.what == "opened":
                self.course = self.silencer.begin(change.start)
            elif self.course is None:  # nothing was known of when it began
                self.course = Course(change.start, {}, change.end)
            self.silencer.advance(self.course, change, scaled, first)
            ended = change.what == "closed"
            silence = self.silencer.silence(self.course, change, ended=ended)
            judged.append(replace(change, silence=silence))
            if silence is None:
                self.course.alike.clear()  # what was told as an alarm stays one
            if ended:
                self.course = None
        return judged

    def _score_group(
        self, rows: NDArray[np.intp], arrivals: list[Arrival]
    ) -> tuple[Scores, NDArray[np.intp], Series]:
        """Scores of the next rows and those missing between them, and which are the former.

        And the rows they were scored by, those before them included.
        """
        # After `context` empty rows nothing before them counts: longer gaps are cut to that.
        steps = np.minimum(np.diff(rows, prepend=self.rows - 1), self.context + 1)
        index = np.cumsum(steps) - 1
        new = np.full((int(index[-1]) + 1, len(self.fitted.names)), np.nan)
        new[index] = [each.values for each in arrivals]
        values = np.concatenate([self.past, new])
        series = Series(values, np.isfinite(values), self.fitted.names)
        scored = self.fitted.score(
            series,
            last=len(new),
            positions=self._positions(arrivals, index),
            followers=self.followers,
            recent=self.recent,
        )
        self.past = values[max(0, len(values) - self.context) :].copy()
        self.rows = int(rows[-1]) + 1
        return scored, index, series

    def _positions(
        self, arrivals: list[Arrival], index: NDArray[np.intp]
    ) -> NDArray[np.intp] | None:
        """Where the rows kept and the next ones, those missing too, stand in steps of training."""
        times = np.array([each.time for each in arrivals], dtype="datetime64[ns]")
        arrived = self.fitted.positions(times) if self.timed else None
        if arrived is None:
            return None
        rows = np.arange(-len(self.past), int(index[-1]) + 1)
        following = np.searchsorted(index, rows)
        return np.asarray(arrived[following] - index[following] + rows)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the state as a folder, for `CAPS.stream(state=folder)`."""
        from caps.stream.storage import save_streams  # safetensors: 0.03 s, not for an export

        save_streams(Path(folder), {"": self})

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """All that is needed to continue: JSON values and arrays."""
        facts = {
            "rows": self.rows,
            "origin": self.origin,
            "timed": self.timed,
            "arrivals": self.arrivals.facts(),
            "tracker": self.tracker.facts(),
            "drift": self.drift.facts(),
            "followed": [each.rows for each in self.followers.values()],
            "course": None if self.course is None else asdict(self.course),
        }
        held = self.arrivals.held_values(len(self.fitted.names))
        followed = [each.state() for each in self.followers.values()]
        return facts, {
            "past": self.past,
            "held": held,
            "followed": np.concatenate(followed) if followed else np.empty((0, 0)),
        }

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Continue from a state; raises ValueError or KeyError if it does not fit the model."""
        channels = len(self.fitted.names)
        for name in ("past", "held"):
            array = arrays[name]
            if array.shape[1:] != (channels,) or array.dtype != np.float64:
                raise ValueError(f"{name} rows of {array.dtype} with shape {array.shape}")
            if np.isinf(array).any():
                raise ValueError(f"{name} rows with infinite values")
        parts = [len(each.state()) for each in self.followers.values()]
        states = np.split(arrays["followed"], np.cumsum(parts)[:-1])
        for follower, rows, state in zip(
            self.followers.values(), facts["followed"], states, strict=True
        ):
            follower.restore(state, int(rows))
        self.arrivals.restore(facts["arrivals"], arrays["held"])
        self.tracker.restore(facts["tracker"])
        self.drift.restore(facts["drift"])
        course = facts.get("course")  # older states have none
        self.course = None if course is None else Course(**course)
        self.recent = self.fitted.recent_contexts()
        self.past = arrays["past"][-self.context :].copy()
        self.rows, self.origin, self.timed = int(facts["rows"]), facts["origin"], facts["timed"]

    def take_over(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Continue from the state of another fit: rows, times and an open event.

        Only what is usual, and so what drift is judged by, belongs to a fit and begins anew.
        """
        own, kept = self.state()
        kept |= {part: arrays[part] for part in ("past", "held")}
        self.restore({**facts, **{name: own[name] for name in ("drift", "followed")}}, kept)
