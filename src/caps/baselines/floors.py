"""Scores without any knowledge: what every method has to beat."""

from typing import Self

import numpy as np

from caps.arrays import FloatArray
from caps.baselines.protocol import checked


class Floor:
    """Learns nothing from a training part."""

    def fit(self, train: FloatArray) -> Self:
        """Only look whether it is one."""
        checked(train)
        return self


class Random(Floor):
    """Uniform random scores, the same at every call.

    >>> Random(seed=0).score(np.zeros((2, 1))).round(3)
    array([0.637, 0.27 ])
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def score(self, series: FloatArray) -> FloatArray:
        """A random number for every row."""
        return np.random.default_rng(self.seed).random(len(checked(series)))


class Flat(Floor):
    """The same score for every row: 0 calls nothing anomalous, 1 calls everything so."""

    def __init__(self, level: float) -> None:
        self.level = level

    def score(self, series: FloatArray) -> FloatArray:
        """The level for every row."""
        self._rows = len(checked(series))
        return np.full(self._rows, self.level)

    def alarms(self) -> list[tuple[int, int]]:
        """One over all rows scored last, or none."""
        return [(0, self._rows)] if self.level else []
