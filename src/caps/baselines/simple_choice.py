"""Tremor's idea: for each series one of a few simple scores, chosen without labels.

Nothing is trained. MMPAD sees odd shapes, Sub-PCA levels that last, a step from the row before odd
rows. Tremor's own rule is not public; ours asks how far the largest values of a score stand out of
the others, and its two limits were chosen on 32 series of `tune` up to 12,000 rows.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from caps.arrays import FloatArray
from caps.baselines.mmpad import Mmpad
from caps.baselines.one_liners import SquaredDifference
from caps.baselines.protocol import checked, not_fitted
from caps.baselines.subsequences import Plan, Subsequences

Chosen = Literal["step", "shape", "level"]


@dataclass(frozen=True, slots=True)
class ChoiceConfig:
    """When a score is taken; what was tried beside these limits is in docs/tried.md."""

    steps_from: float = 6.0  # contrast of the steps over their quantile 0.99
    shapes_from: float = 2.0  # contrast of the shapes over their quantile 0.9


class SimpleChoice:
    """The score of the series whose largest values stand out, as one of three."""

    channels: int | None = None

    def __init__(
        self, level: Plan, several: Plan, config: ChoiceConfig | None = None, seed: int = 0
    ) -> None:
        self.level, self.several, self.seed = level, several, seed
        self.config = config or ChoiceConfig()

    def fit(self, train: FloatArray) -> Self:
        """Keep the training part, whose channels decide the units of steps."""
        self.channels = checked(train).shape[1]
        self.train = train
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """The chosen score; `chosen` tells which."""
        if self.channels is None:
            raise not_fitted()
        self.chosen: Chosen = "step"
        steps = np.sqrt(SquaredDifference().fit(self.train).score(series))
        if contrast(steps, 0.99) >= self.config.steps_from:
            return np.asarray(steps)
        shapes = Mmpad().fit(self.train).score(series)
        if contrast(shapes, 0.9) >= self.config.shapes_from:
            self.chosen = "shape"
            return shapes
        self.chosen = "level"
        levels = Subsequences(self.level, seed=self.seed, whole=True, multivariate=self.several)
        return levels.fit(self.train).score(series)


def contrast(scores: FloatArray, quantile: float) -> float:
    """How far the largest score is above the median, in units of the quantile above it.

    >>> contrast(np.array([0.0, 0, 0, 1, 2, 8]), 0.8)
    5.0
    """
    middle, high = np.quantile(scores, [0.5, quantile])
    spread = high - middle
    return float((scores.max() - middle) / spread) if spread > 0 else float(scores.max() > middle)
