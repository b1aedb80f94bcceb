"""Matched pairs: a normal window, its anomalous counterpart, and the support of the difference.

And the visibility gate: a label on a change that no one could see would only be label noise.
"""

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
# Least root-mean-square of the residual in the support, in units of noise and of local scale.
LEAST_IN_NOISE = 0.35
LEAST_IN_SCALE = 0.15
# The same in units of the whole series: next to nothing is nothing, however still it is around it.
LEAST = 0.06
# Least peak of a point anomaly in units of noise.
LEAST_PEAK = 3.0


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


def threshold(noise: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Least root-mean-square residual that counts as visible."""
    return np.maximum(np.maximum(LEAST_IN_NOISE * noise, LEAST_IN_SCALE * scale), LEAST)


def strength(residual: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Root-mean-square of each row of `residual` inside its support."""
    steps = np.maximum(support.sum(axis=1), 1)
    energy = np.where(support, residual, 0).astype(np.float64) ** 2
    return np.asarray(np.sqrt(energy.sum(axis=1) / steps))


def passes(
    residual: np.ndarray,
    support: np.ndarray,
    noise: np.ndarray,
    scale: np.ndarray,
    point: np.ndarray,
) -> np.ndarray:
    """Whether each row is visible; rows that are `point` anomalies also need a clear peak."""
    peak = np.abs(np.where(support, residual, 0)).max(axis=1)
    visible = strength(residual, support) >= threshold(noise, scale)
    return np.asarray(visible & (~point | (peak >= LEAST_PEAK * noise)) & support.any(axis=1))


def visible(pairs: PairBatch) -> np.ndarray:
    """Whether each pair passes the gate, computed from the pair itself.

    >>> from caps.simulate import simulate_pairs
    >>> bool(visible(simulate_pairs(30, seed=1)).mean() > 0.95)
    True
    """
    # A part in a million of slack: noise and scale were rounded to float32 when stored.
    slack = 1 - 1e-6
    return passes(
        pairs.residual,
        pairs.support,
        slack * pairs.parameter("noise"),
        slack * pairs.scale,
        pairs.family == 0,
    )
