"""A series on the axis of a chart: the rows of a span, and lines of a few thousand points."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from caps.arrays import FloatArray
from caps.plots import Line as ThinLine, Timeline, thin_line, thin_range
from caps.scoring import Band, FitOptions, rows_to_learn
from caps.series import Series
from caps.serve.answers import ExpectedLine, Line, Lines, Mark, Proposal, RowBand, Rows
from caps.serve.requests import Span, Window


class Axis:
    """The time axis of one series."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self.timeline = Timeline.of(series)

    @cached_property
    def positions(self) -> FloatArray:
        """Where every row lies."""
        return self.timeline.positions(np.arange(len(self.series)))

    def moment(self, row: int) -> str | None:
        """When a row was; None without times."""
        return None if self.series.time is None else self.timeline.moment(row)

    def rows(self, span: Span) -> tuple[int, int]:
        """The rows between two positions, the end exclusive; possibly none."""
        left = -np.inf if span.left is None else span.left
        right = np.inf if span.right is None else span.right
        first = int(np.searchsorted(self.positions, left, side="left"))
        return first, max(first, int(np.searchsorted(self.positions, right, side="right")))

    def span(self, span: Span) -> Rows:
        """The same with their times."""
        start, end = self.rows(span)
        if end == start:
            return Rows(start=start, end=end, first=None, last=None)
        return Rows(start=start, end=end, first=self.moment(start), last=self.moment(end - 1))

    def proposal(self, channels: Sequence[str] | None) -> Proposal:
        """The rows that are learned from if none are chosen."""
        series = self.series.select(*channels) if channels else self.series
        learned = rows_to_learn(series, FitOptions().for_own_rows())
        return Proposal(**self.mark(learned.start, learned.end).model_dump(), why=learned.why)

    def mark(self, start: int, end: int) -> Mark:
        """Marked rows."""
        first, last = self.moment(start), self.moment(end - 1)
        extent = self.timeline.extent(start, end)
        return Mark(start=start, end=end, first=first, last=last, extent=extent)

    def lines(self, window: Window, usual: Sequence[str]) -> Lines:
        """The channels asked for or the usual ones, and one row beyond on either side."""
        start, end = self.rows(window)
        start, end = max(0, start - 1), min(len(self.series), end + 1)
        channels = usual if window.channels is None else window.channels
        values = self.series.select(*channels).values if channels else self.series.values[:, :0]
        left, right = self.timeline.extent(0, 1)
        return Lines(
            dated=self.timeline.dated,
            label=self.timeline.label,
            hover=self.timeline.hover,
            extent=self.timeline.extent(0, len(self.series)),
            step=right - left,
            rows=(start, end),
            lines=[
                self.line(name, values[:, column], (start, end), window.points)
                for column, name in enumerate(channels)
            ],
        )

    def line(self, name: str, values: FloatArray, rows: tuple[int, int], points: int) -> Line:
        """A line through the values of some rows."""
        start, end = rows
        return self._drawn(name, thin_line(values[start:end], points, self.timeline, start))

    def expected(self, name: str, band: Band, rows: tuple[int, int], points: int) -> ExpectedLine:
        """What was expected of some rows of a channel, and the range that counts as normal."""
        start, end = rows
        middle = thin_line(band.expected[start:end], points, self.timeline, start)
        edges = thin_range(
            band.lower[start:end], band.upper[start:end], points, self.timeline, start
        )
        return ExpectedLine(
            **self._drawn(name, middle).model_dump(),
            lower=listed(band.lower[middle.rows]),
            upper=listed(band.upper[middle.rows]),
            outline=self._drawn(name, edges.outline),
        )

    def _drawn(self, name: str, line: ThinLine) -> Line:
        return Line(name=name, x=self.positions[line.rows].tolist(), y=listed(line.values))


def bands_of(names: Sequence[str], band: Band) -> dict[str, RowBand]:
    """Bands (time, channel) by channel, as JSON can hold them."""
    return {
        name: RowBand(**{what: listed(each[:, at]) for what, each in band._asdict().items()})
        for at, name in enumerate(names)
    }


def listed(values: FloatArray) -> list[float | None]:
    """Numbers as JSON can hold them: null for what is none."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return list(found)
