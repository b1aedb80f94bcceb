"""Subsequences of the training part, the nearest of them to a new one, and what lay beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours.config import NeighbourConfig
from caps.series import bridge

Zone = tuple[Rows, Rows]  # for each query the first and last (exclusive) that it is not held to
# As it is; without its level; without level and size.
Form = Literal["raw", "centred", "znormalised"]
FORMS: tuple[Form, ...] = get_args(Form)

CACHED = 131_072  # distances that fit the processor's cache, and so are looked up at once
LEAST_AT_ONCE = 16  # queries


@dataclass(frozen=True, eq=False)
class Forms:
    """Subsequences in every form, and what the forms leave out."""

    stacked: Singles  # (form, subsequence, segment), in the order of `FORMS`
    level: Singles  # (subsequence,)
    std: Singles  # (subsequence,), what the z-normalised ones were divided by

    @property
    def centred(self) -> Singles:
        """Without their level (subsequence, segment)."""
        _, centred, _ = self.stacked
        return np.asarray(centred)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest subsequence to each query, in all of the index and in every division of it.

    In every form, in the order of `FORMS`.
    """

    queries: Forms  # what was looked up
    distance: FloatArray  # (form, query), root mean square; not-a-number where none was left
    index: Rows  # (form, query)
    of_divisions: Rows  # (form, division, query), -1 where none was left


