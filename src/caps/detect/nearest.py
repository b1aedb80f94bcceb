"""Stretches of the training part, and the nearest of them to a new one."""

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
CHUNK = 256  # looked up at once: their distances to the bank fit the processor's cache
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


def in_form(stretches: Singles, form: Form) -> Singles:
    """The stretches with what the form leaves out taken away."""
    if form == "as-is":
        return stretches
    centred = np.asarray(stretches - stretches.mean(axis=1, keepdims=True))
    if form == "centred":
        return centred
    spread = np.maximum(centred.std(axis=1, keepdims=True), np.float32(LEAST_SPREAD))
    return np.asarray(centred / spread)


@dataclass(frozen=True, eq=False)
class Bank:
    """Stretches of one length in one form."""

    length: int
    starts: Rows  # rows of the training part where they begin, rising
    stretches: Singles  # (stretch, place)

    @cached_property
    def _table(self) -> Singles:
        """What turns a product into a squared distance, less the size of the one looked up."""
        sizes = np.square(self.stretches).sum(axis=1, keepdims=True)
        return np.ascontiguousarray(np.concatenate([-2 * self.stretches, sizes], axis=1).T)

    @cached_property
    def own(self) -> FloatArray:
        """The distance of each stretch to its nearest that does not overlap it."""
        return self.look(self.stretches, self.around(self.starts)).distance

    def around(self, starts: Rows) -> tuple[Rows, Rows]:
        """Which stretches, first and last exclusive, overlap those that begin at `starts`."""
        first = np.searchsorted(self.starts, starts - self.length, side="right")
        return first, np.searchsorted(self.starts, starts + self.length, side="left")

    def look(
        self, wanted: Singles, left_out: tuple[Rows, Rows] | None = None, *, exact: bool = False
    ) -> Found:
        """The nearest of the bank to each stretch, without those left out for it.

        `exact` finds the same one whatever else is looked up at the same time: the rounding of a
        matrix product depends on its shape, so near ties are settled apart.
        """
        index = np.zeros(len(wanted), dtype=np.intp)
        lost = np.zeros(len(wanted), dtype=bool)
        asked = np.concatenate([wanted, np.ones((len(wanted), 1), np.float32)], axis=1)
        for first in range(0, len(wanted), CHUNK):
            chunk = slice(first, first + CHUNK)
            away = asked[chunk] @ self._table
            if left_out is not None:
                for row in np.flatnonzero(left_out[1][chunk] > left_out[0][chunk]):
                    away[row, left_out[0][first + row] : left_out[1][first + row]] = np.inf
            nearest = away.argmin(axis=1)
            lost[chunk] = np.isinf(away[np.arange(len(nearest)), nearest])
            index[chunk] = self._settled(wanted[chunk], away, nearest) if exact else nearest
        distance = self._distance(wanted, index)
        return Found(np.where(lost, np.nan, distance), index)

    def _settled(self, wanted: Singles, away: Singles, nearest: Rows) -> Rows:
        rows = np.arange(len(nearest))
        slack = SLACK * (1 + np.square(wanted).sum(axis=1))
        close = away <= (away[rows, nearest] + slack)[:, None]
        for row in np.flatnonzero(close.sum(axis=1) > 1):
            rivals = np.flatnonzero(close[row])
            apart = self._distance(wanted[np.full(len(rivals), row)], rivals)
            nearest[row] = rivals[apart.argmin()]
        return nearest

    def _distance(self, wanted: Singles, index: Rows) -> FloatArray:
        apart = wanted.astype(np.float64) - self.stretches[index]
        return np.asarray(np.sqrt(np.square(apart).mean(axis=1)))


def banks_of(rows: FloatArray, length: int) -> dict[Form, Bank] | None:
    """The stretches of one length in every form; None where too little was observed."""
    starts = np.arange(max(len(rows) - length + 1, 0))
    starts = starts[observed_share(rows, starts, length) >= LEAST_OBSERVED]
    if len(starts) < 2 * length:  # nothing would be left beside those that overlap
        return None
    if len(starts) > BANK:
        starts = starts[np.linspace(0, len(starts) - 1, BANK).astype(np.intp)]
    stretches = summed_up(np.asarray(bridge(rows), dtype=np.float64), starts, length)
    return {form: Bank(length, starts, in_form(stretches, form)) for form in FORMS}
