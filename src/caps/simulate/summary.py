"""Figures of a batch of pairs that tell whether the simulator keeps its contract."""

from dataclasses import dataclass

import numpy as np

from caps.simulate.anomaly.catalogue import OPERATIONS
from caps.simulate.anomaly.operation import FAMILIES
from caps.simulate.normal.catalogue import GENERATORS
from caps.simulate.pairs import PairBatch, strength, threshold, visible
from caps.simulate.storage import counts

# Pairs whose residual is below this multiple of the gate count as hard.
HARD = 1.75


@dataclass(frozen=True, slots=True)
class OperationFigures:
    """What became of one operation's draws."""

    name: str
    pairs: int
    visible: float  # share of the pairs that wanted the operation and got it visibly
    first: float  # share of its pairs that were visible at the first draw
    residual: float  # median root-mean-square of the residual in the support
    steps: float  # median steps of the support


@dataclass(frozen=True, slots=True)
class Summary:
    """Balance, exactness and visibility of a batch."""

    pairs: int
    families: dict[str, int]
    generators: dict[str, int]
    largest_outside: float  # max |r| outside the support: 0 by contract
    largest_value: float
    hard: float  # share of pairs just above the gate
    cut: float  # share of pairs whose support touches an end of the window
    operations: tuple[OperationFigures, ...]


def summarise(pairs: PairBatch) -> Summary:
    """Measure `pairs`; nothing is taken from the settings of the simulator.

    >>> from caps.simulate import simulate_pairs
    >>> summarise(simulate_pairs(30, seed=0)).largest_outside
    0.0
    """
    residual = pairs.residual
    size = strength(residual, pairs.support)
    seen = visible(pairs)
    outside = np.abs(np.where(pairs.support, 0, residual))
    gate = threshold(pairs.parameter("noise"), pairs.scale)
    steps = pairs.support.sum(axis=1)
    figures = []
    for code, name in enumerate(OPERATIONS):
        own = pairs.operation == code
        wanted = pairs.parameter("wanted") == code
        if own.any() and wanted.any():
            figures.append(
                OperationFigures(
                    name=name,
                    pairs=int(own.sum()),
                    visible=float((seen & own)[wanted].mean()),
                    first=float((pairs.parameter("tries")[own] == 1).mean()),
                    residual=float(np.median(size[own])),
                    steps=float(np.median(steps[own])),
                )
            )
    return Summary(
        pairs=len(pairs),
        families=counts(FAMILIES, pairs.family),
        generators=counts(GENERATORS, pairs.generator),
        largest_outside=float(outside.max()),
        largest_value=float(np.abs(pairs.anomalous).max()),
        hard=float((size < HARD * gate).mean()),
        cut=float((pairs.support[:, 0] | pairs.support[:, -1]).mean()),
        operations=tuple(figures),
    )
