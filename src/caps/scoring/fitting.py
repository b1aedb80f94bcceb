"""From a training part to a fitted model: detectors, memories, calibration."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.jobs import single_products
from caps.neighbours import training_rows
from caps.scoring.calibration import Calibration, calibrate, calibrate_logits
from caps.scoring.channels import (
    BinaryChannel,
    Channel,
    ConstantChannel,
    LearnedChannel,
    LevelRange,
    SilentChannel,
    channel_logits,
    detector_logits,
)
from caps.scoring.context import ScoringContext
from caps.scoring.evidence import Aggregate
from caps.scoring.fitted import Fitted, score_channels
from caps.scoring.following import Standardiser
from caps.scoring.input import find_counters, with_rates
from caps.scoring.joint import JointMemory
from caps.scoring.memory import Memory
from caps.scoring.options import FitOptions
from caps.scoring.remarks import reach_remark
from caps.scoring.spans import EventRules
from caps.scoring.training_part import Sort, Spans, TrainingPart
from caps.series import Series

if TYPE_CHECKING:
    from caps.network import RowDetector
    from caps.realize import Pretrained
    from caps.scoring.detectors import Detectors

ONLY_KEPT_OUT = (
    "known anomalies are only kept out of training: "
    '`detector="auto"` trains a detector on their kinds too'
)
Blocks = list[tuple[slice, slice]]  # rows, and the same with what their windows reach
# Called with what is being done and the share of the whole fit that is done.
FitProgress = Callable[[str, float], None]


def fit(
    series: Series,
    rows: int,
    pretrained: "Pretrained | None",
    settings: FitOptions,
    *,
    known: Spans = (),
    progress: FitProgress | None = None,
) -> Fitted:
    """Fit every channel on the first `rows` of a series on a regular grid.

    `known` are spans of rows with known anomalies, anywhere in the series: they choose the modes
    (Diagnosis) and are no examples of normal. Without a detector no weights are needed.
    """
    counters: tuple[str, ...] = ()
    if settings.counters:
        counters = find_counters(series[:rows], known, settings.config.counters)
    series = with_rates(series, counters)
    part = TrainingPart(
        series, series[:rows], list(known), settings.switches, settings.config, counters
    )
    work = _Fit(part, _detectors(part, pretrained, settings), settings, progress)
    with single_products():  # as in `Fitted.score`
        return work.fitted()


def _detectors(
    part: TrainingPart, pretrained: "Pretrained | None", settings: FitOptions
) -> "Detectors | None":
    detector = settings.detector_for(len(part.train.channels))
    if detector is None:
        return None
    if pretrained is None:
        raise InputError("a detector without pretrained weights", "give them, or no detector")
    from caps.scoring.detectors import Detectors  # torch, a second: a memory is fitted without

    return Detectors(part, pretrained, detector, settings)


class _Fit:
    """One fit: what all channels share."""

    def __init__(
        self,
        part: TrainingPart,
        detectors: "Detectors | None",
        settings: FitOptions,
        progress: FitProgress | None,
    ) -> None:
        self.part, self.detectors, self.settings = part, detectors, settings
        self.train, self.config = part.train, part.config
        self.progress = progress or _unwatched
        self.contexts = self._contexts(part.remembered, self._calibration_blocks())

    def fitted(self) -> Fitted:
        """The model of all channels."""
        train, settings = self.train, self.settings
        channels = tuple(self._channel(column) for column in range(len(train.channels)))
        if not any(isinstance(each, LearnedChannel | ConstantChannel) for each in channels):
            raise InputError(
                f"no channel has {self.config.calibration.fewest_rows} observed rows to learn from",
                "give a longer training part or other columns",
            )
        self.progress("calibrating", 1.0)
        joint, aggregate = None, settings.aggregate
        if aggregate == "joint":
            joint = self._joint(channels)
            aggregate = "max" if joint is None else aggregate
        return Fitted(
            channels=channels,
            scaler=self.part.scaler,
            calibration=self._calibrated(channels, aggregate, joint),
            aggregate=aggregate,
            causal=settings.causal,
            step=train.sampling.step,
            start=train.time[0] if train.time is not None and train.sampling.regular else None,
            facts=self._facts(channels),
            config=self.config,
            counters=self.part.counters,
            joint=joint,
        )

    def _joint(self, channels: tuple[Channel, ...]) -> JointMemory | None:
        """What the channels are beside each other; None by the past alone, or where few are."""
        if len(self.contexts) != 1 or not self.settings.memory:
            return None
        _, context = self.contexts[0]
        return JointMemory.fit(channels, context, self.settings.rules, self.config)

    def _channel(self, column: int) -> Channel:
        """Fit one channel."""
        part, name = self.part, self.train.channels[column]
        known = name, int(np.isfinite(part.scaled[:, column]).sum()), part.bank(column)
        sort = part.sort(column)
        if sort == "constant":
            # Beside measured channels, a value never seen is enough: it would dominate them.
            memory = None if part.measured else self._memory(column)
            return ConstantChannel(*known, float(part.scaler.centre[column]), memory)
        if sort == "binary":
            return BinaryChannel(*known)
        detector = None
        if sort == "varied" and self.detectors and self.detectors.references[column] is not None:
            detector = self.detectors.train(column, self._reporter(column))
        elif sort == "silent" or self.detectors:
            return SilentChannel(*known)
        return self._learned(column, detector) or SilentChannel(*known)

    def _learned(self, column: int, detector: "RowDetector | None") -> LearnedChannel | None:
        """A channel of this detector and a memory; None where there is neither."""
        part, name = self.part, self.train.channels[column]
        self._reporter(column)("comparing", 0.0 if detector is None else 1.0)
        rows = int(np.isfinite(part.scaled[:, column]).sum())
        bound = None
        if name in part.two_valued and part.constant and not self.settings.switches:
            # When it is switched must not dominate that a channel moves which never did.
            bound = self.config.scoring.bound * float(np.log1p(rows))
        memory, standardiser, level = self._memory(column), None, None
        if detector is None and memory is None:
            return None
        if memory is not None and detector is not None:
            standardiser = self._standardiser(detector, column)
        elif detector is not None and self.settings.level:  # a memory sees levels by itself
            level = self._level(column)
        held = self._held(detector, memory, standardiser, column)
        rules, config = self.settings.rules, self.config.calibration
        if memory is not None:
            rules = self._rules([local for _, local in held])
        scale = config.usual_scale_of(causal=self.settings.causal)
        calibration = calibrate_logits([logits for logits, _ in held], rules, config, scale)
        return LearnedChannel(
            name, rows, part.bank(column), calibration, detector, memory, standardiser, level, bound
        )

    def _memory(self, column: int) -> Memory | None:
        if not self.settings.memory:
            return None
        timed = self.train.time is not None and self.train.sampling.regular
        return Memory.fit(
            self.part.remembered[:, column],
            self.config,
            causal=self.settings.causal,
            step=self.train.sampling.step if timed else None,
            then=(self.contexts[0][1], column) if len(self.contexts) == 1 else None,
        )

    def _level(self, column: int) -> LevelRange:
        assert self.detectors is not None
        values = self.part.scaled[:, column]
        kept, held = ([values[block] for block in blocks] for blocks in self.detectors.blocks)
        return LevelRange.fit(kept, held, self.config.scoring)

    def _standardiser(self, detector: "RowDetector", column: int) -> Standardiser:
        """What the detector says of rows it has not learned from."""
        assert self.detectors is not None
        contexts = self._contexts(self.part.remembered, self.detectors.held_blocks())
        logits = [detector_logits(detector, context, column)[rows] for rows, context in contexts]
        return Standardiser.of(np.concatenate(logits), self.config.scoring.least_std)

    def _held(
        self,
        detector: "RowDetector | None",
        memory: Memory | None,
        standardiser: Standardiser | None,
        column: int,
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Logits of the rows to calibrate on, and what is local to each."""

        def of(contexts: list[tuple[slice, ScoringContext]]) -> list[tuple[FloatArray, FloatArray]]:
            found = [
                (rows, channel_logits(detector, memory, standardiser, context, column))
                for rows, context in contexts
            ]
            return [(each.evidence[rows], each.local[rows]) for rows, each in found]

        held = of(self.contexts)
        fewest = self.config.calibration.fewest_rows
        if sum(int(np.isfinite(logits).sum()) for logits, _ in held) >= fewest:
            return held
        # Nearly all gap: the rows learned from have to do.
        whole = slice(0, len(self.train))
        return of(self._contexts(self.part.remembered, [(whole, whole)]))

    def _rules(self, local: list[FloatArray]) -> EventRules:
        """What many rows of training have by themselves is not fresh."""
        rules, share = self.settings.rules, self.config.calibration.fresh_share
        known = np.concatenate(local)
        known = known[np.isfinite(known)]
        usual = float(np.quantile(known, 1 - share)) if len(known) else rules.fresh
        return replace(rules, fresh=max(rules.fresh, usual))

    def _calibrated(
        self, channels: tuple[Channel, ...], aggregate: Aggregate, joint: JointMemory | None
    ) -> Calibration:
        """Calibrate what all channels say together, on the same rows."""
        blocks, contexts, config = self._calibration_blocks(), self.contexts, self.config
        normal = np.ones(len(self.train), dtype=bool)
        for start, end in self.part.known:
            normal[start:end] = False
        if self.part.known:  # they were left out so far
            scaled = self.part.memory_scaler.transform(self.train.values)
            contexts = self._contexts(scaled, blocks)
        scores, local = [], []
        for (block, _), (rows, context) in zip(blocks, contexts, strict=True):
            scored = score_channels(channels, aggregate, context, joint)
            scores.append(np.where(normal[block], scored.score[rows], np.nan))
            local.append(np.where(normal[block], scored.local[rows], np.nan))
        rules = self._rules(local)
        made = calibrate(scores, rules, config.calibration)
        # Evidence is -log p, so that its tail is exponential by its making.
        return replace(made, scale=config.scoring.halving)

    def _calibration_blocks(self) -> Blocks:
        """Rows to calibrate on.

        A memory compares no row with itself, so that all of the training part will do; what the
        detector has learned of most of it counts for little beside that.
        """
        if self.detectors is not None and not self.settings.memory:
            return self.detectors.held_blocks()
        rows, config = len(self.train), self.config
        start = max(0, rows - config.scoring.causal_rows) if self.settings.causal else 0
        reach = max(config.neighbours.lengths)
        return [(slice(start, rows), slice(max(0, start - reach), rows))]

    def _contexts(self, scaled: FloatArray, blocks: Blocks) -> list[tuple[slice, ScoringContext]]:
        """How to score the blocks, and which rows of what is scored they are."""
        contexts = []
        for block, around in blocks:
            context = ScoringContext(
                scaled[around],
                self.train.values[around],
                self.settings.causal,
                training_rows(around.start, around.stop - around.start),
                self.config.scoring,
                calibrating=True,
                positions=np.arange(around.start, around.stop),
            )
            rows = slice(block.start - around.start, block.stop - around.start)
            contexts.append((rows, context))
        return contexts

    def _facts(self, channels: tuple[Channel, ...]) -> dict[str, Any]:
        """What is worth knowing about the fit, as JSON values."""
        detectors = self.detectors
        sorts: list[Sort] = [
            "silent" if isinstance(each, SilentChannel) else self.part.sort(column)
            for column, each in enumerate(channels)
        ]
        about_known = detectors.modes_note if detectors else [ONLY_KEPT_OUT]
        notes = [
            *(detectors.held_note if detectors else ()),
            *self.part.notes(sorts),
            *(about_known if self.part.known else ()),
        ]
        timed = self.train.time is not None and self.train.sampling.regular
        step, causal = self.train.sampling.step if timed else None, self.settings.causal
        reach = reach_remark(channels, step, self.config.neighbours, causal=causal)
        if reach is not None:
            notes.append(reach)
        return {
            "rows": len(self.train),
            **(detectors.facts() if detectors else {}),
            "seed": self.settings.seed,
            "notes": notes,
        }

    def _reporter(self, column: int) -> Callable[[str, float], None]:
        count, name = len(self.train.channels), self.train.channels[column]
        where = f" for {name}" if count > 1 else ""

        def report(text: str, share: float) -> None:
            self.progress(text + where, (column + share) / count)

        return report


def _unwatched(text: str, share: float) -> None:
    """Nobody looks."""
