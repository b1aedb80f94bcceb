"""What a fit leaves behind: all that scoring needs, and nothing of the generator."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, Rows
from caps.errors import InputError
from caps.jobs import single_products
from caps.neighbours import TrainingOverlap, overlap_at, overlap_by_values
from caps.scoring.calibration import Calibration, alarm_rate
from caps.scoring.channels import Channel, ConstantChannel, LearnedChannel
from caps.scoring.config import ModelConfig
from caps.scoring.context import NEW, ScoringContext
from caps.scoring.contexts import RecentContexts
from caps.scoring.evidence import Aggregate, combine, score_of, shares
from caps.scoring.following import Band, Follower
from caps.scoring.input import with_rates
from caps.scoring.joint import JointMemory
from caps.scoring.memory import Memory
from caps.series import Scaler, Series

ROUNDING = 1e-4  # std of training: its rows are kept in single precision
USED_UP = 0.9  # of a budget: less is a budget that no threshold reaches


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of every row, and what is behind them."""

    score: FloatArray
    evidence: FloatArray  # (time, channel)
    overlap: TrainingOverlap = NEW  # rows that were not compared with themselves
    local: FloatArray = field(default_factory=lambda: np.zeros(0))  # of each row by itself
    band: Band | None = None  # scaled (time, channel)

    @property
    def contributions(self) -> FloatArray:
        """Each channel's share of the evidence in each row (time, channel)."""
        return shares(self.evidence)

    def of_event(self, start: int, end: int) -> FloatArray:
        """Each channel's share of the evidence in the rows [start, end)."""
        rows = self.evidence[start:end]
        known = np.isfinite(rows)
        mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return shares(np.where(known.any(axis=0), mean, np.nan))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What was learned of all channels, their scale and the calibration of what they say."""

    channels: tuple[Channel, ...]
    scaler: Scaler
    calibration: Calibration  # of the scores of rows
    aggregate: Aggregate
    causal: bool
    step: np.timedelta64 | None  # between rows of the training part
    start: np.datetime64 | None = None  # of its first row, where its rows are regular in time
    facts: dict[str, Any] = field(default_factory=dict)  # rows, modes, notes, weights, ...
    config: ModelConfig = field(default_factory=ModelConfig)
    counters: tuple[str, ...] = ()  # channels that are scored by their rates
    joint: JointMemory | None = None  # of the measured channels together

    @property
    def names(self) -> tuple[str, ...]:
        """The channels, in order."""
        return tuple(channel.name for channel in self.channels)

    def threshold(self, budget: str | float) -> float:
        """The lowest score whose alarms stay within the budget, and above the average row's."""
        average = float(score_of(np.array(1.0), self.config.scoring))
        return max(average, self.calibration.threshold(budget, self.step))

    def budget_note(self, budget: str | float) -> str | None:
        """What is to be said of a budget that training cannot tell from others; None if nothing."""
        rate, threshold = alarm_rate(budget, self.step), self.threshold(budget)
        most = float(self.calibration.event_p_values(threshold))
        if most < USED_UP * rate:
            return (
                f"the budget {budget} cannot be used up: normal data raise at most "
                f"{most * 1000:.2g} alarms in 1000 rows, every budget beyond has one threshold"
            )
        rows = self.calibration.rows
        if rate * rows < 1:
            return (
                f"the budget {budget} allows less than one alarm in the {rows:,} rows that the "
                "threshold rests on: it is extrapolated, give a longer training part to be sure"
            )
        return None

    def scaled(self, series: Series) -> FloatArray:
        """The values in the units of training (time, channel), not-a-number where unobserved."""
        return self._scaled(self.rated(series))

    def rated(self, series: Series) -> Series:
        """A series on a regular grid with the rates of its counters in place of their values."""
        return with_rates(series, self.counters)

    def _scaled(self, rated: Series) -> FloatArray:
        return replace(self.scaler, clip=self.config.scoring.clip).transform(rated.values)

    @property
    def context(self) -> int:
        """How many rows before a row its causal score depends on."""
        learned = [each for each in self.channels if isinstance(each, LearnedChannel)]
        windows = [each.detector.config.window for each in learned if each.detector]
        memories = [memory.context for memory in self._memories.values()]
        level = self.config.scoring.level_rows
        rate = 1 if self.counters else 0  # one row more to tell a rise from
        return max([level - 1, *(window - 1 for window in windows), *memories]) + rate

    def score(
        self,
        series: Series,
        *,
        last: int | None = None,
        positions: Rows | None = None,
        followers: Mapping[int, Follower] | None = None,
        recent: Mapping[int, RecentContexts] | None = None,
    ) -> Scores:
        """Score every row of a series on a regular grid with the channels of training.

        `last` asks for so many rows at the end only: with `context` rows before them, and the
        `followers` that have seen all rows before, a causal model gives them the same scores as in
        the whole series. So it does without the `recent` contexts, which spare it to look up again
        those of the rows just before. Rows of training are found, but by one that is asked for the
        last rows.
        `positions` are those of rows without times, in steps from where training began.
        """
        if series.channels != self.names:
            raise InputError(
                f"channels {', '.join(series.channels)} for a model of {', '.join(self.names)}",
                "give the channels the model was fitted on",
            )
        series = self.rated(series)
        scaled = self._scaled(series)
        overlap = self.find_overlap(series, scaled) if last is None else NEW
        context = ScoringContext(
            scaled,
            series.values,
            self.causal,
            overlap,
            self.config.scoring,
            positions=self.positions(series.time) if positions is None else positions,
            first=0 if last is None else max(0, len(series) - last),
            follows=True,
            followers=followers,
            recent=recent,
        )
        # Two threads of one small product wait for each other: ten times as long on a busy machine.
        with single_products() if last is None else nullcontext():
            return score_channels(self.channels, self.aggregate, context, self.joint)

    def band(self, scores: Scores) -> Band:
        """What was expected of the rows scored and what counts as normal, in the units of the data.

        (time, channel); of counters, those of their rates. Where training never was below zero, the
        range does not reach there either, unless less than zero is expected.
        """
        if scores.band is None:
            unknown = np.full(scores.evidence.shape, np.nan)
            return Band(unknown, unknown, unknown)
        expected, lower, upper = self.scaler.inverse(np.stack(scores.band))
        below = lower < 0
        if below.any():
            zero = -self.scaler.centre / self.scaler.scale - ROUNDING
            lowest = np.array([channel.lowest for channel in self.channels])
            lower[below & (lowest >= zero) & ~(expected < 0)] = 0.0
        return Band(expected, lower, upper)

    def followers(self) -> dict[int, Follower]:
        """What is usual in every channel with a memory, before any row has come: for streams."""
        return {column: memory.follower() for column, memory in self._memories.items()}

    def recent_contexts(self) -> dict[int, RecentContexts]:
        """What foretells the next rows in every channel with a memory: for streams."""
        return {column: memory.recent_contexts() for column, memory in self._memories.items()}

    def find_overlap(self, series: Series, scaled: FloatArray) -> TrainingOverlap:
        """Which rows are those of training: by their times if both have some, else by values."""
        first = next((memory.first for memory in self._memories.values()), None)
        if first is None:
            return NEW
        config = self.config.neighbours.overlap
        training = np.stack([each.bank.astype(np.float64) for each in self.channels], axis=1)
        if self.start is not None and self.step is not None and series.time is not None:
            steps = float((series.time[0] - self.start) / self.step)
            if not -len(series) < steps < first + len(training):
                return NEW
            if steps.is_integer():
                found = overlap_at(training, scaled, int(steps), first, config)
                if found:
                    return found
        return overlap_by_values(training, scaled, first, config)

    def positions(self, times: NDArray[np.datetime64] | None) -> Rows | None:
        """Rows by their times, in steps from where training began; None where either has none."""
        if self.start is None or self.step is None or times is None:
            return None
        return np.asarray(np.rint((times - self.start) / self.step), dtype=np.intp)

    def training_time(self, row: int) -> np.datetime64 | None:
        """When a row of the training part was; None where its rows have no regular times."""
        if self.start is None or self.step is None:
            return None
        return self.start + row * self.step

    @property
    def _memories(self) -> dict[int, Memory]:
        """By column."""
        with_memory = LearnedChannel | ConstantChannel
        return {
            column: each.memory
            for column, each in enumerate(self.channels)
            if isinstance(each, with_memory) and each.memory is not None
        }


