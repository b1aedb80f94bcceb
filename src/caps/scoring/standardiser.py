"""What a measure says of normal rows, and how far beyond it a row is."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from caps.arrays import FloatArray
from caps.scoring.config import ScoringConfig

QUARTILE = 0.6745  # of a normal distribution, in std


@dataclass(frozen=True, slots=True)
class Standardiser:
    """Mean and std of a measure on normal rows."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: FloatArray, least_std: float) -> Self:
        """From the training part, where each subsequence is compared with the others."""
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return cls(0.0, 1.0)
        return cls(float(values.mean()), max(float(values.std()), least_std))

    def to_list(self) -> list[float]:
        """As JSON values; `from_list` gives the same back."""
        return [self.mean, self.std]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` described; anything else is a ValueError."""
        mean, std = (float(value) for value in values)
        if not (np.isfinite([mean, std]).all() and std > 0):
            raise ValueError("a std that is none")
        return cls(mean, std)

    def adapted(self, values: FloatArray, config: ScoringConfig) -> "Standardiser":
        """With room for what most of the scored rows are like, so that drift is no anomaly.

        The upper quartile sets the std: anomalies are rarely a quarter of a series. What differs
        from training by no more than chance might changes nothing.
        """
        # So close to training are only rows of it that were not found.
        values = values[values >= self.mean - config.itself * self.std]
        if len(values) == 0:
            return self
        median, upper = np.quantile(values, [0.5, 0.75])
        std = float(upper - median) / QUARTILE
        return Standardiser(
            max(self.mean, float(median) - config.slack_mean * self.std),
            max(self.std, std / config.slack_std),
        )

    def standardise(self, values: FloatArray) -> FloatArray:
        """Std above the mean; far beyond says little more than beyond."""
        return np.asarray(np.arcsinh((values - self.mean) / self.std))
