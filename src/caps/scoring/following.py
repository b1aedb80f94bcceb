"""What is usual is followed over the rows before a row, or around it, in a span of stated length.

Drift, growth and a level that stays become normal at the pace of the training part: the median of
a measure over that span sets its location, the upper quartile its scale, never below those of
training. What differs by no more than chance might changes nothing, so that the score of a row does
not depend on what else is in the file.
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from caps.arrays import FloatArray
from caps.scoring.bands import GOLDEN, Errors, mixed_ranks, width_of
from caps.scoring.config import ScoringConfig
from caps.scoring.standardiser import QUARTILE, Standardiser


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