def score_channels(
    channels: tuple[Channel, ...],
    aggregate: Aggregate,
    context: ScoringContext,
    joint: JointMemory | None = None,
) -> Scores:
    """The scores of the rows asked for, from the evidence of their channels."""
    said = [channel.evidence(context, column) for column, channel in enumerate(channels)]
    evidence = np.stack([each.evidence for each in said], axis=1)
    local = np.stack([each.local for each in said], axis=1)
    fresh = np.array([channel.fresh for channel in channels])
    if joint is None or aggregate != "joint":
        together = combine(evidence, aggregate, context.config)
    else:
        beside, columns = joint.evidence(context), list(joint.columns)
        evidence = joint.join(evidence, beside)
        local[:, columns] = joint.located(local[:, columns], beside, fresh[columns])
        together = joint.combine(evidence)
    score = score_of(together, context.config)
    # Of a channel where odd rows are usual, one says less: its share is taken off.
    local -= np.nan_to_num(fresh - np.fmin.reduce(fresh))
    bands = np.full((3, *evidence.shape), np.nan)
    for column, each in enumerate(said):
        if each.band is not None:
            bands[..., column] = each.band
    return Scores(score, evidence, context.overlap, combine_local(local, evidence), Band(*bands))


def combine_local(local: FloatArray, evidence: FloatArray) -> FloatArray:
    """What is local to each row, by the channel with the most evidence (time, channel)."""
    known = np.isfinite(local) & np.isfinite(evidence)
    leading = np.where(known, evidence, -np.inf).argmax(axis=1)[:, None]
    return np.asarray(np.take_along_axis(local, leading, axis=1)[:, 0])
