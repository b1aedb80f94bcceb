"""What a fit leaves behind: all that scoring needs, and nothing of the generator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.neighbours import TrainingOverlap, overlap_at, overlap_by_values
from caps.network import RowDetector, expit
from caps.scoring.calibration import Calibration, alarm_rate
from caps.scoring.evidence import (
    Aggregate,
    bounded,
    combine,
    evidence_of,
    score_of,
    shares,
    tail_evidence,
)
from caps.scoring.level import ROWS as LEVEL_ROWS
from caps.scoring.level import LevelRange
from caps.scoring.memory import LARGEST, NEW, Memory, Part, Usual, joined
from caps.series import Scaler, Series
from caps.series.scaling import CLIP

FloatArray = NDArray[np.float64]
# A detector scores a channel that varied; of one that stood still, or was only switched between two
# values, a value that it never had is all that counts.
State = Literal["learned", "constant", "switch", "unknown"]

LOWEST = float(score_of(np.array(1.0)))  # of a threshold: normal rows have an evidence of 1
USED_UP = 0.9  # of a budget: less is a budget that no threshold reaches
RESOLUTION = 1e-12  # of a constant's size: smaller differences are rounding
SAME = 1e-3  # of the way between the values of a switch


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """What was learned from one channel of the training part."""

    name: str
    state: State
    rows: int  # observed in training
    detector: RowDetector | None
    calibration: Calibration | None  # of its own scores
    bank: NDArray[np.float32]  # (time,) scaled training rows, for normal counterparts
    level: LevelRange | None = None  # None: levels say nothing
    memory: Memory | None = None  # of the same rows; None: the detector alone
    usual: Usual | None = None  # what the detector says of normal rows; with a memory only
    bound: float | None = None  # that its evidence never reaches, for a switch that was learned


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of every row, and what is behind them."""

    score: FloatArray
    evidence: FloatArray  # (time, channel)
    overlap: TrainingOverlap = NEW  # rows that were not compared with themselves
    usual: tuple[Mapping[Part, Usual], ...] = ()  # of each channel: what its memory was held to

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
    """Detectors of all channels, their scale and the calibration of what they say together."""

    channels: tuple[Channel, ...]
    scaler: Scaler
    calibration: Calibration  # of the scores of rows
    aggregate: Aggregate
    causal: bool
    step: np.timedelta64 | None  # between rows of the training part
    start: np.datetime64 | None = None  # of its first row, where its rows are regular in time
    facts: dict[str, Any] = field(default_factory=dict)  # rows, modes, notes, weights, ...

    @property
    def names(self) -> tuple[str, ...]:
        """The channels, in order."""
        return tuple(channel.name for channel in self.channels)

    def threshold(self, budget: str | float) -> float:
        """The lowest score whose alarms stay within the budget, and above the average row's."""
        return max(LOWEST, self.calibration.threshold(budget, self.step))

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
        return replace(self.scaler, clip=LARGEST).transform(series.values)

    @property
    def context(self) -> int:
        """How many rows before a row its causal score depends on."""
        windows = [each.detector.config.window for each in self.channels if each.detector]
        memories = [each.memory.context for each in self.channels if each.memory]
        return max([LEVEL_ROWS - 1, *(window - 1 for window in windows), *memories])

    def score(
        self, series: Series, *, last: int | None = None, overlap: TrainingOverlap | None = None
    ) -> Scores:
        """Score every row of a series on a regular grid with the channels of training.

        `last` asks for so many rows at the end only: with `context` rows before them a causal
        model gives them the same scores as in the whole series. `overlap` says which rows are those
        of training; it is found if left out, but by a causal model, which is asked for new rows.
        """
        if series.channels != self.names:
            raise InputError(
                f"channels {', '.join(series.channels)} for a model of {', '.join(self.names)}",
                "give the channels the model was fitted on",
            )
        scaled = self.scaled(series)
        last = len(series) if last is None else min(last, len(series))
        if overlap is None:
            overlap = NEW if self.causal else self.find_overlap(series, scaled)
        evidence = np.empty((last, len(self.channels)))
        usual = []
        for place, channel in enumerate(self.channels):
            values = scaled[:, place]
            evidence[:, place], held_to = self._evidence(
                channel, place, series, values, last, overlap
            )
            usual.append(held_to)
        score = score_of(combine(evidence, self.aggregate))
        return Scores(score, evidence, overlap, tuple(usual))

    def find_overlap(self, series: Series, scaled: FloatArray) -> TrainingOverlap:
        """Which rows are those of training: by their times if both have some, else by values."""
        memory = next((each.memory for each in self.channels if each.memory), None)
        if memory is None:
            return NEW
        training = np.stack([each.bank.astype(np.float64) for each in self.channels], axis=1)
        if self.start is not None and self.step is not None and series.time is not None:
            steps = float((series.time[0] - self.start) / self.step)
            if not -len(series) < steps < memory.first + len(training):
                return NEW
            if steps.is_integer():
                found = overlap_at(training, scaled, int(steps), memory.first)
                if found:
                    return found
        return overlap_by_values(training, scaled, memory.first)

    def training_time(self, row: int) -> np.datetime64 | None:
        """When a row of the training part was; None where its rows have no regular times."""
        if self.start is None or self.step is None:
            return None
        return self.start + row * self.step

    def _evidence(
        self,
        channel: Channel,
        place: int,
        series: Series,
        scaled: FloatArray,
        last: int,
        overlap: TrainingOverlap,
    ) -> tuple[FloatArray, Mapping[Part, Usual]]:
        """Evidence of one channel about the last rows, and what its memory was held to."""
        first = len(series) - last
        raw, usual = channel_scores(channel, scaled, last, overlap, causal=self.causal)
        if raw is None or channel.calibration is None:
            if channel.state == "switch":
                return _switched(channel, scaled[first:]), {}
            told = _standing(channel, series.values[first:, place], self.scaler.centre[place])
            if channel.memory is None:
                return told, {}
            unlike, usual = channel.memory.of_last(scaled, last, overlap, causal=self.causal)
            # Half of it: around a single blink it is large, but no reason for an alarm by itself.
            return told + np.maximum(unlike, 0.0) / 2, usual
        told = tail_evidence(channel.calibration, raw)
        if channel.bound is not None:
            return bounded(told, channel.bound), usual
        if channel.level is None:
            return told, usual
        return np.maximum(told, channel.level.evidence(scaled)[first:]), usual


