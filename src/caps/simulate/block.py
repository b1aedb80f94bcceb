"""One block of pairs: long normal series, operations drawn on them, and redraws until all show."""

from dataclasses import replace

import numpy as np

from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.events import Bases, survey
from caps.simulate.benign import add_benign
from caps.simulate.cycles import log_uniform
from caps.simulate.draft import LARGEST_VALUE, draft
from caps.simulate.normal.catalogue import draw_normal
from caps.simulate.pairs import PARAMETERS, WINDOW, PairBatch

BLOCK_PAIRS = 768
BLOCK_BASES = 256
# Long enough that windows see parts of cycles, drift and levels away from the mean.
SHORTEST_BASE, LONGEST_BASE = 512, 4096
# Draws of a pair before another operation of the same family takes its place.
TRIES = 20
ROUNDS = 3


def simulate_block(
    rng: np.random.Generator, families: tuple[str, ...], window: int, first_reference: int
) -> PairBatch:
    """BLOCK_PAIRS pairs on BLOCK_BASES long series, all from one stream of random numbers."""
    shortest, longest = (bound * window / WINDOW for bound in (SHORTEST_BASE, LONGEST_BASE))
    length = int(log_uniform(rng, shortest, longest, 1)[0])
    bases = survey(*draw_normal(rng, BLOCK_BASES, length))
    family = np.resize(np.array(families), BLOCK_PAIRS)
    batch = _filled(bases, family, window, rng)
    batch = add_benign(batch, rng, LARGEST_VALUE)
    return replace(batch, reference=batch.reference + first_reference)


def _filled(bases: Bases, family: np.ndarray, window: int, rng: np.random.Generator) -> PairBatch:
    """Draw until every pair is visible; only rejected pairs are drawn again."""
    wanted = operation = _drawn_operations(rng, bases, family)
    drawn_rows, batches = [], []
    pending = np.arange(len(operation))
    for attempt in range(1, TRIES * ROUNDS + 1):
        rejected = []
        for code in np.unique(operation[pending]):
            rows = pending[operation[pending] == code]
            drawn = draft(int(code), len(rows), bases, window, rng)
            drawn.pairs.parameters[:, PARAMETERS.index("tries")] = attempt
            drawn.pairs.parameters[:, PARAMETERS.index("wanted")] = wanted[rows]
            drawn_rows.append(rows)
            batches.append(drawn.pairs)
            rejected.append(rows[~drawn.accepted])
        pending = np.concatenate(rejected)
        if len(pending) == 0:
            break
        if attempt % TRIES == 0:
            operation = operation.copy()
            operation[pending] = _drawn_operations(rng, bases, family[pending])
    order = np.concatenate(drawn_rows)
    last = np.empty(len(family), dtype=np.int64)
    last[order] = np.arange(len(order))  # of several draws of a pair the last one stays
    return PairBatch.concatenate(batches)[last]


def _drawn_operations(rng: np.random.Generator, bases: Bases, family: np.ndarray) -> np.ndarray:
    """An operation for every pair, by weight among those of its family that any base suits."""
    operation = np.empty(len(family), dtype=np.int64)
    usable = np.array([entry.suits(bases).any() for entry in CATALOGUE])
    for name in np.unique(family):
        weight = np.array([entry.weight * (entry.family == name) for entry in CATALOGUE]) * usable
        rows = np.flatnonzero(family == name)
        operation[rows] = rng.choice(len(CATALOGUE), len(rows), p=weight / weight.sum())
    return operation
