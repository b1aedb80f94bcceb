"""The first stretch of a file that looks steady, found without labels.

Blocks of rows are compared by level, variability and size of steps. A change lies where the blocks
before it and those after it, to the end of the file, are told apart: an incident, a night or a
weekend is none, as what was before it comes back.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from caps.arrays import BoolArray, FloatArray, mean_of_known
from caps.scoring.config import SteadyConfig

Why = Literal["half", "before", "after", "short", "restless"]
DEFAULT = SteadyConfig()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows from `start` to `end`, and why: before or after a change that lies near `change`."""

    start: int
    end: int
    why: Why = "half"
    change: int | None = None


def steady_stretch(values: FloatArray, config: SteadyConfig = DEFAULT) -> Stretch:
    """The stretch to learn from; `values` (time, channel) are not-a-number where unobserved.

    >>> rng = np.random.default_rng(0)
    >>> steady_stretch(rng.normal(size=(2000, 1)))
    Stretch(start=0, end=1000, why='half', change=None)
    >>> steady_stretch(np.repeat([0.0, 9.0], [800, 1200])[:, None] + rng.normal(size=(2000, 1)))
    Stretch(start=0, end=775, why='before', change=806)
    """
    rows = np.append(0, np.cumsum(np.isfinite(values).any(axis=1)))  # with a value, before each
    wanted = config.share * rows[-1]
    if rows[-1] < 2 * config.least_rows:
        return Stretch(0, len(values), "short")
    blocks = _Blocks(values, config)
    least = max(config.least_rows, config.least_share * rows[-1])
    first, change = blocks.first, None
    while rows[-1] - rows[first * blocks.size] >= wanted:
        start = first * blocks.size
        end = int(np.searchsorted(rows, rows[start] + wanted))
        found = blocks.change(first, end // blocks.size)
        if found is None:
            return Stretch(start, end, "half" if change is None else "after", change)
        before = (found - 1) * blocks.size  # the block that holds the change is of neither side
        if rows[before] - rows[start] >= least and not blocks.still(first, found - 1):
            return Stretch(start, before, "before", found * blocks.size)
        first, change = found + 1, found * blocks.size
    return Stretch(0, int(np.searchsorted(rows, wanted)), "restless")


class _Blocks:
    """A file in blocks of equally many rows, and what is known of each: (channel, block)."""

    def __init__(self, values: FloatArray, config: SteadyConfig) -> None:
        self.config = config
        self.size = max(config.block_rows, len(values) // config.blocks)
        self.count = len(values) // self.size  # rows left over are not compared
        known = [column[np.isfinite(column)] for column in values.T]
        varied = [each for each, seen in enumerate(known) if len(seen) and np.ptp(seen) > 0]
        features = np.full((3, len(varied), self.count), np.nan)
        for at, column in enumerate(varied):
            features[:, at] = self._features(values[:, column], known[column])
        self.level, self.std, self.steps = features
        seen = np.isfinite(self.level).mean(axis=0) if varied else np.ones(self.count)
        self.first = int(np.argmax(seen >= config.least_observed))

    def change(self, first: int, last: int) -> int | None:
        """The block from `first` to `last` with which a change begins: the earliest, or None."""
        found, end = self._strongest(first, last, self.count), None
        while found is not None and found != end:  # the part before it may hold another
            end = found
            found = self._strongest(first, end, end)
        return end

    def still(self, first: int, last: int) -> bool:
        """Whether many channels that vary elsewhere do not between these blocks."""
        std = self.std[:, first:last]
        resting = np.nanmax(std, axis=1, initial=0.0) <= self.config.floor
        return bool(len(resting) and resting.mean() >= self.config.still)

    def _features(self, values: FloatArray, known: FloatArray) -> FloatArray:
        """Level, std and mean step of each block, in std of the file."""
        config, shape = self.config, (self.count, self.size)
        low, high = np.quantile(known, [config.clipped, 1 - config.clipped])
        low, high = (low, high) if high > low else (known.min(), known.max())
        scaled = np.clip(values, low, high)
        scaled = (scaled - np.nanmean(scaled)) / np.nanstd(scaled)
        steps = np.abs(np.diff(scaled, prepend=np.nan))
        rows, steps = (each[: self.count * self.size].reshape(shape) for each in (scaled, steps))
        level = mean_of_known(rows)
        std = np.sqrt(mean_of_known((rows - level[:, None]) ** 2))
        features = np.stack([level, std, mean_of_known(steps)])
        features[:, np.isfinite(rows).mean(axis=1) < config.least_observed] = np.nan
        return features

    def _strongest(self, first: int, last: int, end: int) -> int | None:
        """The block with which the clearest change begins; what comes after goes on to `end`."""
        fewest = self.config.fewest_blocks
        splits = range(first + fewest, min(last, end - fewest) + 1)
        strength = [self._strength(first, split, end) for split in splits]
        best = int(np.argmax(strength)) if strength else 0
        return splits[best] if strength and strength[best] > 0 else None

    def _strength(self, first: int, split: int, end: int) -> float:
        """How clear a change is, over all channels; 0 where too few agree."""
        config, part = self.config, slice(first, end)
        floor, before = config.floor, split - first
        level, std, steps = (each[:, part] for each in (self.level, self.std, self.steps))
        if not len(level):
            return 0.0
        noise = np.maximum(np.nan_to_num(np.nanmedian(std, axis=1)), floor)[:, None]
        changed = self._changed(level / noise, before, config.level)
        for feature in (std, steps):
            logs, least = np.log(feature + floor), float(np.log(config.factor))
            changed = np.maximum(changed, self._changed(logs, before, least))
        agreeing = float((changed > 0).mean())
        return float(changed.mean()) if agreeing >= config.agreeing else 0.0

    def _changed(self, feature: FloatArray, before: int, least: float) -> FloatArray:
        """How clear the change of each channel is; what grows evenly has not changed."""
        apart = self._apart(feature, before, least)
        if not apart.any():
            return apart
        grown = _slopes(feature, before)[:, None] * np.arange(feature.shape[1])
        return np.minimum(apart, self._apart(feature - grown, before, least))

    def _apart(self, feature: FloatArray, before: int, least: float) -> FloatArray:
        """How far apart the sides of each channel are, in their stds; 0 where they overlap."""
        sides = feature[:, :before], feature[:, before:]
        seen = [np.isfinite(side).sum(axis=1) for side in sides]
        enough = np.minimum(*seen) >= self.config.fewest_blocks
        if not enough.any():
            return np.zeros(len(feature))
        apart = np.zeros(len(feature))
        one, other = (side[enough] for side in sides)
        order = np.sign(other[:, None, :] - one[:, :, None])
        apart[enough] = np.abs(np.nanmean(order, axis=(1, 2)))
        shift, spread = np.zeros(len(feature)), np.ones(len(feature))
        shift[enough] = np.abs(np.nanmedian(other, axis=1) - np.nanmedian(one, axis=1))
        spread[enough] = np.nanstd(one, axis=1) + np.nanstd(other, axis=1)
        # Of pairs in one order and in the other, `apart` is the difference.
        is_change = (apart >= 2 * self.config.apart - 1) & (shift >= least)
        return np.where(is_change, shift / (spread + self.config.floor), 0.0)


def _slopes(level: FloatArray, before: int) -> FloatArray:
    """How each channel grows from block to block: the median within both sides."""
    first, second = np.triu_indices(level.shape[1], 1)
    within: BoolArray = (first < before) == (second < before)
    first, second = first[within], second[within]
    slopes = (level[:, second] - level[:, first]) / (second - first)
    known = np.isfinite(slopes).any(axis=1)
    found = np.zeros(len(level))
    found[known] = np.nanmedian(slopes[known], axis=1)
    return found
