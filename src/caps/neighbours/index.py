"""Stretches of the training part, and the nearest of them to a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from caps.series import bridge

FloatArray = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.intp]
# As it is; without its level; without level and size.
Form = Literal["as-is", "centred", "normalised"]
FORMS: tuple[Form, ...] = get_args(Form)

BANK = 4096  # stretches of each length, evenly over the training part
PLACES = 64  # means that sum up a longer stretch
LEAST_SPREAD = 0.1  # of training: a stretch that varies less is not blown up to unit size
LEAST_OBSERVED = 0.5
CHUNK = 128  # looked up at once: their distances to the bank fit the processor's cache
SLACK = 1e-3  # of the squared size: rounding of single precision is far below


class Found(NamedTuple):
    """The nearest stretch of each looked up: root mean square distance, and which it is."""

    distance: FloatArray  # not-a-number where nothing was left to compare with
    which: Rows


def summed_up(values: FloatArray, starts: Rows, length: int) -> Singles:
    """Stretches of bridged values as at most PLACES means each: (stretch, place)."""
    step = max(1, length // PLACES)
    total = np.concatenate([[0.0], np.cumsum(values)])
    edges = starts[:, None] + np.arange(0, length + 1, step)
    return np.asarray(np.diff(total[edges], axis=1) / step, dtype=np.float32)


def summed_up_alone(windows: FloatArray) -> Singles:
    """The same of stretches (stretch, length) with gaps, each bridged within itself."""
    step = max(1, windows.shape[1] // PLACES)
    parts = bridge(windows).reshape(len(windows), -1, step)
    return np.asarray(parts.mean(axis=2), dtype=np.float32)


def observed_share(values: FloatArray, starts: Rows, length: int) -> FloatArray:
    """How much of each stretch was observed."""
    total = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    return np.asarray((total[starts + length] - total[starts]) / length)


class Forms(NamedTuple):
    """Stretches (stretch, place) in every form, and what the forms leave out."""

    as_is: Singles
    centred: Singles
    normalised: Singles
    level: Singles  # (stretch, 1)
    spread: Singles  # (stretch, 1), what the normalised ones were divided by

    def in_form(self, form: Form) -> Singles:
        """The stretches in one form."""
        return self[FORMS.index(form)]


def in_forms(stretches: Singles) -> Forms:
    """The stretches with what each form leaves out taken away."""
    level = stretches.mean(axis=1, keepdims=True)
    centred = np.asarray(stretches - level)
    spread = np.maximum(centred.std(axis=1, keepdims=True), np.float32(LEAST_SPREAD))
    return Forms(stretches, centred, centred / spread, level, spread)


@dataclass(frozen=True, eq=False)
class Bank:
    """Stretches of one length."""

    length: int
    starts: Rows  # rows of the training part where they begin, rising
    stretches: Singles  # (stretch, place)

    @cached_property
    def forms(self) -> Forms:
        """The stretches in every form."""
        return in_forms(self.stretches)

    @cached_property
    def own(self) -> dict[Form, FloatArray]:
        """The distance of each stretch to its nearest that does not overlap it, in every form."""
        found = self.look(self.stretches, self.around(self.starts))
        return {form: each.distance for form, each in found.items()}

    def around(self, starts: Rows) -> tuple[Rows, Rows]:
        """Which stretches, first and last exclusive, overlap those that begin at `starts`."""
        first = np.searchsorted(self.starts, starts - self.length, side="right")
        return first, np.searchsorted(self.starts, starts + self.length, side="left")

    def look(
        self, stretches: Singles, left_out: tuple[Rows, Rows] | None = None, *, exact: bool = False
    ) -> dict[Form, Found]:
        """The nearest of the bank to each stretch in every form, without those left out for it.

        `exact` finds the same one whatever else is looked up at the same time: the rounding of a
        matrix product depends on its shape, so near ties are settled apart.
        """
        count, rooms = len(stretches), np.empty((3, CHUNK, len(self.starts)), np.float32)
        found = {form: Found(np.empty(count), np.empty(count, dtype=np.intp)) for form in FORMS}
        for first in range(0, count, CHUNK):
            chunk = slice(first, min(first + CHUNK, count))
            wanted = in_forms(stretches[chunk])
            apart, *room = rooms[:, : chunk.stop - first]
            self._squared(wanted.centred, out=apart)
            if left_out is not None:
                for row in np.flatnonzero(left_out[1][chunk] > left_out[0][chunk]):
                    apart[row, left_out[0][first + row] : left_out[1][first + row]] = np.inf
            for form in FORMS:
                away = self._in_form(form, apart, wanted, room)
                nearest = away.argmin(axis=1)
                if exact:
                    nearest = self._settled(form, wanted, away, nearest)
                distance = self._distance(form, wanted.in_form(form), nearest)
                lost = np.isinf(apart[np.arange(len(nearest)), nearest])
                found[form].distance[chunk] = np.where(lost, np.nan, distance)
                found[form].which[chunk] = nearest
        return found

    @cached_property
    def _table(self) -> Singles:
        """What turns a product into a squared distance, less the size of the one looked up."""
        return np.ascontiguousarray(
            np.concatenate([-2 * self.forms.centred, self._sizes], axis=1).T
        )

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self.forms.centred).sum(axis=1, keepdims=True))

    def _squared(self, centred: Singles, *, out: Singles) -> None:
        """Squared distances of centred stretches to the bank, less their own squared size."""
        asked = np.concatenate([centred, np.ones((len(centred), 1), np.float32)], axis=1)
        np.matmul(asked, self._table, out=out)

    def _in_form(
        self, form: Form, apart: Singles, wanted: Forms, room: Sequence[Singles]
    ) -> Singles:
        """How far apart they are in a form, up to a constant of each row; overwrites the room.

        The product is what costs: the other forms follow from that of the centred stretches. The
        squared distance of levels is added; of the normalised, products are divided by both
        spreads (that of the one looked up is left to the units of its row).
        """
        if form == "centred":
            return apart
        away, other = room
        if form == "as-is":
            np.subtract(self._levels, self._root * wanted.level, out=away)
            np.square(away, out=away)
            away += apart
        else:
            per_spread, sizes = self._of_normalised
            np.multiply(apart, per_spread, out=away)
            np.subtract(wanted.spread, self.forms.spread.T, out=other)
            other *= sizes
            away += other
        return away

    @cached_property
    def _root(self) -> np.float32:
        return np.float32(np.sqrt(self.stretches.shape[1]))

    @cached_property
    def _levels(self) -> Singles:
        return np.asarray(self._root * self.forms.level.T)

    @cached_property
    def _of_normalised(self) -> tuple[Singles, Singles]:
        """One over the spreads, and the squared sizes of the normalised stretches."""
        spread = self.forms.spread.T
        return np.reciprocal(spread), np.asarray(self._sizes.T / np.square(spread))

    def _settled(self, form: Form, wanted: Forms, away: Singles, nearest: Rows) -> Rows:
        rows, mine = np.arange(len(nearest)), wanted.in_form(form)
        slack = SLACK * (1 + np.square(mine).sum(axis=1))
        if form == "normalised":
            slack *= wanted.spread[:, 0]
        close = away <= (away[rows, nearest] + slack)[:, None]
        for row in np.flatnonzero(close.sum(axis=1) > 1):
            rivals = np.flatnonzero(close[row])
            apart = self._distance(form, mine[np.full(len(rivals), row)], rivals)
            nearest[row] = rivals[apart.argmin()]
        return nearest

    def _distance(self, form: Form, wanted: Singles, index: Rows) -> FloatArray:
        apart = wanted.astype(np.float64) - self.forms.in_form(form)[index]
        return np.asarray(np.sqrt(np.square(apart).mean(axis=1)))


def bank_of(rows: FloatArray, length: int) -> Bank | None:
    """The stretches of one length; None where too little was observed."""
    starts = np.arange(max(len(rows) - length + 1, 0))
    starts = starts[observed_share(rows, starts, length) >= LEAST_OBSERVED]
    if len(starts) < 2 * length:  # nothing would be left beside those that overlap
        return None
    if len(starts) > BANK:
        starts = starts[np.linspace(0, len(starts) - 1, BANK).astype(np.intp)]
    bridged = np.asarray(bridge(rows), dtype=np.float64)
    return Bank(length, starts, summed_up(bridged, starts, length))
