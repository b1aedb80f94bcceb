"""What is usual of normal rows, and how it is followed in a span around a row, or before it.

Drift, growth and a level that stays become normal at the pace of the training part: the median of
a measure over that span sets its location, the upper quartile its scale, never below those of
training. What differs by no more than chance might changes nothing, so that the score of a row does
not depend on what else is in the file.

Expected of a row is the median of what lay beside the nearest subsequences of training. The range
around it is as wide as holds the stated share of normal rows: those of training at first, then
those around a row, or before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np

from caps.arrays import FloatArray, Singles
from caps.scoring.config import ScoringConfig

TENTH, QUARTILE = 1.2816, 0.6745  # upper ones of a normal distribution, in std


@dataclass(frozen=True, slots=True)
class Standardiser:
    """Location and scale of a measure on normal rows."""

    mean: float
    std: float

    @classmethod
    def of(
        cls, values: FloatArray, least_std: float, seldom: float = 0.0, bursts: float = np.inf
    ) -> Self:
        """From the training part, where each subsequence is compared with the others.

        Median and upper tenth: the anomalies that training parts have as a rule hardly move them.
        Where nine of ten rows are the same, that share `seldom` of the std tells what is usual;
        but if the others came at so many times as `bursts`, they are usual themselves, and tell.
        """
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return cls(0.0, 1.0)
        least = max(least_std, seldom * float(values.std()))
        usual = cls._of_the_upper_half(values, least)
        others = values > usual.mean + usual.std
        if usual.std > least or np.count_nonzero(others[1:] & ~others[:-1]) < bursts:
            return usual
        return cls._of_the_upper_half(values[others], least)

    @classmethod
    def _of_the_upper_half(cls, values: FloatArray, least_std: float) -> Self:
        median, upper = np.quantile(values, [0.5, 0.9])
        return cls(float(median), max(float(upper - median) / TENTH, least_std))

    def to_list(self) -> list[float]:
        """As JSON values; `from_list` gives the same back."""
        return [self.mean, self.std]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` described; anything else is a ValueError."""
        mean, std = (float(value) for value in values)
        if not (np.isfinite([mean, std]).all() and std > 0):
            raise ValueError("a std that is none")
        return cls(mean, std)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Std above the mean; far beyond says little more than beyond."""
        return np.asarray(np.arcsinh((values - self.mean) / self.std))


GOLDEN = 0.6180339887498949
# Of the rows that err more, as powers of a tenth: where few do, finely.
TAIL = np.arange(0.0, 3.01, 0.125)


class Band(NamedTuple):
    """Of each row (time,) or (time, channel); not-a-number where nothing can be said."""

    expected: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def around(cls, expected: FloatArray, width: FloatArray | float) -> Self:
        """As far to either side."""
        return cls(expected, expected - width, expected + width)


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """How far rows of training are from what was expected of them, as quantiles."""

    quantiles: FloatArray  # at 1 - 0.1 ** TAIL, and the largest

    @classmethod
    def of(cls, errors: FloatArray) -> Self:
        """From the training part, no row of which is compared with itself."""
        known = errors[np.isfinite(errors)]
        if len(known) == 0:
            return cls(np.zeros(len(TAIL) + 1))
        return cls(np.quantile(known, [*(1.0 - 0.1**TAIL), 1.0]))

    def sample(self, count: int) -> FloatArray:
        """So many that are alike, in an order in which any piece is like the whole."""
        ranks = mixed_ranks(count)
        tail = np.append(TAIL, TAIL[-1] + 1.0)
        return np.interp(-np.log10(1.0 - ranks), tail, self.quantiles)

    def to_list(self) -> list[float]:
        """As JSON values; `from_list` gives the same back."""
        return [float(each) for each in self.quantiles]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` described; anything else is a ValueError."""
        quantiles = np.array(values, dtype=np.float64)
        sound = quantiles.shape == (len(TAIL) + 1,) and bool(np.isfinite(quantiles).all())
        if not sound or (np.diff(quantiles, prepend=0.0) < 0).any():
            raise ValueError("errors that are none")
        return cls(quantiles)


def mixed_ranks(count: int) -> FloatArray:
    """Shares from 0 to 1, evenly, in an order in which any piece is like the whole."""
    shares = (np.arange(count) * GOLDEN) % 1.0
    return np.asarray((shares.argsort().argsort() + 0.5) / count)


