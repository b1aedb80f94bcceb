"""Joint behaviour: what the measured channels say of each other.

Short subsequences of all of them together are looked up in the training part. How far each channel
is from where the joint neighbour has it tells whether it is odd beside the others, also where it is
usual by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.errors import ArtifactError
from caps.jobs import in_threads
from caps.neighbours import JointIndex, joint_subsequences
from caps.scoring.calibration import Calibration, calibrate_logits
from caps.scoring.channels import Channel, LearnedChannel, two_values
from caps.scoring.config import ModelConfig
from caps.scoring.context import ScoringContext
from caps.scoring.evidence import tail_evidence
from caps.scoring.following import Standardiser, pace_of, standardise_around
from caps.scoring.measures import PIECE, SEVERAL, exclusion_zone, of_rows
from caps.scoring.spans import EventRules

JOINT = -1  # its place beside the columns in what a context keeps


def measured_columns(channels: Sequence[Channel]) -> tuple[int, ...]:
    """Those of channels with many values and a memory: when a switch is thrown says little."""
    return tuple(
        column
        for column, channel in enumerate(channels)
        if isinstance(channel, LearnedChannel)
        and channel.memory is not None
        and not len(two_values(channel.bank))
    )


@dataclass(frozen=True, eq=False)
class JointMemory:
    """The training rows of the measured channels, and what comparing with them usually gives."""

    columns: tuple[int, ...]
    rows: Singles  # (time, channel), scaled
    first: int  # row of the first of them in the training part
    standardisers: tuple[Standardiser, ...]
    calibrations: tuple[Calibration, ...]
    config: ModelConfig

    @classmethod
    def fit(
        cls,
        channels: Sequence[Channel],
        context: ScoringContext,
        rules: EventRules,
        config: ModelConfig,
    ) -> "JointMemory | None":
        """Of the channels' banks; `context` holds the training rows, none compared with itself.

        None where there are fewer than two measured channels, or too few rows.
        """
        columns = measured_columns(channels)
        if len(columns) < config.joint.fewest_channels or context.causal:
            return None
        blank = cls(columns, *_remembered(channels, columns), (), (), config)
        if blank.index is None:
            return None
        measured = blank._measured(context)
        context.measured[JOINT] = measured
        scoring, calibration = config.scoring, config.calibration
        usual = [Standardiser.of(each, scoring.least_std, scoring.seldom) for each in measured]
        logits = standardise_around(measured, usual, measured.shape[1] + 1, scoring)
        if np.isfinite(logits).sum(axis=1).min() < calibration.fewest_rows:
            return None
        scale = calibration.usual_scale_of(causal=False)
        calibrations = [calibrate_logits([each], rules, calibration, scale) for each in logits]
        return blank._knowing(tuple(usual), tuple(calibrations))

    def _knowing(
        self, standardisers: tuple[Standardiser, ...], calibrations: tuple[Calibration, ...]
    ) -> Self:
        known = type(self)(
            self.columns, self.rows, self.first, standardisers, calibrations, self.config
        )
        known.__dict__["index"] = self.index
        return known

    @cached_property
    def index(self) -> JointIndex | None:
        """The joint subsequences of training; None where there are too few."""
        rows = self._clipped(self.rows.astype(np.float64))
        return JointIndex.of(rows, self.config.joint.length, self.config.neighbours)

    def evidence(self, context: ScoringContext) -> FloatArray:
        """-log p of each measured channel beside the others (time, channel).

        Not-a-number where it was not observed or nothing can be compared.
        """
        measured = context.measured.pop(JOINT, None)
        if measured is None:
            measured = self._measured(context)
        scoring, rows = self.config.scoring, len(context.scaled)
        span = pace_of(self.first + len(self.rows), scoring) if context.follows else rows + 1
        logits = standardise_around(measured, self.standardisers, span, scoring)
        said = [
            tail_evidence(calibration, each)
            for calibration, each in zip(self.calibrations, logits, strict=True)
        ]
        observed = np.isfinite(context.scaled[:, list(self.columns)])
        return context.asked(np.where(observed, np.stack(said, axis=1), np.nan))

    def join(self, own: FloatArray, beside: FloatArray) -> FloatArray:
        """The evidence of all channels alone (time, channel), mixed with that of `evidence`."""
        columns, weight, joined = list(self.columns), self.config.joint.weight, own.copy()
        alone = own[:, columns]
        mixed = (1 - weight) * alone + weight * beside
        joined[:, columns] = np.where(np.isfinite(beside), mixed, alone)
        return joined

    def located(self, local: FloatArray, beside: FloatArray, fresh: FloatArray) -> FloatArray:
        """What is local to rows (time, channel), and where nothing is: how odd they are `beside`.

        That counts as `fresh` at most. A joint subsequence holds 15 rows beside a row, so that the
        channels alone tell edges where any row so near is odd by itself.
        """
        reach = self.config.joint.length - 1
        alone = (local >= fresh).any(axis=1)
        near = np.convolve(alone, np.ones(2 * reach + 1))[reach : reach + len(local)] > 0
        odd = np.minimum(beside / self.config.joint.fresh, 1.0) * fresh
        return np.asarray(np.where(near[:, None], local, np.fmax(local, odd)))

    def combine(self, evidence: FloatArray) -> FloatArray:
        """One amount a row: the norm over the measured channels, or another one that says more.

        Not-a-number where no channel was observed.
        """
        measured = evidence[:, list(self.columns)]
        others = np.delete(evidence, list(self.columns), axis=1)
        loudest = np.fmax.reduce(measured, axis=1)
        power, positive = self.config.joint.power, np.maximum(loudest, 1e-300)
        shares = np.nan_to_num(np.maximum(measured, 0.0) / positive[:, None])
        norm = loudest * (shares**power).sum(axis=1) ** (1 / power)
        together = np.fmax.reduce([norm, *others.T])
        return np.asarray(np.maximum(together, self.config.scoring.least_evidence))

    def _measured(self, context: ScoringContext) -> FloatArray:
        """Log distance of each channel from its place in the joint neighbour (channel, row)."""
        assert self.index is not None
        length, rows = self.index.length, len(context.scaled)
        if rows < length:
            return np.full((len(self.columns), rows), np.nan)
        values = self._clipped(context.bridged[:, list(self.columns)])
        starts = np.arange(rows - length + 1)
        pieces = np.array_split(starts, -(-len(starts) // PIECE))

        def compare(piece: Rows) -> FloatArray:
            assert self.index is not None
            zone = exclusion_zone(self.index, self.first, piece, context.overlap)
            around = values[piece[0] : piece[-1] + length]
            queries = joint_subsequences(around, piece - piece[0], length)
            return self.index.distances(queries, zone)

        done = in_threads(compare, pieces) if rows >= SEVERAL else map(compare, pieces)
        away = np.log(np.concatenate(list(done)) + self.config.scoring.floor)
        return np.stack([of_rows(each, starts, length, rows, sided=False) for each in away.T])

    def _clipped(self, values: FloatArray) -> FloatArray:
        bound = self.config.joint.clip
        return np.clip(values, -bound, bound)

    def to_dict(self) -> dict[str, Any]:
        """What is neither the rows nor the configuration, as JSON values."""
        return {
            "columns": list(self.columns),
            "standardisers": [each.to_list() for each in self.standardisers],
            "calibrations": [each.to_dict() for each in self.calibrations],
        }

    @classmethod
    def from_dict(
        cls, facts: Mapping[str, Any], channels: Sequence[Channel], config: ModelConfig
    ) -> Self:
        """The memory of these channels that `to_dict` described; anything else is an error."""
        if set(facts) != {"columns", "standardisers", "calibrations"}:
            raise ArtifactError("a joint memory with odd or missing keys", "fit it again")
        columns = tuple(int(each) for each in facts["columns"])
        usual = tuple(Standardiser.from_list(each) for each in facts["standardisers"])
        calibrations = tuple(Calibration.from_dict(each) for each in facts["calibrations"])
        if columns != measured_columns(channels):
            raise ArtifactError("a joint memory of other channels", "fit it again")
        made = cls(columns, *_remembered(channels, columns), usual, calibrations, config)
        if made.index is None or {len(usual), len(calibrations)} != {len(columns)}:
            raise ArtifactError("a joint memory that does not fit its channels", "fit it again")
        return made


def _remembered(channels: Sequence[Channel], columns: Sequence[int]) -> tuple[Singles, int]:
    """The rows kept of these channels, and where in training they begin."""
    banks = np.stack([channels[column].bank for column in columns], axis=1)
    memories = [each.memory for each in channels if isinstance(each, LearnedChannel)]
    first = next(memory.first for memory in memories if memory is not None)
    return banks, first
