"""The detectors of a fit: references, counterparts, training.

The only module of a fit that needs the generator, and torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.neighbours import deviation, normal_counterpart
from caps.network import (
    Detector,
    DetectorConfig,
    held_out,
    held_references,
    references_in,
    train_detector,
)
from caps.realize import Pretrained
from caps.recover import (
    PairSet,
    References,
    diagnose,
    known_windows,
    own_pairs,
    perturbed_pairs,
    recover_pairs,
    shaped_effects,
)
from caps.scoring.options import FitOptions
from caps.scoring.training_part import TrainingPart
from caps.training import Report

RECOVERING = 0.4  # of the time of a channel; the rest is training


@dataclass(frozen=True, eq=False)
class Detectors:
    """What the detectors of all channels learn from."""

    part: TrainingPart
    pretrained: Pretrained
    config: DetectorConfig
    settings: FitOptions

    @cached_property
    def ranks(self) -> list[int]:
        """Of the channels by name, so that the order of the columns changes nothing."""
        names = self.part.train.channels
        return [sorted(names).index(name) for name in names]

    @cached_property
    def blocks(self) -> tuple[list[slice], list[slice]]:
        """Rows to learn from and rows held out."""
        return held_out(len(self.part.train), self.config)

    def train(self, column: int, report: Callable[[str, float], None]) -> Detector:
        """Train the detector of one channel that has references."""
        references, seed = self.references[column], self.settings.seed + self.ranks[column]
        assert references is not None

        def recovering(done: int, total: int) -> None:
            report("making counterparts", RECOVERING * done / total)

        pairs = self._pairs(references, seed, recovering)
        held = self._held_references(column) if self.config.wants_held else None
        steps = _Steps(
            lambda share: report("training", RECOVERING + (1 - RECOVERING) * share),
            self.config.members,
        )
        return train_detector(
            pairs,
            self.config,
            seed,
            held=None if held is None else self._pairs(held, seed),
            progress=steps,
        )

    def _pairs(
        self,
        references: References,
        seed: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> PairSet:
        """The references with all of their counterparts."""
        config = self.config
        pairs = recover_pairs(
            self.pretrained,
            references,
            modes=self.modes,
            construction=self.settings.construction,
            seed=seed,
            cache=None if self.settings.cache is None else Path(self.settings.cache),
            progress=progress,
        )
        own = round(config.own_share * len(pairs))
        if self.settings.perturbed:
            pairs = pairs.combine(perturbed_pairs(references, len(pairs), seed))
        pairs = shaped_effects(
            pairs,
            short_share=config.short_share,
            short_rows=config.short_rows,
            floor=config.effect_floor,
            hard_share=config.hard_share,
            seed=seed,
        )
        return pairs.combine(own_pairs(references, own, seed)) if own else pairs

    def _held_references(self, column: int) -> References | None:
        """Windows on the rows held out; None where all rows are learned from."""
        kept, held = self.blocks
        if kept == held:
            return None
        seed = np.random.SeedSequence(self.settings.seed, spawn_key=(self.ranks[column], 1))
        return held_references(
            self.part.scaled[:, column],
            held,
            window=self.config.window,
            limit=self.config.held_references,
            least=self.config.least_held,
            rng=np.random.default_rng(seed),
        )

    def held_blocks(self) -> list[tuple[slice, slice]]:
        """Rows that the detector has not learned from, and the same with what windows reach."""
        window, causal, (_, held) = self.config.window, self.settings.causal, self.blocks
        blocks = []
        for block in held:
            start = block.start
            if causal:
                most = self.part.config.scoring.causal_rows // len(held)
                start = max(start, block.stop - most)
            stop = block.stop if causal else min(len(self.part.train), block.stop + window)
            blocks.append((slice(start, block.stop), slice(max(0, start - window), stop)))
        return blocks

    @property
    def held_note(self) -> list[str]:
        """A remark where all rows were learned from."""
        if self.blocks[0] != self.blocks[1]:
            return []
        return [
            f"{len(self.part.train)} training rows are too few to keep some for the threshold: "
            "it rests on rows the detector has learned from, expect more alarms than stated"
        ]

    @property
    def modes_note(self) -> list[str]:
        """A remark on what the known anomalies were taken for."""
        if self.settings.modes is not None:
            return []
        names = ", ".join(self.pretrained.modes[mode].name for mode in self.modes)
        return [f"the known anomalies were diagnosed as {names}"]

    def facts(self) -> dict[str, Any]:
        """What is worth knowing about them, as JSON values."""
        return {
            "references": [0 if each is None else len(each) for each in self.references],
            "modes": [self.pretrained.modes[mode].name for mode in self.modes],
            "construction": self.settings.construction,
            "perturbed": self.settings.perturbed,
        }

    @cached_property
    def references(self) -> list[References | None]:
        """Of each channel; None where there is nothing to learn from."""
        part, config = self.part, self.part.config.scoring
        learned = len(set(part.train.channels) - part.constant - part.binary)
        shared = config.all_references // max(learned, 1)
        limit = min(self.settings.references, max(config.fewest_references, shared))
        found: list[References | None] = []
        for column, rank in enumerate(self.ranks):
            references = None
            if part.sort(column) == "varied":
                seed = np.random.SeedSequence(self.settings.seed, spawn_key=(rank,))
                references = references_in(
                    part.scaled[:, column],
                    self.blocks[0],
                    window=self.config.window,
                    limit=limit,
                    rng=np.random.default_rng(seed),
                )
            found.append(references)
        return found

    @cached_property
    def modes(self) -> list[int]:
        """Of which counterparts are made."""
        if self.settings.modes is not None:
            return [int(mode) for mode in self.settings.modes]
        if not self.part.known:
            return list(range(len(self.pretrained.modes)))
        scaled = self.part.scaler.transform(self.part.series.values)
        windows, supports = [], []
        for start, end in self.part.known:
            values = scaled[:, self._loudest(scaled, start, end)]
            found = known_windows(values, [(start, end)], size=self.config.window)
            windows.append(found[0])
            supports.append(found[1])
        return diagnose(self.pretrained, np.concatenate(windows), np.concatenate(supports))

    def _loudest(self, scaled: FloatArray, start: int, end: int) -> int:
        """The channel in which a known anomaly shows most."""
        config = self.part.config
        sizes = []
        for column in range(scaled.shape[1]):
            values, counterpart = scaled[:, column], config.neighbours.counterpart
            training = self.part.scaled[-config.scoring.known_rows :, column]
            expected = normal_counterpart(values, start, end, training, counterpart)
            away = deviation(values, start, end, expected, counterpart)[0]
            away = away[np.isfinite(away)]
            sizes.append(float(np.abs(away).mean()) if len(away) else 0.0)
        return int(np.argmax(sizes))


class _Steps:
    """Turns the reports of every member's training into one share that is done."""

    every = 0.25

    def __init__(self, write: Callable[[float], None], members: int) -> None:
        self.write, self.shares = write, dict.fromkeys(range(members), 0.0)
        self.lock = Lock()  # members are trained side by side

    def report(self, report: Report) -> None:
        """Pass on how far all members are."""
        member = int(report.name.rsplit("-", 1)[-1])
        with self.lock:
            self.shares[member] = report.step / report.steps
            self.write(sum(self.shares.values()) / len(self.shares))

    def close(self) -> None:
        """Nothing stays open."""