def middle(values: Singles | Sequence[FloatArray]) -> FloatArray:
    """The median over the first axis of those that are known; not-a-number where none is.

    >>> middle(np.array([[1.0, np.nan], [5.0, np.nan], [2.0, np.nan], [np.nan, 7.0]]))
    array([2., 7.])
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=0)  # what is unknown comes last
    if not np.isnan(ordered[-1]).any():
        return np.asarray((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
    known = np.count_nonzero(~np.isnan(ordered), axis=0)
    each = np.arange(ordered.shape[1])
    below = ordered[np.maximum(known - 1, 0) // 2, each]
    return np.asarray((below + ordered[np.minimum(known // 2, len(ordered) - 1), each]) / 2)


def width_of(errors: FloatArray, share: float) -> float:
    """How far from what was expected a range has to reach to hold this share of normal rows.

    >>> width_of(np.arange(100.0), 0.9)
    90.0
    """
    rank = int(np.ceil(share * (len(errors) + 1))) - 1
    rank = min(rank, len(errors) - 1)
    return float(np.partition(errors, rank)[rank])


def pace_of(rows: int, config: ScoringConfig) -> int:
    """Rows over which what is usual is followed, after so many rows of training."""
    return int(np.clip(config.pace * rows, config.least_pace, config.most_pace))


def standardise_around(
    measured: FloatArray,
    usual: Sequence[Standardiser],
    pace: int,
    config: ScoringConfig,
) -> FloatArray:
    """Measures (part, row) by what is usual in the rows around each, `pace` to either side."""
    rows = measured.shape[1]
    step = max(1, pace // config.refreshes)
    at = np.arange(0, rows + step, step)
    locations, scales = np.empty((2, len(usual), len(at)))
    for column, row in enumerate(at):
        first, last = max(0, row - pace), min(rows, row + pace)
        thinned = max(1, 2 * pace // config.samples)
        known = 2 * (last - first) >= pace  # of less, only training tells
        sample = measured[:, first:last:thinned] if known else measured[:, :0]
        locations[:, column], scales[:, column] = _followed(sample, usual, config)
    everywhere = np.arange(rows)
    standardised = np.empty(measured.shape)
    for part, (location, scale) in enumerate(zip(locations, scales, strict=True)):
        location = np.interp(everywhere, at, location)
        scale = np.interp(everywhere, at, scale)
        standardised[part] = np.arcsinh((measured[part] - location) / scale)
    return standardised


def widths_around(
    errors: FloatArray, usual: Errors, pace: int, config: ScoringConfig
) -> FloatArray:
    """Of the range that counts as normal, by the errors in the rows around each.

    Where there are fewer than `pace` rows around, the like of training fills up.
    """
    rows, step, like = len(errors), max(1, pace // config.refreshes), usual.sample(pace)
    at = np.arange(0, rows + step, step)
    widths = []
    for row in at:
        around = errors[max(0, row - pace) : row + pace]
        around = around[np.isfinite(around)]
        widths.append(_width(np.concatenate([around, like[len(around) :]]), config))
    return np.interp(np.arange(rows), at, widths)


class Follower:
    """The same by the rows before each alone: a state that goes on from row to row."""

    def __init__(
        self,
        usual: Sequence[Standardiser],
        errors: Errors,
        pace: int,
        config: ScoringConfig,
        *,
        still: bool,
    ) -> None:
        self.usual, self.config, self.still = usual, config, still
        self.every = max(1, pace // config.samples)  # rows between two samples
        self.refresh = config.samples // config.refreshes  # samples between two refreshes
        self.rows = 0
        self.location = np.array([each.mean for each in usual])
        self.scale = np.array([each.std for each in usual])
        # Until rows have come, the span holds the like of training.
        self.sample = self.location[:, None] + self.scale[:, None] * _normal_sample(config.samples)
        self.widths = Widths(errors, pace, config, still=still)

    def standardise(self, measured: FloatArray) -> FloatArray:
        """The next rows (part, row), standardised."""
        standardised = np.empty(measured.shape)
        first, rows = 0, measured.shape[1]
        span = self.every * self.refresh
        while first < rows:
            last = min(rows, first + span - self.rows % span)
            piece = measured[:, first:last]
            standardised[:, first:last] = np.arcsinh(
                (piece - self.location[:, None]) / self.scale[:, None]
            )
            self._take_in(piece)
            first = last
        return standardised

    def state(self) -> FloatArray:
        """All but the number of rows: (part, sample and location and scale), the widths at last."""
        return np.vstack(
            [np.column_stack([self.sample, self.location, self.scale]), self.widths.state()]
        )

    def restore(self, state: FloatArray, rows: int) -> None:
        """Continue from a state after so many rows; one of another model is a ValueError."""
        if state.shape != (len(self.usual) + 1, self.config.samples + 2) or rows < 0:
            raise ValueError(f"what is usual in a state of shape {state.shape}")
        location, scale = state[:, -2:].T
        if not (np.isfinite(location).all() and (scale > 0).all() and np.isfinite(scale).all()):
            raise ValueError("what is usual in a state that is none")
        self.sample, self.rows = state[:-1, :-2].copy(), rows
        self.location, self.scale = location[:-1].copy(), scale[:-1].copy()
        self.widths.restore(state[-1], rows)

    def _take_in(self, piece: FloatArray) -> None:
        taken = np.arange(-self.rows % self.every, piece.shape[1], self.every)
        slots = ((self.rows + taken) // self.every) % self.config.samples
        self.sample[:, slots] = piece[:, taken]
        self.rows += piece.shape[1]
        if self.rows % (self.every * self.refresh) == 0 and not self.still:
            self.location, self.scale = _followed(self.sample, self.usual, self.config, whole=False)


class Widths:
    """How wide the range is that counts as normal, by the errors in the rows before each."""

    def __init__(self, errors: Errors, pace: int, config: ScoringConfig, *, still: bool) -> None:
        self.config, self.still = config, still
        self.every = max(1, pace // config.samples)  # rows between two samples, on average
        self.refresh = self.every * (config.samples // config.refreshes)  # rows
        self.rows, self.width = 0, usual_width(errors, config)
        self.like = errors.sample(config.samples)
        self.sample = self.like.copy()  # as above

    def follow(self, errors: FloatArray) -> FloatArray:
        """Those of the next rows."""
        widths, first = np.empty(len(errors)), 0
        while first < len(errors):
            last = min(len(errors), first + self.refresh - self.rows % self.refresh)
            widths[first:last] = self.width
            self._take_in(errors[first:last])
            first = last
        return widths

    def state(self) -> FloatArray:
        """All but the number of rows, as long as that of a part."""
        return np.concatenate([self.sample, [0.0, self.width]])

    def restore(self, state: FloatArray, rows: int) -> None:
        """Continue from a state after so many rows."""
        self.sample, self.width, self.rows = state[:-2].copy(), float(state[-1]), rows

    def _take_in(self, errors: FloatArray) -> None:
        last = self.rows + len(errors)
        steps = np.arange(self.rows // self.every, -(-last // self.every))
        # At uneven steps: even ones might keep time with a period.
        rows = steps * self.every + (self.every * (steps * GOLDEN % 1.0)).astype(np.intp)
        new = (rows >= self.rows) & (rows < last)
        self.sample[steps[new] % self.config.samples] = errors[rows[new] - self.rows]
        self.rows = last
        if last % self.refresh == 0 and not self.still:
            known = self.sample[np.isfinite(self.sample)]
            missing = self.like[: max(0, self.config.samples // 4 - len(known))]
            self.width = _width(np.concatenate([known, missing]), self.config)


def _normal_sample(count: int) -> FloatArray:
    """Quantiles of a normal distribution, in an order in which any piece is like the whole."""
    normal = NormalDist()
    return np.array([normal.inv_cdf(rank) for rank in mixed_ranks(count).tolist()])


def usual_width(errors: Errors, config: ScoringConfig) -> float:
    """Of the range, as training has it."""
    return _width(errors.sample(config.samples), config)


def _width(errors: FloatArray, config: ScoringConfig) -> float:
    """Of the range; never so narrow that what is the same lies beyond it."""
    return max(config.floor, width_of(errors, config.band_share))


def _followed(
    sample: FloatArray,
    usual: Sequence[Standardiser],
    config: ScoringConfig,
    *,
    whole: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Location and scale of each part: those of training, or beyond by what the sample tells.

    Unless the sample is `whole`, rows closer to training than usual, such as its own that a stream
    is fed, do not widen what is beyond.
    """
    location = np.array([each.mean for each in usual])
    scale = np.array([each.std for each in usual])
    known = np.isfinite(sample)
    enough = known.sum(axis=1) >= max(1, config.samples // 4)
    if not enough.any():
        return location, scale
    ordered = np.sort(np.where(known, sample, np.inf)[enough], axis=1)
    last = known[enough].sum(axis=1) - 1
    each = np.arange(len(ordered))
    median, upper = ordered[each, last // 2], ordered[each, 3 * last // 4]
    lifted = median - config.slack_mean * scale[enough]
    middle = median if whole else np.maximum(median, location[enough])
    widened = (upper - middle) / QUARTILE / config.slack_std
    location[enough] = np.maximum(location[enough], lifted)
    scale[enough] = np.maximum(scale[enough], widened)
    return location, scale
