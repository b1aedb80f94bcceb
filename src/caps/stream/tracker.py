"""Events of rows that come one at a time: the same ones that `find_events` finds in all of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from caps.arrays import FloatArray
from caps.events import Event
from caps.scoring import EventRules, shares

Happening = Literal["opened", "updated", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChange(Event):
    """An event as it is after a row, and what the row did to it."""

    what: Happening


@dataclass(slots=True)
class _Run:
    """Rows above the threshold that belong together so far."""

    start: int
    start_time: int | None
    end: int
    end_time: int | None
    peak: int
    peak_time: int | None
    score: float
    p_value: float
    local: float  # of the peak: of rows of one score it is the one that is odd by itself
    total: FloatArray  # (channel,) evidence of the rows [start, end)
    count: FloatArray  # (channel,) rows it was observed in
    later_total: FloatArray  # the same of the rows since, which count if the run goes on
    later_count: FloatArray
    ignored: bool  # within the cool-down of the last event
    number: int = 0  # 0 until it is an event


class EventTracker:
    """Follows scores row by row; an event is opened, updated by every row above, and closed."""

    def __init__(self, threshold: float, rules: EventRules, channels: tuple[str, ...]) -> None:
        self.threshold, self.rules, self.channels = threshold, rules, channels
        self.run: _Run | None = None
        self.last_end: int | None = None  # of the last event
        self.events = 0
        # Rows above the threshold that belong together: the event, and its echo.
        self.surge_end: int | None = None
        self.surge_peak = -math.inf  # of what is local to its rows

    def feed(
        self,
        row: int,
        time: int | None,
        score: float,
        p_value: float,
        evidence: FloatArray,
        local: float = math.inf,
    ) -> list[EventChange]:
        """The changes that a row brings; rows not fed in between count as not observed.

        `local` is what is odd about the row itself: without it, every row above the threshold is.
        """
        changes = []
        if self.run is not None and row - self.run.end > self.rules.merge_gap:
            changes += self.close()
        if not self._belongs(row, score, local):
            if self.run is not None:
                _add(self.run.later_total, self.run.later_count, evidence)
                if row - self.run.end >= self.rules.merge_gap:  # no later row can extend it
                    changes += self.close()
            return changes
        if self.run is None:
            if not local >= self.rules.fresh:  # nothing is odd enough to begin with
                return changes
            self.run = self._begin(row, time, score, p_value, local)
        return changes + self._extend(self.run, row, time, score, p_value, evidence, local)

    def _belongs(self, row: int, score: float, local: float) -> bool:
        """Whether a row is above the threshold, and by itself, not by what came before."""
        if not score > self.threshold:  # not-a-number is never above
            return False
        if self.surge_end is None or row - self.surge_end > self.rules.merge_gap:
            self.surge_peak = -math.inf
        local = -math.inf if math.isnan(local) else local
        self.surge_end, self.surge_peak = row + 1, max(self.surge_peak, local)
        wanted = min(self.rules.live_edge * max(self.surge_peak, 0.0), self.rules.clear)
        return local >= wanted

    def close(self) -> list[EventChange]:
        """End the event that is open, if there is one."""
        run, self.run = self.run, None
        if run is None or run.number == 0:
            return []
        self.last_end = run.end
        return [self._change("closed", run)]

    def _begin(
        self, row: int, time: int | None, score: float, p_value: float, local: float
    ) -> _Run:
        rules = self.rules
        total, count, later_total, later_count = np.zeros((4, len(self.channels)))
        ignored = (
            rules.cool_down > rules.merge_gap
            and self.last_end is not None
            and row - self.last_end < rules.cool_down
        )
        sums = (total, count, later_total, later_count)
        return _Run(row, time, row, time, row, time, score, p_value, local, *sums, ignored)

    def _extend(
        self,
        run: _Run,
        row: int,
        time: int | None,
        score: float,
        p_value: float,
        evidence: FloatArray,
        local: float,
    ) -> list[EventChange]:
        run.end, run.end_time = row + 1, time
        if (score, local) > (run.score, run.local):
            run.peak, run.peak_time, run.score = row, time, score
            run.p_value, run.local = p_value, local
        run.total += run.later_total
        run.count += run.later_count
        run.later_total[:], run.later_count[:] = 0.0, 0.0
        _add(run.total, run.count, evidence)
        if run.ignored or run.end - run.start < self.rules.minimum_length:
            return []
        if run.number:
            return [self._change("updated", run)]
        self.events += 1
        run.number = self.events
        return [self._change("opened", run)]

    def _change(self, what: Happening, run: _Run) -> EventChange:
        mean = np.where(run.count > 0, run.total / np.maximum(run.count, 1), np.nan)
        return EventChange(
            run.number,
            run.start,
            run.end,
            run.peak,
            run.score,
            run.p_value,
            contributions=dict(zip(self.channels, shares(mean).tolist(), strict=True)),
            start_time=_moment(run.start_time),
            end_time=_moment(run.end_time),
            peak_time=_moment(run.peak_time),
            what=what,
        )

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        run = None
        if self.run is not None:
            run = {name: getattr(self.run, name) for name in _Run.__slots__}
            run |= {name: run[name].tolist() for name in _SUMS}
            run["local"] = _finite(self.run.local)
        return {
            "events": self.events,
            "last_end": self.last_end,
            "run": run,
            "surge_end": self.surge_end,
            "surge_peak": _finite(self.surge_peak),
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.events, self.last_end = int(facts["events"]), facts["last_end"]
        self.surge_end, peak = facts["surge_end"], facts["surge_peak"]
        self.surge_peak = -math.inf if peak is None else float(peak)
        run = facts["run"]
        if run is not None:
            sums = {name: np.array(run[name], dtype=np.float64) for name in _SUMS}
            if any(total.shape != (len(self.channels),) for total in sums.values()):
                raise ValueError("an event of other channels")
            local = math.inf if run["local"] is None else float(run["local"])
            run = _Run(**{**run, **sums, "local": local})
        self.run = run


_SUMS = ("total", "count", "later_total", "later_count")


def _add(total: FloatArray, count: FloatArray, evidence: FloatArray) -> None:
    known = np.isfinite(evidence)
    total[known] += evidence[known]
    count += known


def _finite(value: float) -> float | None:
    """JSON has no infinite numbers."""
    return value if math.isfinite(value) else None


def _moment(time: int | None) -> np.datetime64 | None:
    return None if time is None else np.datetime64(time, "ns")
