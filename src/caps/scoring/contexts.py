"""Contexts by the past alone: each is looked up once, when it ends, and foretells rows after it."""

from typing import NamedTuple

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours import (
    FORMS,
    SubsequenceIndex,
    TrainingOverlap,
    block_errors,
    expected_beside,
    paa_of_windows,
)
from caps.scoring.config import ModelConfig
from caps.scoring.following import middle
from caps.scoring.measures import Bank

PIECE = 512  # rows at once: what was found of them takes a few megabytes


class LiveMeasures(NamedTuple):
    """What is measured of rows by the contexts that end there or before."""

    ahead: FloatArray  # (form, length, horizon, row), how badly a block that ends there is foretold
    contexts: FloatArray  # the same shape, lengths that echo: how new the context of the block is
    new: FloatArray  # (form, length, row), how new the subsequence is that ends there
    expected: FloatArray  # (row,), by the contexts that end just before


class Found(NamedTuple):
    """What was found of the contexts that end at one row after the other."""

    new: FloatArray  # (form, length, context); not-a-number where too little was observed
    expected: Singles  # (offset, form, length, division, context), of the rows after them

    def last(self, count: int) -> "Found":
        """That of so many at the end, by itself."""
        return Found(self.new[..., -count:].copy(), self.expected[..., -count:].copy())

    def then(self, later: "Found") -> "Found":
        """With that of the contexts after them."""
        new = np.concatenate([self.new, later.new], axis=-1)
        return Found(new, np.concatenate([self.expected, later.expected], axis=-1))


class RecentContexts:
    """The contexts of one channel: a state that goes on from row to row."""

    def __init__(self, bank: Bank, config: ModelConfig) -> None:
        self.bank, self.config = bank, config
        longest = config.neighbours.live_context_length
        self.indices = [each for each in bank.indices.values() if each.length <= longest]
        self.echoing = sum(each.length <= config.scoring.echo_length for each in self.indices)
        self.reach = max(config.neighbours.horizons)
        self.found: Found | None = None  # of the last ones; None: they are still to be looked up

    def measure(self, values: FloatArray, first: int, overlap: TrainingOverlap) -> LiveMeasures:
        """Of the rows from `first` on: those that come after the ones measured before."""
        found = self.found or self._look_up(values, first - self.reach, first, overlap)
        measured = []
        for start in range(first, len(values), PIECE):
            stop = min(start + PIECE, len(values))
            later = self._look_up(values, start, stop, overlap)
            found = found.then(later)
            measured.append(self._of_rows(found, values, start, stop))
            found = found.last(self.reach)
        self.found = found
        return LiveMeasures(
            *(np.concatenate(each, axis=-1) for each in zip(*measured, strict=True))
        )

    def _of_rows(self, found: Found, values: FloatArray, start: int, stop: int) -> LiveMeasures:
        """Of the rows from `start` to `stop`, by the contexts that end there and just before."""
        reach, horizons, rows = self.reach, self.config.neighbours.horizons, stop - start
        recent = np.full(reach - 1 + rows, np.nan, np.float32)
        known = values[max(0, start - reach + 1) : stop]
        recent[len(recent) - len(known) :] = known
        of_block = np.arange(reach)[:, None] + np.arange(rows)
        # In double precision: logarithms may differ in the last bit with the number of rows.
        ahead = np.empty((len(FORMS), len(self.indices), len(horizons), rows))
        contexts = np.empty((len(FORMS), self.echoing, len(horizons), rows))
        for number, horizon in enumerate(horizons):
            ended = slice(reach - horizon, reach - horizon + rows)
            observed = recent[of_block[reach - horizon :]]
            ahead[:, :, number] = block_errors(observed, found.expected[:horizon, ..., ended])
            contexts[:, :, number] = found.new[:, : self.echoing, ended]
        ahead += self.config.scoring.floor
        next_rows = found.expected[0, ..., reach - 1 : reach - 1 + rows]
        expected = middle(next_rows.reshape(-1, rows))
        return LiveMeasures(np.log(ahead, out=ahead), contexts, found.new[..., reach:], expected)

    def _look_up(
        self, values: FloatArray, first: int, last: int, overlap: TrainingOverlap
    ) -> Found:
        """The contexts whose last rows are those from `first` to `last`."""
        config, count = self.config.neighbours, last - first
        new = np.full((len(FORMS), len(self.indices), count), np.nan)
        shape = self.reach, len(FORMS), len(self.indices), config.divisions, count
        expected = np.full(shape, np.nan, np.float32)
        for number, index in enumerate(self.indices):
            ends = np.arange(max(first, index.length - 1), last)
            windows = values[ends[:, None] + np.arange(1 - index.length, 1)]
            observed = np.count_nonzero(np.isfinite(windows), axis=1)
            seen = observed >= config.least_observed * index.length
            if not seen.all():
                ends, windows = ends[seen], windows[seen]
            if len(ends):
                found = self._foretold(index, windows, ends, overlap)
                new[:, number][..., ends - first] = found.new
                expected[:, :, number][..., ends - first] = found.expected
        return Found(new, expected)

    def _foretold(
        self,
        index: SubsequenceIndex,
        windows: FloatArray,
        ends: Rows,
        overlap: TrainingOverlap,
    ) -> Found:
        """What was found of contexts of one length."""
        # Each bridged within itself: what comes after a row must not change it.
        queries = paa_of_windows(windows, self.config.neighbours.segments)
        starts = ends - index.length + 1
        zone = self.bank.exclusion_zone(index, starts, overlap, self.reach)
        found = index.query(queries, zone, exact=True)
        offsets = index.length + np.arange(self.reach)
        expected = expected_beside(index, self.bank.edged, found, offsets)
        return Found(np.log(found.distance + self.config.scoring.floor), expected)
