"""Evidence of level: a channel that leaves the range it had in training.

The detector sees each window by its own level and std, so a drift longer than a window would
look normal to it at every moment.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from caps.arrays import FloatArray
from caps.configuration import check_keys
from caps.errors import ArtifactError
from caps.scoring.config import ScoringConfig


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
        check_keys(facts, cls, "a range of levels")
        made = cls(**{name: float(value) for name, value in facts.items()})
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
