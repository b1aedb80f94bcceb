"""Subsequences of the training part, and the nearest of them to a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours.config import NeighbourConfig
from caps.series import bridge

Zone = tuple[Rows, Rows]  # for each query the first and last (exclusive) that it is not held to
# As it is; without its level; without level and size.
Form = Literal["raw", "centred", "znormalised"]
FORMS: tuple[Form, ...] = get_args(Form)

CACHED = 131_072  # distances that fit the processor's cache, and so are looked up at once
LEAST_AT_ONCE = 16  # queries


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest subsequence to each query, in all of the index and in every division of it."""

    distance: FloatArray  # (query,), root mean square; not-a-number where none was left
    index: Rows  # (query,)
    of_divisions: Rows  # (query, division), -1 where none was left


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
    return np.asarray(parts.mean(axis=2), dtype=np.float32)


def observed_share(values: FloatArray, starts: Rows, length: int) -> FloatArray:
    """How much of each subsequence was observed."""
    total = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    return np.asarray((total[starts + length] - total[starts]) / length)


class Forms(NamedTuple):
    """Subsequences (subsequence, segment) in every form, and what the forms leave out."""

    raw: Singles
    centred: Singles
    znormalised: Singles
    level: Singles  # (subsequence, 1)
    std: Singles  # (subsequence, 1), what the z-normalised ones were divided by

    def in_form(self, form: Form) -> Singles:
        """The subsequences in one form."""
        return self[FORMS.index(form)]


def in_forms(subsequences: Singles, least_std: float) -> Forms:
    """The subsequences with what each form leaves out taken away."""
    level = subsequences.mean(axis=1, keepdims=True)
    centred = np.asarray(subsequences - level)
    std = np.maximum(centred.std(axis=1, keepdims=True), np.float32(least_std))
    return Forms(subsequences, centred, centred / std, level, std)


