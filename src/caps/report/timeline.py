"""Where rows lie on the horizontal axis, and how moments and stretches are written."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caps.report.content import FloatArray, Report
from caps.series.sampling import Sampling, sampling_of

Rows = NDArray[np.intp]

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
FINEST_DATES = np.timedelta64(1, "ms")  # charts of dates cannot tell finer steps apart


class Timeline:
    """The time axis of a report."""

    def __init__(self, report: Report) -> None:
        self.rows = len(report)
        self.clock = report.clock
        self.time = None if report.time is None else report.time.astype("datetime64[ns]")

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

    def positions(self, rows: Rows) -> FloatArray:
        """Where the rows lie on the axis."""
        if self.time is None:
            return rows.astype(np.float64)
        origin, unit = ("1970-01-01", "ms") if self.dated else (self.time[0], "s")
        return np.asarray((self.time[rows] - np.datetime64(origin)) / np.timedelta64(1, unit))

    def extent(self, start: int, end: int) -> tuple[float, float]:
        """Left and right edge of a stretch: half a step before its first and after its last row."""
        left, right = self.positions(np.array([start, max(start, end - 1)]))
        half = self._step / 2
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
        text = str(self.time[row].astype(f"datetime64[{self._precision}]"))
        return text.replace("T", " ")

    def lasting(self, start: int, end: int) -> str:
        """How long a stretch of rows lasts, its last row included: `8 h 20 min`, `50 rows`."""
        step = self.sampling.step
        if self.time is None or step is None:
            return "1 row" if end - start == 1 else f"{end - start:,} rows"
        return words(self.time[end - 1] - self.time[start] + step)

    @cached_property
    def _step(self) -> float:
        if self.time is None or self.sampling.step is None:
            return 1.0
        unit = np.timedelta64(1, "ms" if self.dated else "s")
        return float(self.sampling.step / unit)

    @cached_property
    def _precision(self) -> str:
        """The coarsest unit in which the times of this axis lose nothing that matters."""
        step = self.sampling.step
        assert self.time is not None
        if step is None or step >= np.timedelta64(60, "s"):
            whole_days = bool((self.time == self.time.astype("datetime64[D]")).all())
            return "D" if whole_days else "m"
        if step >= np.timedelta64(1, "s"):
            return "s"
        return "ms" if step >= FINEST_DATES else "us"


def words(span: np.timedelta64) -> str:
    """A duration in its two largest units.

    >>> words(np.timedelta64(500, "m")), words(np.timedelta64(18, "D")), words(np.timedelta64(5, "ms"))
    ('8 h 20 min', '18 d', '0.005 s')
    """
    seconds = float(span / np.timedelta64(1, "s"))
    if seconds < 60:
        return f"{seconds:.3g} s"
    for (unit, size), (smaller, part) in zip(_UNITS, _UNITS[1:], strict=False):
        if seconds >= size:
            whole, rest = divmod(round(seconds / part), size // part)
            return f"{whole} {unit}" + (f" {rest} {smaller}" if rest else "")
    raise AssertionError("every duration from a minute on has a unit")