def channel_scores(
    channel: Channel, scaled: FloatArray, last: int, overlap: TrainingOverlap, *, causal: bool
) -> tuple[FloatArray | None, Mapping[Part, Usual]]:
    """What the channel's own detector and memory say of the last rows of its scaled values.

    None without any; beside it, what the memory was held to.
    """
    if channel.detector is None:
        return None, {}
    if not np.isfinite(scaled).any():
        return np.full(last, np.nan), {}
    if channel.memory is None or channel.usual is None:
        logits = detector_logits(channel.detector, scaled, causal=causal, last=last)
        return np.asarray(expit(logits)), {}
    unlike, held_to = channel.memory.of_last(scaled, last, overlap, causal=causal)
    if causal:
        logits, usual = (
            detector_logits(channel.detector, scaled, causal=True, last=last),
            channel.usual,
        )
    else:
        whole = detector_logits(channel.detector, scaled, causal=False)
        logits, usual = whole[len(whole) - last :], channel.usual
        if channel.memory.adapts(scaled):
            usual = usual.widened(whole)
    return np.asarray(expit(joined(unlike, usual.standardise(logits)))), held_to


def detector_logits(
    detector: RowDetector, scaled: FloatArray, *, causal: bool, last: int | None = None
) -> FloatArray:
    """What the detector says of values scaled for the memory, cut to what it has seen."""
    return detector.row_logits(np.clip(scaled, -CLIP, CLIP), causal=causal, last=last)


def _standing(channel: Channel, values: FloatArray, centre: float) -> FloatArray:
    """Evidence of a channel without a detector.

    After n equal values another one has a p-value of 1 / (n + 1), whatever it is.
    """
    unlike = np.abs(values - centre) > RESOLUTION * abs(centre)
    if channel.state != "constant":
        unlike = np.zeros(len(values), dtype=bool)
    return _never_seen(channel, values, unlike)


def _switched(channel: Channel, scaled: FloatArray) -> FloatArray:
    """Evidence of a channel that had two values in training: the same for a third one."""
    known = switch_values(channel.bank)
    unlike = np.abs(scaled[:, None] - known).min(axis=1) > SAME * np.ptp(known)
    return _never_seen(channel, scaled, unlike)


def _never_seen(channel: Channel, values: FloatArray, unlike: NDArray[np.bool_]) -> FloatArray:
    p_values = np.where(unlike, 1.0 / (channel.rows + 1), 1.0)
    return evidence_of(np.where(np.isfinite(values), p_values, np.nan))


def switch_values(bank: NDArray[np.float32]) -> NDArray[np.float32]:
    """The two values of training rows that have no third, else none."""
    values = np.unique(bank[np.isfinite(bank)])
    return values if len(values) == 2 else values[:0]
