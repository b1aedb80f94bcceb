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

CHUNK = 128  # looked up at once: their distances to the index fit the processor's cache
SLACK = 1e-3  # of the squared size: rounding of single precision is far below


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest subsequence to each query."""

    distance: FloatArray  # root mean square; not-a-number where nothing was left to compare with
    index: Rows


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

    @classmethod
    def of(
        cls, rows: FloatArray, length: int, config: NeighbourConfig
    ) -> "SubsequenceIndex | None":
        """Of training rows, evenly over them; None where too little was observed."""
        starts = np.arange(max(len(rows) - length + 1, 0))
        starts = starts[observed_share(rows, starts, length) >= config.least_observed]
        if len(starts) < 2 * length:  # nothing would be left beside those that overlap
            return None
        if len(starts) > config.index_size:
            starts = starts[np.linspace(0, len(starts) - 1, config.index_size).astype(np.intp)]
        bridged = np.asarray(bridge(rows), dtype=np.float64)
        return cls(length, starts, paa(bridged, starts, length, config.segments), config.least_std)

    @cached_property
    def forms(self) -> Forms:
        """The subsequences in every form."""
        return in_forms(self.subsequences, self.least_std)

    @cached_property
    def neighbour_distance(self) -> dict[Form, FloatArray]:
        """The distance of each to its nearest that does not overlap it, in every form."""
        found = self.query(self.subsequences, self.overlapping(self.starts))
        return {form: each.distance for form, each in found.items()}

    def overlapping(self, starts: Rows) -> Zone:
        """Which of the index, first and last exclusive, overlap those that begin at `starts`."""
        first = np.searchsorted(self.starts, starts - self.length, side="right")
        return first, np.searchsorted(self.starts, starts + self.length, side="left")

    def query(
        self, queries: Singles, exclusion_zone: Zone | None = None, *, exact: bool = False
    ) -> dict[Form, Neighbours]:
        """The nearest to each query in every form, outside of its exclusion zone.

        `exact` finds the same one whatever else is looked up at the same time: the rounding of a
        matrix product depends on its shape, so near ties are settled apart.
        """
        count, rooms = len(queries), np.empty((3, CHUNK, len(self.starts)), np.float32)
        found = {
            form: Neighbours(np.empty(count), np.empty(count, dtype=np.intp)) for form in FORMS
        }
        for first in range(0, count, CHUNK):
            chunk = slice(first, min(first + CHUNK, count))
            wanted = in_forms(queries[chunk], self.least_std)
            apart, *room = rooms[:, : chunk.stop - first]
            self._squared(wanted.centred, out=apart)
            if exclusion_zone is not None:
                low, high = (each[chunk] for each in exclusion_zone)
                for row in np.flatnonzero(high > low):
                    apart[row, low[row] : high[row]] = np.inf
            for form in FORMS:
                away = self._in_form(form, apart, wanted, room)
                nearest = away.argmin(axis=1)
                if exact:
                    nearest = self._settled(form, wanted, away, nearest)
                distance = self._distance(form, wanted.in_form(form), nearest)
                lost = np.isinf(apart[np.arange(len(nearest)), nearest])
                found[form].distance[chunk] = np.where(lost, np.nan, distance)
                found[form].index[chunk] = nearest
        return found

    @cached_property
    def _table(self) -> Singles:
        """What turns a product into a squared distance, less the size of the query."""
        return np.ascontiguousarray(
            np.concatenate([-2 * self.forms.centred, self._sizes], axis=1).T
        )

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self.forms.centred).sum(axis=1, keepdims=True))

    def _squared(self, centred: Singles, *, out: Singles) -> None:
        """Squared distances of centred queries to the index, less their own squared size."""
        asked = np.concatenate([centred, np.ones((len(centred), 1), np.float32)], axis=1)
        np.matmul(asked, self._table, out=out)

    def _in_form(
        self, form: Form, apart: Singles, wanted: Forms, room: Sequence[Singles]
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
            np.subtract(self._levels, self._root * wanted.level, out=away)
            np.square(away, out=away)
            away += apart
        else:
            per_std, sizes = self._of_znormalised
            np.multiply(apart, per_std, out=away)
            np.subtract(wanted.std, self.forms.std.T, out=other)
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

    def _settled(self, form: Form, wanted: Forms, away: Singles, nearest: Rows) -> Rows:
        rows, mine = np.arange(len(nearest)), wanted.in_form(form)
        slack = SLACK * (1 + np.square(mine).sum(axis=1))
        if form == "znormalised":
            slack *= wanted.std[:, 0]
        close = away <= (away[rows, nearest] + slack)[:, None]
        for row in np.flatnonzero(close.sum(axis=1) > 1):
            rivals = np.flatnonzero(close[row])
            apart = self._distance(form, mine[np.full(len(rivals), row)], rivals)
            nearest[row] = rivals[apart.argmin()]
        return nearest

    def _distance(self, form: Form, wanted: Singles, index: Rows) -> FloatArray:
        apart = wanted.astype(np.float64) - self.forms.in_form(form)[index]
        return np.asarray(np.sqrt(np.square(apart).mean(axis=1)))