def paa(values: FloatArray, starts: Rows, length: int, segments: int) -> Singles:
    """Subsequences of bridged values as at most `segments` means each: (subsequence, segment)."""
    step = max(1, length // segments)
    total = np.concatenate([[0.0], np.cumsum(values)])
    edges = starts[:, None] + np.arange(0, length + 1, step)
    return np.asarray(np.diff(total[edges], axis=1) / step, dtype=np.float32)


def paa_of_windows(windows: FloatArray, segments: int) -> Singles:
    """The same of subsequences (subsequence, length) with gaps, each bridged within itself."""
    step = max(1, windows.shape[1] // segments)
    parts = bridge(windows).reshape(len(windows), -1, step)
    return np.asarray(np.add.reduce(parts, axis=2) / step, dtype=np.float32)


def observed_share(values: FloatArray, starts: Rows, length: int) -> FloatArray:
    """How much of each subsequence was observed."""
    total = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    return np.asarray((total[starts + length] - total[starts]) / length)


def in_forms(subsequences: Singles, least_std: float) -> Forms:
    """The subsequences with what each form leaves out taken away."""
    stacked = np.empty((len(FORMS), *subsequences.shape), np.float32)
    raw, centred, znormalised = stacked
    raw[...] = subsequences
    level = _mean(subsequences)
    np.subtract(subsequences, level, out=centred)
    # The mean of the centred ones is not quite zero in single precision.
    np.subtract(centred, _mean(centred), out=znormalised)
    variance = _mean(np.square(znormalised, out=znormalised))
    std = np.maximum(np.sqrt(variance), np.float32(least_std))
    np.divide(centred, std, out=znormalised)
    return Forms(stacked, level[:, 0], std[:, 0])


def _mean(subsequences: Singles) -> Singles:
    """Of each (subsequence, 1); `np.mean` takes longer to begin than to add up."""
    total = np.add.reduce(subsequences, axis=1, keepdims=True)
    return np.asarray(total / np.float32(subsequences.shape[1]))


@dataclass(frozen=True, eq=False)
class Subsequences:
    """Where subsequences of one length begin."""

    length: int
    starts: Rows  # rows of the training part, rising

    def overlapping(self, starts: Rows, beside: int = 0) -> Zone:
        """Which of the index, first and last exclusive, overlap those that begin at `starts`.

        `beside` rows on either side of them count as theirs.
        """
        reach = self.length + beside
        first = np.searchsorted(self.starts, starts - reach, side="right")
        return first, np.searchsorted(self.starts, starts + reach, side="left")


@dataclass(frozen=True, eq=False)
class SubsequenceIndex(Subsequences):
    """Subsequences of one length."""

    subsequences: Singles  # (subsequence, segment)
    least_std: float
    divisions: int = 1  # equal spans: what happened once in training is in one of them only

    @classmethod
    def of(
        cls, rows: FloatArray, length: int, config: NeighbourConfig
    ) -> "SubsequenceIndex | None":
        """Of training rows, evenly over them; None where too little was observed."""
        starts = np.arange(max(len(rows) - length + 1, 0))
        starts = starts[observed_share(rows, starts, length) >= config.least_observed]
        if len(starts) < 2 * length:  # nothing would be left beside those that overlap
            return None
        size = max(config.least_index, int(config.index_share * len(rows)))
        size = min(size, config.index_size, config.size_per_row * length)
        if len(starts) > size:
            starts = starts[np.linspace(0, len(starts) - 1, size).astype(np.intp)]
        bridged = np.asarray(bridge(rows), dtype=np.float64)
        starts = starts[len(starts) % config.divisions :]
        subsequences = paa(bridged, starts, length, config.segments)
        return cls(length, starts, subsequences, config.least_std, config.divisions)

    @property
    def forms(self) -> Forms:
        """The subsequences in every form; not kept, as a thousand live series would fill memory."""
        return in_forms(self.subsequences, self.least_std)

    @cached_property
    def level_and_std(self) -> tuple[Singles, Singles]:
        """What the forms leave out of each."""
        forms = self.forms
        return forms.level, forms.std

    @cached_property
    def neighbour_distance(self) -> FloatArray:
        """The distance of each to its nearest that does not overlap it (form, subsequence)."""
        return self.query(self.subsequences, self.overlapping(self.starts)).distance

    def query(
        self, queries: Singles, exclusion_zone: Zone | None = None, *, exact: bool = False
    ) -> Neighbours:
        """The nearest to each query in every form, outside of its exclusion zone.

        `exact` finds the same ones whatever else is looked up at the same time: the rounding of a
        matrix product depends on its shape, so products are taken in double precision then.
        """
        wanted, count, size = in_forms(queries, self.least_std), len(queries), len(self.starts)
        asked = np.ones((count, queries.shape[1] + 1), np.float32)
        asked[:, :-1] = wanted.centred
        at_once = min(count, max(LEAST_AT_ONCE, CACHED // size))
        rooms = np.empty((len(FORMS) + 1, at_once, size), np.float32)
        indices = np.empty((len(FORMS), count, self.divisions), np.intp)
        squares = np.empty(indices.shape, np.float32)
        divisions = np.arange(self.divisions)
        forms, rows = np.arange(len(FORMS))[:, None, None], np.arange(at_once)[:, None]
        for first in range(0, count, at_once):
            chunk = slice(first, min(first + at_once, count))
            *away, room = rooms[:, : chunk.stop - first]
            _, apart, _ = away
            self._squared(asked[chunk], exact=exact, out=apart)
            if exclusion_zone is not None:
                low, high = (side[chunk] for side in exclusion_zone)
                for row in np.flatnonzero(high > low):
                    apart[row, low[row] : high[row]] = np.inf
            self._fill_forms(away, wanted.level[chunk, None], wanted.std[chunk, None], room)
            shape = len(FORMS), len(apart), self.divisions, -1
            by_division = rooms[:-1, : len(apart)].reshape(shape)
            least = by_division.argmin(axis=3, out=indices[:, chunk])
            squares[:, chunk] = by_division[forms, rows[: len(apart)], divisions, least]
        indices += size // self.divisions * divisions
        return self._found(wanted, indices, squares)

    def _found(self, wanted: Forms, indices: Rows, squares: Singles) -> Neighbours:
        """Of the nearest in every division, the nearest of all."""
        forms, queries = np.arange(len(FORMS))[:, None], np.arange(squares.shape[1])
        best = squares.argmin(axis=2)
        nearest = indices[forms, queries, best]
        level, std = self.level_and_std
        there = self.subsequences[nearest]
        there[1:] -= level[nearest[1:], None]  # the raw ones, first, keep theirs
        there[2] /= std[nearest[2], None]
        apart = wanted.stacked - there
        total = np.add.reduce(np.square(apart, dtype=np.float64), axis=2)
        distance = np.sqrt(total / apart.shape[2])
        none = np.isinf(squares)
        if none.any():
            distance[none[forms, queries, best]] = np.nan
            indices[none] = -1
        return Neighbours(wanted, distance, nearest, np.ascontiguousarray(indices.swapaxes(1, 2)))

    @property
    def _centred(self) -> Singles:
        return np.asarray(self.subsequences - self.level_and_std[0][:, None])

    def _table_of(self, kind: type[np.floating[Any]]) -> NDArray[Any]:
        """What turns a product into a squared distance, less the size of the query."""
        table = np.concatenate([-2 * self._centred, self._sizes[:, None]], axis=1).T
        return np.ascontiguousarray(table, dtype=kind)

    @cached_property
    def _table(self) -> Singles:
        return self._table_of(np.float32)

    @cached_property
    def _double_table(self) -> FloatArray:
        return self._table_of(np.float64)

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self._centred).sum(axis=1))

    def _squared(self, asked: Singles, *, exact: bool, out: Singles) -> None:
        """Squared distances of centred queries to the index, less their own squared size."""
        if exact:
            out[...] = asked.astype(np.float64) @ self._double_table
        else:
            np.matmul(asked, self._table, out=out)

    def _fill_forms(
        self, away: Sequence[Singles], level: Singles, std: Singles, room: Singles
    ) -> None:
        """How far apart they are in the other forms, up to a constant of each row.

        The product is what costs: the other forms follow from that of the centred ones. The
        squared distance of levels is added; of the z-normalised, products are divided by both
        stds (that of the query is left to the units of its row).
        """
        raw, centred, znormalised = away
        np.subtract(self._levels, self._root * level, out=raw)
        np.square(raw, out=raw)
        raw += centred
        per_std, sizes = self._of_znormalised
        np.multiply(centred, per_std, out=znormalised)
        np.subtract(std, self.level_and_std[1], out=room)
        room *= sizes
        znormalised += room

    @cached_property
    def _root(self) -> np.float32:
        return np.float32(np.sqrt(self.subsequences.shape[1]))

    @cached_property
    def _levels(self) -> Singles:
        return np.asarray(self._root * self.level_and_std[0])

    @cached_property
    def _of_znormalised(self) -> tuple[Singles, Singles]:
        """One over the stds, and the squared sizes of the z-normalised subsequences."""
        _, std = self.level_and_std
        return np.reciprocal(std), np.asarray(self._sizes / np.square(std))


def expected_beside(
    index: SubsequenceIndex, edged: Singles, found: Neighbours, offsets: Rows
) -> Singles:
    """What lay at `offsets` from the start of the neighbours: (offset, form, division, query).

    Moved to the level of the query and brought to its size, as far as the form leaves them out.
    `edged` are the training rows between as many not-a-numbers as there are offsets: what lay
    beyond the ends of training, and where nothing was found, is not-a-number.
    """
    nearest, wanted = found.of_divisions, found.queries
    there = np.where(nearest < 0, len(edged), index.starts[nearest] + len(offsets))
    # By offset first: sums over offsets are then of whole arrays.
    expected = edged.take(there + offsets[:, None, None, None], mode="clip")
    level, std = index.level_and_std
    expected[:, 1:] -= level[nearest[1:]]  # the raw ones, first, keep theirs
    expected[:, 2] *= wanted.std / std[nearest[2]]
    expected[:, 1:] += wanted.level
    return expected


def block_errors(observed: Singles, expected: Singles) -> Singles:
    """Root mean squared error of blocks of rows, by the division that comes nearest.

    `observed` (offset, query), `expected` (offset, ..., division, query); the errors are
    (..., query), not-a-number unless more than half of the rows are known.

    >>> expected = np.array([[[0.0], [3.0]], [[0.0], [3.0]]], np.float32)
    >>> block_errors(np.array([[3.0], [1.0]], np.float32), expected).round(2)
    array([1.41], dtype=float32)
    """
    rows, queries = observed.shape
    error = observed.reshape(rows, *(1,) * (expected.ndim - 2), queries) - expected
    np.square(error, out=error)
    mean = np.add.reduce(error, axis=0) / np.float32(rows)
    if not np.isfinite(mean).all():
        known = np.isfinite(error)
        held = known.sum(axis=0, dtype=np.float32)
        total = np.add.reduce(np.where(known, error, np.float32(0.0)), axis=0)
        mean = np.where(2 * held > rows, total / np.maximum(held, 1), np.float32(np.inf))
    best = np.minimum.reduce(mean, axis=-2)
    return np.sqrt(np.where(np.isinf(best), np.float32(np.nan), best))


AT_ONCE = 256  # subsequences that are looked up at a time


@dataclass(frozen=True, eq=False)
class JointIndex(Subsequences):
    """Subsequences of one length, of all channels together."""

    subsequences: Singles  # (subsequence, channel, row)

    @classmethod
    def of(cls, rows: FloatArray, length: int, config: NeighbourConfig) -> "JointIndex | None":
        """Of training rows (time, channel), evenly over them; None where too few were observed."""
        if len(rows) < config.training_lengths * length:
            return None
        seen = sliding_window_view(np.isfinite(rows).mean(axis=1), length).mean(axis=1)
        starts = np.flatnonzero(seen >= config.least_observed)
        if len(starts) < 2 * length:  # nothing would be left beside those that overlap
            return None
        if len(starts) > config.index_size:
            starts = starts[np.linspace(0, len(starts) - 1, config.index_size).astype(np.intp)]
        bridged = np.asarray(bridge(rows.T).T, dtype=np.float64)
        return cls(length, starts, joint_subsequences(bridged, starts, length))

    def distances(self, queries: Singles, exclusion_zone: Zone | None = None) -> FloatArray:
        """How far each channel is from where the nearest of all has it (query, channel).

        Root mean squares; not-a-number where none was left outside of the exclusion zone.
        """
        found = np.empty(queries.shape[:2])
        for first in range(0, len(queries), AT_ONCE):
            chunk = slice(first, min(first + AT_ONCE, len(queries)))
            asked = queries[chunk]
            apart = self._sizes - 2 * (asked.reshape(len(asked), -1) @ self._table)
            if exclusion_zone is not None:
                low, high = (side[chunk] for side in exclusion_zone)
                for row in np.flatnonzero(high > low):
                    apart[row, low[row] : high[row]] = np.inf
            nearest = apart.argmin(axis=1)
            away = asked - self.subsequences[nearest]
            found[chunk] = np.sqrt(np.square(away, dtype=np.float64).mean(axis=2))
            found[chunk][np.isinf(apart[np.arange(len(asked)), nearest])] = np.nan
        return found

    @cached_property
    def _table(self) -> Singles:
        return np.ascontiguousarray(self.subsequences.reshape(len(self.starts), -1).T)

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self._table).sum(axis=0))


def joint_subsequences(rows: FloatArray, starts: Rows, length: int) -> Singles:
    """Of bridged rows (time, channel): (subsequence, channel, row); a channel without any is 0."""
    known = np.nan_to_num(rows).astype(np.float32)
    return np.ascontiguousarray(sliding_window_view(known, length, axis=0)[starts])
