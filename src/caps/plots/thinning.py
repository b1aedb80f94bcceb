"""Lines of a few thousand points that look like the line of all of them.

Points are chosen by minimum and maximum within equal intervals, never by striding: a spike of one
row in a million stays. What was not observed is a gap in the line, as long as it would be visible.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

from caps.arrays import FloatArray, Rows
from caps.plots.timeline import Timeline


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


def thin_line(values: FloatArray, points: int, timeline: Timeline, start: int = 0) -> Line:
    """Draw `values`, the rows from `start` on, with about `points` points."""
    values = np.where(np.isfinite(values), values, np.nan)
    width = max(1, -(-2 * len(values) // points)) if len(values) > points else 1
    missing = _missing_runs(values, at_least=width)
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


def _missing_runs(values: FloatArray, *, at_least: int) -> Rows:
    """Start and end (exclusive) of the runs of missing values that are long enough to be seen."""
    flags = np.concatenate([[False], np.isnan(values), [False]])
    edges = np.flatnonzero(flags[1:] != flags[:-1]).reshape(-1, 2)
    return np.asarray(edges[edges[:, 1] - edges[:, 0] >= at_least])
