"""Matched pairs: a normal window, its anomalous counterpart, and the support of the difference."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

WINDOW = 256
# Columns of `PairBatch.parameters`. Onset and length belong to the main event, in steps of the
# window; the onset is negative where the event began before it. Strength is the main parameter that
# the operation drew, noise the standard deviation of what cannot be predicted, events their number,
# tries the draws until the pair was visible, and wanted the operation drawn first: it differs from
# `operation` where that one could not be made visible.
PARAMETERS = ("onset", "length", "strength", "noise", "events", "tries", "wanted")


@dataclass(frozen=True, slots=True, eq=False)
class PairBatch:
    """Pairs (x_n, x_a, m, k) with their origin, one row each; x_a equals x_n outside m.

    `family` indexes FAMILIES, `operation` OPERATIONS and `generator` GENERATORS.

    >>> from caps.simulate import simulate_pairs
    >>> pairs = simulate_pairs(6, seed=0)
    >>> pairs.normal.shape, pairs.family.tolist()
    ((6, 256), [0, 1, 2, 0, 1, 2])
    >>> bool((pairs.residual[~pairs.support] == 0).all())
    True
    >>> len(pairs[pairs.family == 2])
    2
    """

    normal: np.ndarray  # (n, 256) float32, x_n
    anomalous: np.ndarray  # (n, 256) float32, x_a
    support: np.ndarray  # (n, 256) bool, m
    family: np.ndarray  # (n,) int8, k
    operation: np.ndarray  # (n,) int16
    generator: np.ndarray  # (n,) int16
    reference: np.ndarray  # (n,) int64, the long normal series the window was cut from
    period: np.ndarray  # (n,) float32, nan where the series has no season
    scale: np.ndarray  # (n,) float32, sigma_loc
    parameters: np.ndarray  # (n, len(PARAMETERS)) float32

    def __len__(self) -> int:
        return len(self.normal)

    def __getitem__(self, index: np.ndarray | slice | Sequence[int]) -> "PairBatch":
        """The rows selected by a slice, an index array or a boolean array."""
        index = index if isinstance(index, slice) else np.asarray(index)
        return PairBatch(*(getattr(self, field.name)[index] for field in fields(self)))

    @property
    def residual(self) -> np.ndarray:
        """r = x_a - x_n, exactly 0 outside the support."""
        return np.asarray(self.anomalous - self.normal)

    def parameter(self, name: str) -> np.ndarray:
        """One column of `parameters` by its name in PARAMETERS."""
        return np.asarray(self.parameters[:, PARAMETERS.index(name)])

    @staticmethod
    def concatenate(batches: Sequence["PairBatch"]) -> "PairBatch":
        """All rows of several batches in order."""
        return PairBatch(
            *(
                np.concatenate([getattr(batch, field.name) for batch in batches])
                for field in fields(PairBatch)
            )
        )
