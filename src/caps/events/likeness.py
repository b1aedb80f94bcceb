"""Is an event like one that was judged before: in shape, level and size?

The rows of a judged event join the past. Every subsequence that ends in a later event has to be
like one of the example, in all forms of the neighbours: as far from it as two recurrences in
training are from each other, or a share of what made that one odd. Those that are like training
itself will do, too, as most events begin or end with some; but one at least has to be like what was
odd. The answer for a row needs no row after it, so it is the same live and in hindsight.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from caps.arrays import BoolArray, FloatArray, Rows, Singles
from caps.events.config import LikenessConfig
from caps.events.feedback import Example
from caps.neighbours import (
    FORMS,
    Forms,
    NeighbourConfig,
    SubsequenceIndex,
    TrainingOverlap,
    counterpart_of,
    in_forms,
    paa_of_windows,
)
from caps.scoring import NEW, Fitted, LearnedChannel, Memory

Answer = Literal["unlike", "normal", "alike"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)  # the one that counts most first
AT_ONCE = 2**20  # numbers of differences held at a time


class Past:
    """What is usual among the subsequences of training of one channel, of every length."""

    def __init__(self, memory: Memory, config: LikenessConfig) -> None:
        self.memory, self.config = memory, config
        neighbours = memory.config.neighbours
        longest = neighbours.live_context_length  # a stream keeps no more rows
        found = memory.bank.indices.items()
        self.indices = {length: each for length, each in found if length <= longest}

    @cached_property
    def usual(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """How far recurrences are from each other, and from the nearest one, at most (form,)."""
        longest = max(self.indices)
        pairs = self._nearest(self.indices[longest])[1]
        return {
            length: (self._apart(pairs, length), self._nearest(index)[0])
            for length, index in self.indices.items()
        }

    def near(self, length: int) -> FloatArray:
        """How far from its nearest a subsequence of training is at most (form, 1)."""
        return self.config.far * self.usual[length][1][:, None]

    def _nearest(self, index: SubsequenceIndex) -> tuple[FloatArray, Rows]:
        """How far the nearest is, as a rule (form,), and where some and their nearest begin."""
        count = min(len(index.starts), self.config.sample)
        some = np.linspace(0, len(index.starts) - 1, count).astype(np.intp)
        zone = index.overlapping(index.starts[some])
        found = index.query(index.subsequences[some], zone)
        most = np.nanquantile(found.distance, self.config.most, axis=1)
        raw = FORMS.index("raw")
        known = np.isfinite(found.distance[raw])
        pairs = np.stack([index.starts[some], index.starts[found.index[raw]]])
        return np.nan_to_num(most), pairs[:, known]

    def _apart(self, pairs: Rows, length: int) -> FloatArray:
        """How far the last rows of subsequences are from those of their nearest (form,)."""
        ends = pairs + max(self.indices) - length
        rows = self.memory.rows.astype(np.float64)
        windows = rows[ends[..., None] + np.arange(length)]
        config = self.memory.config.neighbours
        observed = np.isfinite(windows).mean(axis=2).min(axis=0) >= config.least_observed
        if not observed.any():
            return np.zeros(len(FORMS))
        one, other = (
            in_forms(paa_of_windows(each[observed], config.segments), config.least_std).stacked
            for each in windows
        )
        distance = np.sqrt(np.square(one - other).mean(axis=2))
        return np.asarray(np.quantile(distance, self.config.most, axis=1))


class Pasts:
    """The past of every channel that has one, looked at when it is needed."""

    def __init__(self, fitted: Fitted, config: LikenessConfig) -> None:
        self.fitted, self.config = fitted, config
        self.found: dict[int, Past | None] = {}

    def of(self, column: int) -> Past | None:
        """That of a channel; None where no subsequences are compared."""
        if column not in self.found:
            channel = self.fitted.channels[column]
            memory = channel.memory if isinstance(channel, LearnedChannel) else None
            past = None if memory is None else Past(memory, self.config)
            self.found[column] = past if past is not None and past.indices else None
        return self.found[column]


class Likeness:
    """Compares events with the example of a judged one, in the units of a fitted model."""

    def __init__(self, pasts: Pasts, example: Example) -> None:
        fitted, config = pasts.fitted, pasts.config
        length = example.end - example.start
        self.most_rows, self.least_rows = config.lasting * length, config.shortest * length
        self.columns = {name: column for column, name in enumerate(fitted.names)}
        values = np.full((len(example.values), len(self.columns)), np.nan)
        shared = [name for name in example.channels if name in self.columns]
        columns = [self.columns[name] for name in shared]
        values[:, columns] = example.values[:, [example.channels.index(name) for name in shared]]
        scaled = replace(fitted.scaler, clip=fitted.config.scoring.clip).transform(values)
        self.parts: dict[str, _Subsequences | _Range] = {}
        for name, column in zip(shared, columns, strict=True):
            inside = scaled[example.start : example.end, column]
            past = pasts.of(column)
            if not np.isfinite(inside).any():
                continue
            self.parts[name] = (
                _Range.of(inside, config)
                if past is None
                else _Subsequences.of(past, scaled[:, column], example)
            )

    def alike(
        self,
        scaled: FloatArray,
        start: int,
        first: int,
        last: int,
        channels: Iterable[str],
        overlap: TrainingOverlap = NEW,
    ) -> Answer:
        """Whether the rows [first, last) of an event that began at `start` are like the example.

        In the channels that carry it, all of which the example has to know. `overlap` tells which
        of the rows are those of training.
        """
        if last - start > self.most_rows:
            return "unlike"
        answers = [
            self.parts[name].compare(scaled[:, self.columns[name]], start, first, last, overlap)
            if name in self.parts
            else "unlike"
            for name in channels
        ]
        return min(answers, key=ANSWERS.index, default="unlike")


@dataclass(frozen=True, slots=True)
class _Range:
    """Of a channel without subsequences to compare, such as a switch: the values it took."""

    low: float
    high: float

    @classmethod
    def of(cls, inside: FloatArray, config: LikenessConfig) -> "_Range":
        low, high = float(np.nanmin(inside)), float(np.nanmax(inside))
        beyond = config.share * (high - low)
        return cls(low - beyond, high + beyond)

    def compare(
        self, values: FloatArray, start: int, first: int, last: int, overlap: TrainingOverlap
    ) -> Answer:
        inside = values[max(first, 0) : last]
        inside = inside[np.isfinite(inside)]
        return "alike" if ((self.low <= inside) & (inside <= self.high)).all() else "unlike"


@dataclass(frozen=True, slots=True, eq=False)
class _Length:
    """The subsequences of the example of one length, and how far from each one may be."""

    length: int
    forms: Forms
    limits: Singles  # (form, subsequence)
    odd: BoolArray  # (subsequence,), those that are unlike training


@dataclass(frozen=True, slots=True, eq=False)
class _Subsequences:
    past: Past
    lengths: tuple[_Length, ...]

    @classmethod
    def of(cls, past: Past, values: FloatArray, example: Example) -> "_Subsequences":
        """Of the scaled rows of an example."""
        start, end, config = example.start, example.end, past.memory.config.neighbours.counterpart
        bank = past.memory.rows.astype(np.float64)
        effect = np.zeros(len(values))
        expected = counterpart_of(values, start, end, bank, config).expected
        effect[start:end] = np.abs(np.nan_to_num(values[start:end] - expected))
        # Its edges lie between rows: one beside them may be off by as much.
        effect = np.maximum.reduce([effect, np.roll(effect, 1), np.roll(effect, -1)])
        fitting = [length for length in past.indices if length <= len(values)]
        return cls(past, tuple(_length(past, values, effect, length) for length in fitting))

    @property
    def neighbours(self) -> NeighbourConfig:
        return self.past.memory.config.neighbours

    def compare(
        self, values: FloatArray, start: int, first: int, last: int, overlap: TrainingOverlap
    ) -> Answer:
        answers = []
        for known in self.lengths:
            ends = self._ends(known.length, start, first, last)
            answers.append(self._compared(known, values, ends, overlap))
            if answers[-1] == "unlike":
                return "unlike"
        return max(answers, key=ANSWERS.index, default="unlike")

    def _ends(self, length: int, start: int, first: int, last: int) -> Rows:
        """Last rows of the subsequences compared: at least half of each is of the event."""
        rows = np.arange(first, last)
        since = rows - start
        shortest = length == self.lengths[0].length
        wanted = (since % max(1, length // self.past.config.hops) == 0) & (rows >= length - 1)
        return np.asarray(rows[wanted & ((2 * (since + 1) >= length) | shortest)])

    def _compared(
        self, known: _Length, values: FloatArray, ends: Rows, overlap: TrainingOverlap
    ) -> Answer:
        """What the subsequences of one length are like: alike where one is like what was odd."""
        config, length = self.neighbours, known.length
        windows = values[ends[:, None] - np.arange(length)[::-1]]
        observed = np.isfinite(windows).mean(axis=1) >= config.least_observed
        windows, ends = windows[observed], ends[observed]
        if not len(windows):
            return "normal"
        queries = paa_of_windows(windows, config.segments)
        asked = in_forms(queries, config.least_std)
        step = max(1, AT_ONCE // known.forms.stacked.size)
        within = np.concatenate(
            [self._within(known, asked, slice(k, k + step)) for k in range(0, len(windows), step)]
        )
        unlike = np.flatnonzero(~within.any(axis=1))
        if len(unlike):
            index, bank = self.past.indices[length], self.past.memory.bank
            zone = bank.exclusion_zone(index, ends[unlike] - length + 1, overlap)
            distance = index.query(queries[unlike], zone).distance
            if not (distance <= self.past.near(length)).all():
                return "unlike"
        return "alike" if (within & known.odd).any() else "normal"

    def _within(self, known: _Length, asked: Forms, rows: slice) -> BoolArray:
        """Which of the example each is like (query, subsequence), in every form."""
        apart = asked.stacked[:, rows, None] - known.forms.stacked[:, None]
        distance = np.sqrt(np.square(apart).mean(axis=3))
        within = distance <= known.limits[:, None]
        # What hardly varies has no shape of its own: unit size would blow up its noise.
        varied = np.minimum(asked.std[rows, None], known.forms.std) >= self.past.config.varied
        within[FORMS.index("znormalised")] |= ~varied
        return np.asarray(within.all(axis=0))


def _length(past: Past, values: FloatArray, effect: FloatArray, length: int) -> _Length:
    """Of the rows of an example and what it did to them, less what was to be expected."""
    index, config, neighbours = past.indices[length], past.config, past.memory.config.neighbours
    windows, effects = (_windows(each, length) for each in (values, effect))
    observed = np.isfinite(windows).mean(axis=1) >= neighbours.least_observed
    known, done = (
        paa_of_windows(each[observed], neighbours.segments) for each in (windows, effects)
    )
    away = np.nan_to_num(index.query(known).distance)
    forms = in_forms(known, neighbours.least_std)
    size = np.sqrt(np.square(in_forms(done, neighbours.least_std).stacked).mean(axis=2))
    size[FORMS.index("znormalised")] = away[FORMS.index("znormalised")]
    limits = np.maximum(config.far * past.usual[length][0][:, None], config.share * size)
    beyond = away > config.odd * past.near(length)
    beyond[FORMS.index("znormalised")] &= forms.std >= config.varied
    return _Length(length, forms, limits.astype(np.float32), np.asarray(beyond.any(axis=0)))


def _windows(values: FloatArray, length: int) -> FloatArray:
    """All subsequences; a recurrence lies anywhere between two rows, so those between, too."""
    between = (values[1:] + values[:-1]) / 2
    return np.concatenate(
        [
            np.lib.stride_tricks.sliding_window_view(each, length)
            for each in (values, between)
            if len(each) >= length
        ]
    )
