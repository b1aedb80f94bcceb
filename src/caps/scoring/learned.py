"""The rows that are learned from: chosen, proposed or all, and the sentence that says so.

Whoever fits and scores the same file (`caps detect`, `caps.detect`, a fleet, the service) wants a
part of it to be proposed, the first stretch that looks steady; whoever calls `fit` on a training
set wants all of it. Blocks of rows are compared by level, variability and size of steps. A change
lies where the blocks before it and those after it, to the end of the file, are told apart: an
incident, a night or a weekend is none, as what was before it comes back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self

import numpy as np

from caps.arrays import BoolArray, FloatArray, mean_of_known
from caps.errors import ArtifactError
from caps.scoring.config import SteadyConfig
from caps.scoring.input import find_counters, with_rates
from caps.scoring.options import STEADY, FitOptions
from caps.series import Series, Unit, write_moment

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


LONG = np.timedelta64(3, "D")  # from then on days tell when
ANOTHER = "give train= to choose another part"
_WHY: Mapping[Why, str] = {
    "half": "",
    "before": "before a change at about {change}",
    "after": "after a change at about {change}",
    "short": "too few to keep some apart",
    "restless": "though no part of them looks steady",
}


@dataclass(frozen=True, slots=True)
class Learned:
    """Rows from `start` to `end` of the `rows` that a fit was given."""

    start: int
    end: int
    rows: int
    first: str = ""  # when they began and ended, where rows have times
    last: str = ""
    why: str = ""
    remedy: str = ""  # where nobody chose them

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def part(self) -> str:
        """Which rows, and why.

        >>> Learned(0, 2160, 4320, "2024-06-01", "2024-06-15").part
        'the first 2,160 of 4,320 rows, 2024-06-01 to 2024-06-15'
        >>> Learned(400, 600, 700).part
        'rows 400 to 599 of 700'
        """
        if len(self) == self.rows:
            which = f"all {self.rows:,} rows"
        elif self.start == 0:
            which = f"the first {self.end:,} of {self.rows:,} rows"
        else:
            which = f"rows {self.start:,} to {self.end - 1:,} of {self.rows:,}"
        when = f"{self.first} to {self.last}" if self.first else ""
        return ", ".join(each for each in (which, when, self.why) if each)

    @property
    def sentence(self) -> str:
        """What is said first of every result."""
        return f"learned from {self.part}" + (f": {self.remedy}" if self.remedy else "")

    def within(self, skipped: int, rows: int) -> Self:
        """The same of a longer series, of which so many rows were left out before."""
        return replace(self, start=self.start + skipped, end=self.end + skipped, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The same again, checked."""
        try:
            made = cls(**facts)
            whole = all(type(each) is int for each in (made.start, made.end, made.rows))
            texts = [getattr(made, each.name) for each in fields(cls)][3:]
            if not whole or not 0 <= made.start < made.end <= made.rows:
                raise ValueError("no rows")
            if not all(isinstance(each, str) for each in texts):
                raise ValueError("no texts")
            return made
        except (TypeError, ValueError) as error:
            problem = f"rows of training that cannot be read ({error})"
            raise ArtifactError(problem, "fit it again") from None


def rows_to_learn(
    series: Series,
    options: FitOptions,
    known: Sequence[tuple[int, int]] = (),
    config: SteadyConfig | None = None,
) -> Learned:
    """The rows of a series that a fit learns from; `known` anomalies are no reason for a change."""
    train, rows = options.train, len(series)
    if not (isinstance(train, str) and train.strip() == STEADY):
        end = len(series.training_part(train))
        return _told(Learned(0, end, rows, remedy=ANOTHER if train is None else ""), series)
    if options.counters:
        series = with_rates(series, find_counters(series, known, options.config.counters))
    found = steady_stretch(series.values_without(known), config or SteadyConfig())
    change = "" if found.change is None else _moment(series, found.change, "m")
    why = _WHY[found.why].format(change=change)
    return _told(Learned(found.start, found.end, rows, why=why, remedy=ANOTHER), series)


def _told(learned: Learned, series: Series) -> Learned:
    """With when they began and ended."""
    if series.time is None:
        return learned
    time = series.time[learned.start : learned.end]
    step = series.sampling.step
    fine: Unit = "m" if step is None or step >= np.timedelta64(60, "s") else "s"
    unit: Unit = "D" if time[-1] - time[0] >= LONG else fine
    first, last = (_moment(series, row, unit) for row in (learned.start, learned.end - 1))
    return replace(learned, first=first, last=last)


def _moment(series: Series, row: int, unit: Unit) -> str:
    if series.time is None:
        return f"row {row:,}"
    return write_moment(series.time[row], unit, timezone=series.timezone)
