"""What a memory measures of each row against training: how new, how badly foretold, how quiet.

All in logarithms, so that a factor counts the same wherever it is. Day and week are contexts too:
what was at the same hour, and at the same hour of the same weekday. Subsequences know nothing of
the clock: a Wednesday shaped like a Sunday is like a Sunday to them.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.jobs import in_threads
from caps.neighbours import (
    FORMS,
    Form,
    JointIndex,
    NeighbourConfig,
    SubsequenceIndex,
    TrainingOverlap,
    Zone,
    block_errors,
    expected_beside,
    observed_share,
    paa,
)
from caps.scoring.combination import mean_between
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import ScoringContext
from caps.scoring.following import middle


class Bank(NamedTuple):
    """The training rows of a channel as subsequences of every length that fits."""

    rows: Singles  # (time,), not-a-number where unobserved
    edged: Singles  # the same between as many not-a-numbers as are foretold
    first: int  # row of the first of them in the training part
    indices: dict[int, SubsequenceIndex]

    @classmethod
    def of(cls, rows: Singles, first: int, config: NeighbourConfig) -> "Bank":
        """Of scaled training rows."""
        fitting = [each for each in config.lengths if each <= len(rows) // config.training_lengths]
        values = rows.astype(np.float64)
        indices = {length: SubsequenceIndex.of(values, length, config) for length in fitting}
        edged = np.pad(rows, max(config.horizons), constant_values=np.nan)
        found = {length: each for length, each in indices.items() if each is not None}
        return cls(rows, edged, first, found)

    def exclusion_zone(
        self, index: SubsequenceIndex, starts: Rows, overlap: TrainingOverlap, beside: int = 0
    ) -> Zone | None:
        """Which of the index are not to be compared with the scored ones that begin at `starts`."""
        return exclusion_zone(index, self.first, starts, overlap, beside)


def exclusion_zone(
    index: SubsequenceIndex | JointIndex,
    first_row: int,
    starts: Rows,
    overlap: TrainingOverlap,
    beside: int = 0,
) -> Zone | None:
    """The same of an index whose rows begin at `first_row` of the training part."""
    if not overlap:
        return None
    first = np.full(len(starts), len(index.starts), dtype=np.intp)
    last = np.zeros(len(starts), dtype=np.intp)
    for which, training in overlap.touching(starts, index.length):
        low, high = index.overlapping(training - first_row, beside)
        some = high > low
        first[which[some]] = np.minimum(first[which[some]], low[some])
        last[which[some]] = np.maximum(last[which[some]], high[some])
    return first, last


def cycles_of(step: np.timedelta64 | None, rows: int, config: ScoringConfig) -> tuple[int, ...]:
    """Rows of a day and of a week, where training holds several of them.

    >>> cycles_of(np.timedelta64(1, "h"), 240, ScoringConfig())
    (24, 168)
    >>> cycles_of(np.timedelta64(7, "m"), 4000, ScoringConfig())
    ()
    """
    whole = np.timedelta64(1, "D")
    if step is None or whole % step:
        return ()
    day = int(whole / step)
    fitting = [each for each in (day, 7 * day) if config.fewest_cycles * each <= rows]
    return tuple(fitting) if day >= config.shortest_cycle else ()


class Calendar:
    """Training rows, by their place in a cycle."""

    def __init__(self, rows: Singles, first: int, cycle: int, most: int) -> None:
        """`rows` of training, the `first` of which is its so many-th."""
        self.rows, self.first, self.cycle = rows, first, cycle
        self.count = min(most, -(-len(rows) // cycle))

    def errors(self, values: FloatArray, positions: Rows) -> FloatArray:
        """How far each row is from the nearest at the same place in another cycle.

        `positions` are those of the rows, counted from that where training began.
        """
        there, end = positions - self.first, len(self.rows) - 1
        last = end - (end - there) % self.cycle
        nearest = np.full(len(values), np.inf)
        for at in (last - self.cycle * back for back in range(self.count)):
            away = np.abs(values - self.rows[np.maximum(at, 0)])
            known = (at >= 0) & (at != there) & np.isfinite(away)  # none is compared with itself
            nearest = np.where(known, np.minimum(nearest, away), nearest)
        return np.where(np.isinf(nearest), np.nan, nearest)


SEVERAL = 16_384  # rows from which several threads pay
PIECE = (
    1024  # subsequences that a thread looks up at a time: what is expected beside them fits a cache
)

What = Literal[
    "new", "sparse", "ahead", "behind", "context", "quiet", "calendar", "after", "before"
]
Side = Literal["ahead", "behind"]
# What was expected of the very row beside subsequences, from either side: no measure, but a value.
EXPECTED: dict[Side, What] = {"ahead": "after", "behind": "before"}


class Part(NamedTuple):
    """One measure."""

    what: What
    length: int
    form: Form | None = None
    horizon: int = 0  # rows of the block that is foretold

    @property
    def context(self) -> "Part":
        """Of a block: how new the context is that foretells it."""
        return self._replace(what="context")

    @property
    def key(self) -> str:
        """Its name in a file."""
        return " ".join(str(each) for each in self if each)


Measured = dict[Part, FloatArray]


class Measuring:
    """Measures the rows of one channel in a context, with both sides, against a bank."""

    def __init__(
        self, bank: Bank, context: ScoringContext, column: int, config: ModelConfig
    ) -> None:
        self.bank, self.context, self.config = bank, context, config
        self.values = context.scaled[:, column]
        self.column = column

    @cached_property
    def bridged(self) -> FloatArray:
        """The values with gaps bridged."""
        return self.context.bridged[:, self.column]

    def lengths(self) -> Iterator[Measured]:
        """Of every row, length by length; what was measured before is taken."""
        if self.column in self.context.measured:
            yield from self.context.measured.pop(self.column)
            return
        for length, index in self.bank.indices.items():
            if length <= len(self.values):
                yield self._around(index, foretells=length <= self.config.neighbours.context_length)

    def quiet(self) -> Measured:
        """How much less than usual the channel varies over the last rows, as -log std."""
        config, measured = self.config.scoring, {}
        for rows in config.quiet_rows:
            before = min(rows, self.context.first)
            recent = self.values[self.context.first - before :]
            measured[Part("quiet", rows)] = quietness(recent, rows, config)[before:]
        return measured

    def calendar(self, cycles: tuple[int, ...]) -> Measured:
        """How far the last rows are from those at the same time in other cycles, on average.

        Of logarithms: one odd row is not much among several, so it has no echo.
        """
        config, horizons = self.config.scoring, self.config.neighbours.horizons
        first, positions = max(0, self.context.first - max(horizons) + 1), self.context.positions
        values, measured = self.values[first:], {}
        rows = np.arange(self.context.first - first, len(values))
        for cycle in cycles:
            away = np.full(len(values), np.nan)
            if positions is not None:
                calendar = Calendar(self.bank.rows, self.bank.first, cycle, config.most_cycles)
                away = np.log(calendar.errors(values, positions[first:]) + config.floor)
            for horizon in horizons:
                part = Part("calendar", cycle, horizon=horizon)
                measured[part] = mean_between(away, rows - horizon + 1, rows)
        return measured

    def _around(self, index: SubsequenceIndex, *, foretells: bool) -> Measured:
        """Rows with both sides: of the subsequences that hold them, and of blocks beside others."""
        config, rows, length = self.config.neighbours, len(self.values), index.length
        hops = config.hops if rows <= config.many_rows else config.hops_when_many
        sides: tuple[Side, ...] = ("ahead", "behind") if foretells else ()
        hop = 1 if sides else max(1, length // hops)
        starts = np.arange(0, rows - length + 1, hop)
        pieces = np.array_split(starts, -(-len(starts) // PIECE))

        def compare(piece: Rows) -> dict[Part, FloatArray]:
            return self._compared(index, piece, sides)

        done = list(in_threads(compare, pieces) if rows >= SEVERAL else map(compare, pieces))
        found = {part: np.concatenate([each[part] for each in done]) for part in done[0]}
        measured: Measured = {}
        for part, each in found.items():
            if part.horizon:
                onward = part.what in ("ahead", EXPECTED["ahead"])
                offset = length + part.horizon - 1 if onward else -part.horizon
                measured[part] = _placed(each, offset, rows)
            else:
                sided = length >= config.long_length
                measured[part] = of_rows(each, starts, length, rows, sided=sided)
        return measured

    def _compared(self, index: SubsequenceIndex, starts: Rows, sides: tuple[Side, ...]) -> Measured:
        """What every part says of the subsequences that begin at `starts`."""
        config, floor, length = self.config.neighbours, self.config.scoring.floor, index.length
        beside = max(config.horizons)
        zone = self.bank.exclusion_zone(index, starts, self.context.overlap, beside if sides else 0)
        rows = slice(int(starts[0]), int(starts[-1]) + length)
        queries = paa(self.bridged[rows], starts - starts[0], length, config.segments)
        found = index.query(queries, zone)
        measured: Measured = {}
        if length >= config.novel_length:
            distance = np.log(found.distance + floor)
            its_own = np.take_along_axis(index.neighbour_distance, found.index, axis=1)
            # Some parts of a series are more sparsely seen than others.
            sparse = distance - np.log(its_own + floor)
            for row, form in enumerate(FORMS):
                measured[Part("new", length, form)] = distance[row]
                measured[Part("sparse", length, form)] = sparse[row]
        for side in sides:
            steps = np.arange(beside)
            offsets = length + steps if side == "ahead" else -1 - steps
            expected = expected_beside(index, self.bank.edged, found, offsets)
            observed = self._at(starts, offsets)
            measured[Part(EXPECTED[side], length, horizon=1)] = middle(
                expected[0].reshape(-1, len(starts))
            )
            for horizon in config.horizons:
                errors = block_errors(observed[:horizon], expected[:horizon])
                for form, each in zip(FORMS, np.log(errors + floor), strict=True):
                    measured[Part(side, length, form, horizon)] = each
        seen = observed_share(self.values, starts, length) >= config.least_observed
        if seen.all():
            return measured
        return {part: np.where(seen, each, np.nan) for part, each in measured.items()}

    def _at(self, starts: Rows, offsets: Rows) -> Singles:
        """The values beside subsequences: (offset, subsequence)."""
        there = starts + offsets[:, None]
        inside = (there >= 0) & (there < len(self.values))
        beside = self.values[np.clip(there, 0, len(self.values) - 1)]
        return np.where(inside, beside, np.nan).astype(np.float32)


def quietness(values: FloatArray, rows: int, config: ScoringConfig) -> FloatArray:
    """-log of the root mean squared step over the last `rows` rows, past only."""
    squares = np.zeros(len(values))
    np.square(values[1:] - values[:-1], out=squares[1:])
    known = np.isfinite(squares)
    known[:1] = False
    squares[~known] = 0.0
    # Every sum by itself: running ones would depend on where the rows begin.
    total, held = (np.convolve(each, np.ones(rows))[: len(values)] for each in (squares, known))
    quiet = -0.5 * np.log(total / np.maximum(held, 1.0) + config.quiet_floor**2)
    return np.where((held >= config.quiet_known * rows) & np.isfinite(values), quiet, np.nan)


def of_rows(
    measured: FloatArray, starts: Rows, length: int, rows: int, *, sided: bool
) -> FloatArray:
    """For each row the mean of the subsequences that hold it.

    Long ones say little about where in them something is: for them, `sided`, the mean of those that
    reach back from the row and of those that reach ahead is taken, and the smaller counts. A
    subsequence stands for those that begin before the next one looked up.
    """
    step = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    every = np.repeat(measured, step)[: rows - length + 1]
    every = np.pad(every, (0, rows - length + 1 - len(every)), mode="edge")
    row = np.arange(rows)
    if not sided:
        return mean_between(every, row - length + 1, row)
    back = mean_between(every, row - length + 1, row - length // 2)
    ahead = mean_between(every, row - length // 2, row)
    return np.asarray(np.fmin(back, ahead))


def _placed(found: FloatArray, at: int, rows: int) -> FloatArray:
    """What was found of one row after the other, the first of which is `at`, of so many rows."""
    placed = np.full(rows, np.nan)
    first, last = max(at, 0), min(at + len(found), rows)
    if last > first:
        placed[first:last] = found[first - at : last - at]
    return placed
