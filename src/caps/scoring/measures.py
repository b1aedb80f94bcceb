"""What a memory measures of each row: how new, how badly foretold, how quiet.

All in logarithms, so that a factor counts the same wherever it is.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import FloatArray, Rows, Singles
from caps.jobs import in_threads
from caps.neighbours import (
    FORMS,
    Form,
    NeighbourConfig,
    SubsequenceIndex,
    TrainingOverlap,
    Zone,
    block_errors,
    expected_beside,
    in_forms,
    observed_share,
    paa,
    paa_of_windows,
)
from caps.scoring.combination import mean_between
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import ScoringContext

SEVERAL = 16_384  # rows from which several threads pay
PIECE = 4096  # subsequences that a thread looks up at a time

Side = Literal["ahead", "behind"]


class Part(NamedTuple):
    """One measure."""

    what: Literal["new", "sparse", "ahead", "behind", "context", "quiet"]
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


class Bank(NamedTuple):
    """The training rows of a channel as subsequences of every length that fits."""

    edged: Singles  # (time,), not-a-number where unobserved and at either end, for forecasts
    first: int  # row of the first of them in the training part
    indices: dict[int, SubsequenceIndex]

    @classmethod
    def of(cls, rows: Singles, first: int, config: NeighbourConfig) -> "Bank":
        """Of scaled training rows."""
        fitting = [each for each in config.lengths if each <= len(rows) // config.training_lengths]
        values = rows.astype(np.float64)
        indices = {length: SubsequenceIndex.of(values, length, config) for length in fitting}
        edged = np.pad(rows, max(config.horizons), constant_values=np.nan)
        return cls(edged, first, {key: each for key, each in indices.items() if each is not None})

    def exclusion_zone(
        self, index: SubsequenceIndex, starts: Rows, overlap: TrainingOverlap, beside: int = 0
    ) -> Zone | None:
        """Which of the index are not to be compared with the scored ones that begin at `starts`."""
        if not overlap:
            return None
        first = np.full(len(starts), len(index.starts), dtype=np.intp)
        last = np.zeros(len(starts), dtype=np.intp)
        for which, training in overlap.touching(starts, index.length):
            low, high = index.overlapping(training - self.first, beside)
            some = high > low
            first[which[some]] = np.minimum(first[which[some]], low[some])
            last[which[some]] = np.maximum(last[which[some]], high[some])
        return first, last


class Measuring:
    """Measures the rows of one channel in a context against a bank."""

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
        """Of every row, length by length."""
        longest = self.config.neighbours.longest_context(causal=self.context.causal)
        for length, index in self.bank.indices.items():
            if length > len(self.values):
                continue
            if not self.context.causal:
                yield self._around(index, foretells=length <= longest)
            elif length <= longest:
                yield self._by_the_past(index)

    def quiet(self) -> Measured:
        """How much less than usual the channel varies over the last rows, as -log std."""
        config = self.config.scoring
        return {
            Part("quiet", rows): quietness(self.values, rows, config)[self.context.first :]
            for rows in config.quiet_rows
        }

    def _around(self, index: SubsequenceIndex, *, foretells: bool) -> Measured:
        """Rows with both sides: of the subsequences that hold them, and of blocks beside others."""
        config, rows, length = self.config.neighbours, len(self.values), index.length
        hops = config.hops if rows <= config.many_rows else config.hops_when_many
        sides: tuple[Side, ...] = ("ahead", "behind") if foretells else ()
        hop = 1 if sides else max(1, length // hops)
        starts = np.arange(0, rows - length + 1, hop)
        pieces = np.array_split(starts, -(-len(starts) // PIECE))

        def compare(piece: Rows) -> dict[Part, FloatArray]:
            return self._compared(index, piece, sides, exact=False)

        done = list(in_threads(compare, pieces) if rows >= SEVERAL else map(compare, pieces))
        found = {part: np.concatenate([each[part] for each in done]) for part in done[0]}
        measured: Measured = {}
        for part, each in found.items():
            if part.horizon:
                offset = length + part.horizon - 1 if part.what == "ahead" else -part.horizon
                measured[part] = _placed(each, offset, rows)
            elif length >= config.novel_length:
                sided = length >= config.long_length
                measured[part] = of_rows(each, starts, length, rows, sided=sided)
        return measured

    def _by_the_past(self, index: SubsequenceIndex) -> Measured:
        """Rows asked for by those before: of subsequences that end there, and of blocks that do."""
        config, first, rows = self.config.neighbours, self.context.first, len(self.values)
        longest = max(config.horizons)
        begin = max(0, min(first, rows - 1) - index.length - longest + 1)
        starts = np.arange(begin, rows - index.length + 1)
        pieces = np.array_split(starts, max(1, -(-len(starts) // PIECE)))
        done = [self._compared(index, piece, ("ahead",), exact=True) for piece in pieces]
        found = {part: np.concatenate([each[part] for each in done]) for part in done[0]}
        end = begin + index.length - 1 - first  # of the first of them, counted from the first row
        measured: Measured = {}
        for part, each in found.items():
            measured[part] = _placed(each, end + part.horizon, rows - first)
            if part.what == "ahead" and index.length <= self.config.scoring.echo_length:
                new = found[Part("new", index.length, part.form)]
                measured[part.context] = _placed(new, end + part.horizon, rows - first)
        return measured

    def _compared(
        self, index: SubsequenceIndex, starts: Rows, sides: tuple[Side, ...], *, exact: bool
    ) -> Measured:
        """What every part says of the subsequences that begin at `starts`."""
        config, floor, length = self.config.neighbours, self.config.scoring.floor, index.length
        seen = observed_share(self.values, starts, length) >= config.least_observed
        queries = self._queries(starts, length, exact=exact)
        beside = max(config.horizons) if sides else 0
        zone = self.bank.exclusion_zone(index, starts, self.context.overlap, beside)
        found, wanted = index.query(queries, zone, exact=exact), in_forms(queries, index.least_std)
        measured: Measured = {}
        for form in FORMS:
            distance = np.log(found[form].distance + floor)
            measured[Part("new", length, form)] = distance
            if not self.context.causal and length >= config.novel_length:
                # Some parts of a series are more sparsely seen than others.
                its_own = index.neighbour_distance[form][found[form].index]
                measured[Part("sparse", length, form)] = distance - np.log(its_own + floor)
        for side in sides:
            steps = np.arange(max(config.horizons))
            offsets = length + steps if side == "ahead" else -1 - steps
            expected = [
                expected_beside(index, self.bank.edged, form, found[form], wanted, offsets)
                for form in FORMS
            ]
            observed = np.concatenate([self._at(starts, offsets)] * len(FORMS))
            errors = block_errors(observed, np.concatenate(expected), config.horizons)
            logs = np.log(errors + floor).reshape(len(FORMS), len(starts), -1)
            for row, form in enumerate(FORMS):
                for column, horizon in enumerate(config.horizons):
                    measured[Part(side, length, form, horizon)] = logs[row, :, column]
        if seen.all():
            return measured
        return {part: np.where(seen, each, np.nan) for part, each in measured.items()}

    def _queries(self, starts: Rows, length: int, *, exact: bool) -> Singles:
        segments = self.config.neighbours.segments
        if not exact:
            rows = slice(int(starts[0]), int(starts[-1]) + length)
            return paa(self.bridged[rows], starts - starts[0], length, segments)
        # Each bridged within itself: what comes after a row must not change it.
        windows = sliding_window_view(self.values, length)[starts]
        return paa_of_windows(windows, segments)

    def _at(self, starts: Rows, offsets: Rows) -> Singles:
        """The values beside subsequences: (subsequence, offset)."""
        there = starts[:, None] + offsets
        inside = (there >= 0) & (there < len(self.values))
        beside = self.values[np.clip(there, 0, len(self.values) - 1)]
        return np.where(inside, beside, np.nan).astype(np.float32)


def quietness(values: FloatArray, rows: int, config: ScoringConfig) -> FloatArray:
    """-log of the root mean squared step over the last `rows` rows, past only."""
    steps = np.diff(values, prepend=np.nan)
    known = np.isfinite(steps)
    squares = np.where(known, np.square(steps), 0.0)
    # Every sum by itself: running ones would depend on where the rows begin.
    total, held = (
        sliding_window_view(np.pad(each, (rows - 1, 0)), rows).sum(axis=1)
        for each in (squares, known.astype(np.float64))
    )
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
