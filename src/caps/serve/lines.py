"""A series on the axis of a chart: the rows of a span, and lines of a few thousand points."""

from functools import cached_property

import numpy as np

from caps.arrays import FloatArray
from caps.plots import Timeline, thin_line
from caps.series import Series, write_moment
from caps.serve.schemas import Line, Lines, Rows


class Axis:
    """The time axis of one series."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self.timeline = Timeline.of(series)

    @cached_property
    def positions(self) -> FloatArray:
        """Where every row lies."""
        return self.timeline.positions(np.arange(len(self.series)))

    def extent(self, start: int, end: int) -> tuple[float, float]:
        """Left and right edge of the rows [start, end)."""
        return self.timeline.extent(start, end)

    def moment(self, row: int) -> str | None:
        """When a row was; None without times."""
        return None if self.series.time is None else self.timeline.moment(row)

    def clock(self, time: np.datetime64) -> str:
        """A moment in UTC as this axis shows it, to the second."""
        return write_moment(time, "s", timezone=self.series.timezone)

    def rows(self, left: float | None, right: float | None) -> tuple[int, int]:
        """The rows between two positions, the end exclusive; possibly none."""
        first = 0 if left is None else int(np.searchsorted(self.positions, left, side="left"))
        last = len(self.series)
        if right is not None:
            last = int(np.searchsorted(self.positions, right, side="right"))
        return first, max(first, last)

    def span(self, left: float | None, right: float | None) -> Rows:
        """The same with their times."""
        start, end = self.rows(left, right)
        if end == start:
            return Rows(start=start, end=end, first=None, last=None)
        return Rows(start=start, end=end, first=self.moment(start), last=self.moment(end - 1))

    def lines(
        self, channels: list[str], left: float | None, right: float | None, points: int
    ) -> Lines:
        """Some channels between two positions, and one row beyond on either side."""
        start, end = self.rows(left, right)
        start, end = max(0, start - 1), min(len(self.series), end + 1)
        values = self.series.select(*channels).values if channels else self.series.values[:, :0]
        whole = self.extent(0, len(self.series))
        step = self.extent(0, 1)
        return Lines(
            dated=self.timeline.dated,
            label=self.timeline.label,
            extent=whole,
            step=step[1] - step[0],
            rows=(start, end),
            lines=[
                self.line(name, values[:, column], (start, end), points)
                for column, name in enumerate(channels)
            ],
        )

    def line(self, name: str, values: FloatArray, rows: tuple[int, int], points: int) -> Line:
        """A line through the values of some rows."""
        start, end = rows
        thinned = thin_line(values[start:end], points, self.timeline, start)
        return Line(name=name, x=self.positions[thinned.rows].tolist(), y=listed(thinned.values))


def listed(values: FloatArray) -> list[float | None]:
    """Numbers as JSON can hold them: null for what is none."""
    return [value if known else None for value, known in zip(
        values.tolist(), np.isfinite(values).tolist(), strict=True
    )]  # fmt: skip
