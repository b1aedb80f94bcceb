"""Channels by what was learned of them: each says in its own way how anomalous a row is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, Singles
from caps.configuration import from_json
from caps.errors import ArtifactError
from caps.network import RowDetector
from caps.scoring.calibration import Calibration
from caps.scoring.combination import combine_with_detector
from caps.scoring.config import ScoringConfig
from caps.scoring.context import ScoringContext
from caps.scoring.evidence import bounded, evidence_of, tail_evidence
from caps.scoring.following import Band, Standardiser
from caps.scoring.memory import Memory, Recall
from caps.series import CLIP


@dataclass(frozen=True, slots=True)
class LevelRange:
    """The range of levels in training, and how far beyond it normal rows went."""

    low: float
    high: float
    scale: float  # p-values fall by e with every such step beyond the range

    @classmethod
    def fit(cls, learned: list[FloatArray], held: list[FloatArray], config: ScoringConfig) -> Self:
        """From the scaled blocks that were learned from and those held out."""
        seen = np.concatenate([levels_of(block, config.level_rows) for block in learned])
        seen = seen[np.isfinite(seen)]
        low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        new = np.concatenate([levels_of(block, config.level_rows) for block in held])
        beyond = np.maximum(np.maximum(low - new, new - high), 0.0)
        beyond = beyond[np.isfinite(beyond)]
        share = config.level_share
        quantile = float(np.quantile(beyond, share)) if len(beyond) else 0.0
        return cls(low, high, max(config.level_scale, quantile / -float(np.log(1 - share))))

    def evidence(self, scaled: FloatArray, rows: int) -> FloatArray:
        """-log p of each row's level, the mean of so many `rows`; not-a-number stays.

        >>> LevelRange(-1.0, 1.0, 0.5).evidence(np.array([0.5] * 8 + [4.5] * 8), 8)[[7, 15]]
        array([0., 7.])
        """
        level = levels_of(scaled, rows)
        beyond = np.maximum(np.maximum(self.low - level, level - self.high), 0.0)
        return np.asarray(np.where(np.isfinite(scaled), beyond / self.scale, np.nan))

    def to_dict(self) -> dict[str, float]:
        """As JSON values; `from_dict` gives the same range back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The range that `to_dict` described; other or missing keys are errors."""
        made = from_json(cls, facts)
        if not (np.isfinite([made.low, made.high]).all() and made.low <= made.high):
            raise ArtifactError("a range of levels contradicts itself", "fit it again")
        if not (np.isfinite(made.scale) and made.scale > 0):
            raise ArtifactError("a range of levels has no scale", "fit it again")
        return made


def levels_of(scaled: FloatArray, rows: int) -> FloatArray:
    """Mean of the observed values among the last `rows` rows, past only."""
    seen = np.isfinite(scaled)
    if len(scaled) == 0:
        return np.zeros(0)
    box = np.ones(min(rows, len(scaled)))
    total = np.convolve(np.where(seen, scaled, 0.0), box)[: len(scaled)]
    count = np.rint(np.convolve(seen.astype(np.float64), box)[: len(scaled)])
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


ROUNDING = 1e-6  # of the way between two values that are kept in single precision


@dataclass(frozen=True, slots=True, eq=False)
class Channel(ABC):
    """What is known of every channel of the training part."""

    name: str
    rows: int  # observed in training
    bank: Singles  # (time,) scaled training rows, for normal counterparts

    @property
    def fresh(self) -> float:
        """From what on a row is odd by itself; not-a-number where no rows were compared."""
        return float("nan")

    @property
    def lowest(self) -> float:
        """Row of training, scaled; not-a-number where no range rests on them."""
        return float("nan")

    @abstractmethod
    def evidence(self, context: ScoringContext, column: int) -> Recall:
        """-log p of the rows asked for, and what is local to each; not-a-number stays."""

    def _never_seen(
        self, context: ScoringContext, column: int, anomalous: NDArray[np.bool_]
    ) -> FloatArray:
        """After n rows without such a value, one has a p-value of 1 / (n + 1), whatever it is."""
        p_values = np.where(anomalous, 1.0 / (self.rows + 1), 1.0)
        known = np.isfinite(context.asked(context.scaled[:, column]))
        return evidence_of(np.where(known, p_values, np.nan), context.config)


@dataclass(frozen=True, slots=True, eq=False)
class SilentChannel(Channel):
    """Hardly observed in training: ignored."""

    def evidence(self, context: ScoringContext, column: int) -> Recall:
        """None in any row."""
        evidence = self._never_seen(context, column, np.zeros(context.last, dtype=bool))
        return Recall(evidence, evidence)


@dataclass(frozen=True, slots=True, eq=False)
class ConstantChannel(Channel):
    """Stood still in training: any other value counts."""

    value: float
    memory: Memory | None  # only where no channel is measured: it would dominate those

    def evidence(self, context: ScoringContext, column: int) -> Recall:
        """That of a value never seen, and some of what the memory says."""
        away = np.abs(context.asked(context.values[:, column]) - self.value)
        moved = away > context.config.resolution * abs(self.value)
        evidence = self._never_seen(context, column, moved)
        constant = np.where(np.isfinite(evidence), 0.0, np.nan)  # scaled, the value is zero
        band = Band(constant, constant, constant)
        if self.memory is not None:
            recall = self.memory.evidence(context, column)
            weight = context.config.constant_memory
            much = evidence + weight * np.maximum(recall.evidence, 0.0)
            return Recall(much, evidence, band=band)
        return Recall(evidence, evidence, band=band)


@dataclass(frozen=True, slots=True, eq=False)
class BinaryChannel(Channel):
    """Only switched between two values in training: a third one counts."""

    @property
    def lowest(self) -> float:
        """Of the two."""
        return float(np.nanmin(self.bank))

    def evidence(self, context: ScoringContext, column: int) -> Recall:
        """That of a value never seen."""
        known = two_values(self.bank)
        scaled = context.asked(context.scaled[:, column])
        away = np.abs(scaled[:, None] - known).min(axis=1)
        third = away > context.config.same * np.ptp(known)
        evidence = self._never_seen(context, column, third)
        # Either is expected, and none more than the other.
        beyond = ROUNDING * np.ptp(known)
        edges = np.array([np.nan, known[0] - beyond, known[1] + beyond])
        band = Band(*np.where(np.isfinite(evidence), edges[:, None], np.nan))
        return Recall(evidence, evidence, band=band)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedChannel(Channel):
    """Varied in training: a detector, a memory or both were fitted."""

    calibration: Calibration  # of its own logits
    detector: RowDetector | None  # None: the memory alone
    memory: Memory | None  # of the same rows; None: the detector alone
    standardiser: Standardiser | None  # of the detector on normal rows, where there is a memory
    level: LevelRange | None  # None: levels say nothing
    bound: float | None  # that its evidence never reaches, for a switch that was learned

    @property
    def fresh(self) -> float:
        """By what is local to rows of training."""
        return float("nan") if self.memory is None else self.calibration.rules.fresh

    @property
    def lowest(self) -> float:
        """Of those remembered."""
        return float("nan") if self.memory is None else self.memory.lowest

    def evidence(self, context: ScoringContext, column: int) -> Recall:
        """That of its logits, or of its level where that says more."""
        logits, local, quiet, band = channel_logits(
            self.detector, self.memory, self.standardiser, context, column
        )
        evidence = np.maximum(tail_evidence(self.calibration, logits), quiet)
        if self.bound is not None:
            evidence = bounded(evidence, self.bound)
        elif self.level is not None:
            of_level = self.level.evidence(context.scaled[:, column], context.config.level_rows)
            evidence = np.maximum(evidence, context.asked(of_level))
        if self.memory is None:
            return Recall(evidence, evidence)
        # What is quiet is foretold well, and still odd in every row.
        local = np.maximum(local, self.fresh * quiet / context.config.quiet_fresh)
        return Recall(evidence, local, band=band)


def channel_logits(
    detector: RowDetector | None,
    memory: Memory | None,
    standardiser: Standardiser | None,
    context: ScoringContext,
    column: int,
) -> Recall:
    """What the detector, the memory or both say of the rows asked for, as logits."""
    known = context.logits.get(column)
    if known is not None:
        return known
    unknown = np.full(context.last, np.nan)
    recall = Recall(unknown, unknown)
    if np.isfinite(context.scaled[:, column]).any():
        if memory is not None:
            recall = memory.evidence(context, column)
        if detector is not None:
            logits = detector_logits(detector, context, column)
            asked = logits[len(logits) - context.last :]
            if memory is None or standardiser is None:
                recall = Recall(asked, asked)
            else:
                said = standardiser.standardise(asked)
                both = combine_with_detector(recall.evidence, said, context.config)
                recall = recall._replace(evidence=both)
    context.logits[column] = recall
    return recall


def detector_logits(detector: RowDetector, context: ScoringContext, column: int) -> FloatArray:
    """What the detector says of values cut to what it has seen; causal, of those asked for only."""
    values = np.clip(context.scaled[:, column], -CLIP, CLIP)
    last = context.last if context.causal else None
    return detector.row_logits(values, causal=context.causal, last=last)


def two_values(bank: Singles) -> Singles:
    """The two values of training rows that have no third, else none."""
    values = np.unique(bank[np.isfinite(bank)])
    return values if len(values) == 2 else values[:0]
