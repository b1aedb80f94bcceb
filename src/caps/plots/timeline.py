"""Where rows lie on the horizontal axis, how spans are written, and lines of a few thousand points.

Points of a line are chosen by minimum and maximum within equal intervals, never by striding: a
spike of one row in a million stays. What was not observed is a gap in the line, as long as it would
be visible.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

from caps.arrays import FloatArray, Rows, runs
from caps.series import (
    Sampling,
    Series,
    Unit,
    lasting,
    local_times,
    sampling_of,
    write_moment,
)

Times = NDArray[np.datetime64]

# How plotly writes a moment of each precision.
_WRITTEN: dict[Unit, str] = {
    "D": "%Y-%m-%d",
    "m": "%Y-%m-%d %H:%M",
    "s": "%Y-%m-%d %H:%M:%S",
    "ms": "%Y-%m-%d %H:%M:%S.%L",
}
FINEST_DATES = np.timedelta64(1, "ms")  # charts of dates cannot tell finer steps apart


class Timeline:
    """The time axis of `rows` rows; `time` is as it shall be shown, and `clock` names it."""

    def __init__(self, rows: int, time: Times | None = None, clock: str = "") -> None:
        self.rows, self.clock = rows, clock
        self.time = None if time is None else time.astype("datetime64[ns]")

    @classmethod
    def of(cls, series: Series) -> "Timeline":
        """The axis of a series, by the clock of its user."""
        if series.time is None:
            return cls(len(series))
        local = local_times(series.time, series.timezone)
        return cls(len(series), local, series.timezone or "")

    @cached_property
    def sampling(self) -> Sampling:
        """Step and gaps."""
        return sampling_of(self.time)

    @cached_property
    def dated(self) -> bool:
        """Whether positions are milliseconds since 1970; else seconds from the start, or rows."""
        step = self.sampling.step
        return self.time is not None and (step is None or bool(step >= FINEST_DATES))

    @property
    def label(self) -> str:
        """What the axis counts."""
        if self.time is None:
            return "row"
        return self.clock if self.dated else f"seconds since {self.moment(0)}"

    @property
    def hover(self) -> str:
        """How plotly writes the moment under the pointer, as finely as `moment` does."""
        return _WRITTEN[self._precision] if self.dated else ",.6~f"

    def positions(self, rows: Rows) -> FloatArray:
        """Where the rows lie on the axis."""
        if self.time is None:
            return rows.astype(np.float64)
        origin = np.datetime64(0, "ns") if self.dated else self.time[0]
        return np.asarray((self.time[rows] - origin) / self._unit)

    def extent(self, start: int, end: int) -> tuple[float, float]:
        """Left and right edge of a span: half a step before its first and after its last row."""
        left, right = self.positions(np.array([start, max(start, end - 1)]))
        step = self.sampling.step
        half = 0.5 if step is None else float(step / self._unit) / 2
        return float(left - half), float(right + half)

    def gaps(self, longer_than: int) -> Rows:
        """Rows that come after a gap in time of more than so many steps."""
        found = self.sampling.gap_rows
        if not len(found) or self.sampling.step is None or self.time is None:
            return found
        missed = (self.time[found] - self.time[found - 1]) / self.sampling.step - 1
        return np.asarray(found[missed > longer_than - 0.5])

    def moment(self, row: int) -> str:
        """When a row was: `2024-03-22 08:20`, or its number."""
        if self.time is None:
            return f"row {row:,}"
        return write_moment(self.time[row], self._precision)

    def lasting(self, start: int, end: int) -> str:
        """How long a span of rows lasts, its last row included: `8 h 20 min`, `50 rows`."""
        step = self.sampling.step
        if self.time is None or step is None:
            return "1 row" if end - start == 1 else f"{end - start:,} rows"
        return lasting(self.time[end - 1] - self.time[start] + step)

    @property
    def _unit(self) -> np.timedelta64:
        return np.timedelta64(1, "ms") if self.dated else np.timedelta64(1, "s")

    @cached_property
    def _precision(self) -> Unit:
        """The coarsest unit in which the times of this axis lose nothing that matters."""
        step = self.sampling.step
        assert self.time is not None
        minute = np.timedelta64(60, "s")
        if step is None or step >= minute:
            if (self.time == self.time.astype("datetime64[D]")).all():
                return "D"
            whole = bool((self.time == self.time.astype("datetime64[m]")).all())
            return "m" if whole or (step is not None and not step % minute) else "s"
        if step >= np.timedelta64(1, "s"):
            return "s"
        return "ms" if step >= FINEST_DATES else "us"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Points of a line by row; a value that is not a number lifts the pen."""

    rows: Rows
    values: FloatArray

    @property
    def lonely(self) -> NDArray[np.bool_]:
        """Points without a neighbour: no line passes through them, so they need a dot."""
        known = np.isfinite(self.values)
        before = np.concatenate([[False], known[:-1]])
        after = np.concatenate([known[1:], [False]])
        return np.asarray(known & ~before & ~after)


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Lower and upper edge by row; not-a-number where there is none."""

    rows: Rows
    lower: FloatArray
    upper: FloatArray

    @property
    def outline(self) -> Line:
        """Closed around every run of rows that has edges; the pen is lifted between them."""
        known = np.isfinite(self.lower) & np.isfinite(self.upper)
        rows, values = [np.empty(0, np.intp)], [np.empty(0)]
        for start, end in runs(known):
            run = slice(start, end)
            rows += [self.rows[run], self.rows[run][::-1], self.rows[start : start + 1]]
            values += [self.upper[run], self.lower[run][::-1], np.array([np.nan])]
        return Line(np.concatenate(rows), np.concatenate(values))


def thin_range(
    lower: FloatArray, upper: FloatArray, points: int, timeline: Timeline, start: int = 0
) -> Range:
    """A range over the rows from `start` on, with about `points` points on either edge.

    Where rows share a point, it reaches from the least to the most of them.
    """
    width = max(1, -(-len(lower) // points))
    first = np.arange(0, len(lower), width)
    rows = np.minimum(first + width // 2, len(lower) - 1)
    if not len(rows):
        return Range(rows, lower, upper)
    rows[0], rows[-1] = 0, len(lower) - 1
    least, most = np.fmin.reduceat(lower, first), np.fmax.reduceat(upper, first)
    gaps = timeline.gaps(longer_than=width) - start
    after = np.unique(np.searchsorted(rows, gaps[(gaps > 0) & (gaps < len(lower))]))
    return Range(
        np.insert(rows, after, rows[after]) + start,
        np.insert(least, after, np.nan),
        np.insert(most, after, np.nan),
    )


def thin_line(values: FloatArray, points: int, timeline: Timeline, start: int = 0) -> Line:
    """Draw `values`, the rows from `start` on, with about `points` points."""
    values = np.where(np.isfinite(values), values, np.nan)
    width = max(1, -(-2 * len(values) // points)) if len(values) > points else 1
    missing = runs(np.isnan(values))
    missing = missing[missing[:, 1] - missing[:, 0] >= width]  # long enough to be seen
    gaps = timeline.gaps(longer_than=width) - start
    gaps = gaps[(gaps > 0) & (gaps < len(values))]
    edges = np.concatenate([missing[:, 0] - 1, missing[:, 1], gaps - 1, gaps])
    edges = edges[(edges >= 0) & (edges < len(values))]
    extremes = np.arange(len(values))
    if len(values) > points:
        even = points // 2 * 2
        extremes = MinMaxDownsampler().downsample(np.ascontiguousarray(values), n_out=even)
    kept = np.union1d(extremes, edges).astype(np.intp)
    kept = kept[~np.isnan(values[kept])]
    # Pen lifts: in a missing run at its first row, in a gap of time just before the row after it.
    rows = np.concatenate([kept, missing[:, 0], gaps - 1])
    drawn = np.concatenate([values[kept], np.full(len(missing) + len(gaps), np.nan)])
    order = np.lexsort((np.isnan(drawn), rows))
    return Line(rows[order] + start, drawn[order])
