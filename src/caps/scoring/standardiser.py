"""What a measure says of normal rows, and how far beyond it a row is."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from caps.arrays import FloatArray

TENTH, QUARTILE = 1.2816, 0.6745  # upper ones of a normal distribution, in std


@dataclass(frozen=True, slots=True)
class Standardiser:
    """Location and scale of a measure on normal rows."""

    mean: float
    std: float

    @classmethod
    def of(
        cls, values: FloatArray, least_std: float, seldom: float = 0.0, bursts: float = np.inf
    ) -> Self:
        """From the training part, where each subsequence is compared with the others.

        Median and upper tenth: the anomalies that training parts have as a rule hardly move them.
        Where nine of ten rows are the same, that share `seldom` of the std tells what is usual;
        but if the others came at so many times as `bursts`, they are usual themselves, and tell.
        """
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return cls(0.0, 1.0)
        least = max(least_std, seldom * float(values.std()))
        usual = cls._of_the_upper_half(values, least)
        others = values > usual.mean + usual.std
        if usual.std > least or np.count_nonzero(others[1:] & ~others[:-1]) < bursts:
            return usual
        return cls._of_the_upper_half(values[others], least)

    @classmethod
    def _of_the_upper_half(cls, values: FloatArray, least_std: float) -> Self:
        median, upper = np.quantile(values, [0.5, 0.9])
        return cls(float(median), max(float(upper - median) / TENTH, least_std))

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

    def standardise(self, values: FloatArray) -> FloatArray:
        """Std above the mean; far beyond says little more than beyond."""
        return np.asarray(np.arcsinh((values - self.mean) / self.std))