@dataclass(frozen=True, eq=False)
class SubsequenceIndex:
    """Subsequences of one length."""

    length: int
    starts: Rows  # rows of the training part where they begin, rising
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
        size = min(config.index_size, config.size_per_row * length)
        if len(starts) > size:
            starts = starts[np.linspace(0, len(starts) - 1, size).astype(np.intp)]
        bridged = np.asarray(bridge(rows), dtype=np.float64)
        starts = starts[len(starts) % config.divisions :]
        subsequences = paa(bridged, starts, length, config.segments)
        return cls(length, starts, subsequences, config.least_std, config.divisions)

    @cached_property
    def forms(self) -> Forms:
        """The subsequences in every form."""
        return in_forms(self.subsequences, self.least_std)

    @cached_property
    def neighbour_distance(self) -> dict[Form, FloatArray]:
        """The distance of each to its nearest that does not overlap it, in every form."""
        found = self.query(self.subsequences, self.overlapping(self.starts))
        return {form: each.distance for form, each in found.items()}

    def overlapping(self, starts: Rows, beside: int = 0) -> Zone:
        """Which of the index, first and last exclusive, overlap those that begin at `starts`.

        `beside` rows on either side of them count as theirs.
        """
        reach = self.length + beside
        first = np.searchsorted(self.starts, starts - reach, side="right")
        return first, np.searchsorted(self.starts, starts + reach, side="left")

    def query(
        self, queries: Singles, exclusion_zone: Zone | None = None, *, exact: bool = False
    ) -> dict[Form, Neighbours]:
        """The nearest to each query in every form, outside of its exclusion zone.

        `exact` finds the same ones whatever else is looked up at the same time: the rounding of a
        matrix product depends on its shape, so products are taken in double precision then.
        """
        count, size = len(queries), len(self.starts)
        wanted = in_forms(queries, self.least_std)
        asked = np.concatenate([wanted.centred, np.ones((count, 1), np.float32)], axis=1)
        at_once = min(count, max(LEAST_AT_ONCE, CACHED // size))
        rooms = np.empty((3, at_once, size), np.float32)
        shape = count, self.divisions
        rows, divisions = np.arange(at_once)[:, None], np.arange(self.divisions)
        nearest = {form: (np.empty(shape, np.intp), np.empty(shape, np.float32)) for form in FORMS}
        for first in range(0, count, at_once):
            chunk = slice(first, min(first + at_once, count))
            apart, *room = rooms[:, : chunk.stop - first]
            self._squared(asked[chunk], exact=exact, out=apart)
            if exclusion_zone is not None:
                low, high = (side[chunk] for side in exclusion_zone)
                for row in np.flatnonzero(high > low):
                    apart[row, low[row] : high[row]] = np.inf
            level, std = wanted.level[chunk], wanted.std[chunk]
            for form, (indices, squares) in nearest.items():
                away = self._in_form(form, apart, level, std, room)
                by_division = away.reshape(len(away), self.divisions, -1)
                least = by_division.argmin(axis=2, out=indices[chunk])
                squares[chunk] = by_division[rows[: len(away)], divisions, least]
        return {form: self._found(form, wanted, *of_form) for form, of_form in nearest.items()}

    def _found(self, form: Form, wanted: Forms, indices: Rows, squares: Singles) -> Neighbours:
        """Of the nearest in every division, counted within it, the nearest of all."""
        indices += len(self.starts) // self.divisions * np.arange(self.divisions)
        best, rows = squares.argmin(axis=1), np.arange(len(squares))
        nearest, none = indices[rows, best], np.isinf(squares)
        distance = self._distance(form, wanted.in_form(form), nearest)
        distance[none[rows, best]] = np.nan
        indices[none] = -1
        return Neighbours(distance, nearest, indices)

    @cached_property
    def _tables(self) -> tuple[Singles, FloatArray]:
        """What turns a product into a squared distance, less the size of the query."""
        table = np.concatenate([-2 * self.forms.centred, self._sizes], axis=1).T
        return np.ascontiguousarray(table), np.ascontiguousarray(table, dtype=np.float64)

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self.forms.centred).sum(axis=1, keepdims=True))

    def _squared(self, asked: Singles, *, exact: bool, out: Singles) -> None:
        """Squared distances of centred queries to the index, less their own squared size."""
        single, double = self._tables
        if exact:
            out[...] = asked.astype(np.float64) @ double
        else:
            np.matmul(asked, single, out=out)

    def _in_form(
        self, form: Form, apart: Singles, level: Singles, std: Singles, room: Sequence[Singles]
    ) -> Singles:
        """How far apart they are in a form, up to a constant of each row; overwrites the room.

        The product is what costs: the other forms follow from that of the centred ones. The
        squared distance of levels is added; of the z-normalised, products are divided by both
        stds (that of the query is left to the units of its row).
        """
        if form == "centred":
            return apart
        away, other = room
        if form == "raw":
            np.subtract(self._levels, self._root * level, out=away)
            np.square(away, out=away)
            away += apart
        else:
            per_std, sizes = self._of_znormalised
            np.multiply(apart, per_std, out=away)
            np.subtract(std, self.forms.std.T, out=other)
            other *= sizes
            away += other
        return away

    @cached_property
    def _root(self) -> np.float32:
        return np.float32(np.sqrt(self.subsequences.shape[1]))

    @cached_property
    def _levels(self) -> Singles:
        return np.asarray(self._root * self.forms.level.T)

    @cached_property
    def _of_znormalised(self) -> tuple[Singles, Singles]:
        """One over the stds, and the squared sizes of the z-normalised subsequences."""
        std = self.forms.std.T
        return np.reciprocal(std), np.asarray(self._sizes.T / np.square(std))

    def _distance(self, form: Form, wanted: Singles, index: Rows) -> FloatArray:
        apart = wanted.astype(np.float64) - self.forms.in_form(form)[index]
        return np.asarray(np.sqrt(np.square(apart).mean(axis=1)))
