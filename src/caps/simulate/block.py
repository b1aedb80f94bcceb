"""One block of pairs: long normal series, operations on them, and the gate that redraws."""

from dataclasses import dataclass, replace

import numpy as np

from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.events import Bases, Events, in_context, survey
from caps.simulate.anomaly.operation import FAMILIES, Operation
from caps.simulate.anomaly.placement import Placed, place
from caps.simulate.benign import add_benign
from caps.simulate.cycles import log_uniform
from caps.simulate.normal.catalogue import draw_normal
from caps.simulate.pairs import PairBatch
from caps.simulate.visibility import LEAST_PEAK, passes, strength, threshold

BLOCK_PAIRS = 768
PAIRS_PER_BASE = 3
SHORTEST_BASE, LONGEST_BASE = 512, 4096
TRIES = 20
# Of the pairs whose operation allows it; about half of all draws do, so a tenth of all is hard.
HARD_SHARE = 0.18
LARGEST_VALUE = 12.0


@dataclass(frozen=True, slots=True)
class Draft:
    """Windows of one operation before the gate."""

    pairs: PairBatch
    accepted: np.ndarray  # (n,)


def simulate_block(
    rng: np.random.Generator, families: tuple[str, ...], window: int, first_reference: int
) -> PairBatch:
    """BLOCK_PAIRS pairs from one generator of random numbers."""
    shortest = SHORTEST_BASE * window // 256
    length = int(log_uniform(rng, shortest, LONGEST_BASE * window // 256, 1)[0])
    bases = survey(*draw_normal(rng, BLOCK_PAIRS // PAIRS_PER_BASE, length))
    operation = _drawn_operations(rng, bases, families)
    batch = _filled(bases, operation, window, rng)
    batch = add_benign(batch, rng, LARGEST_VALUE)
    return replace(batch, reference=batch.reference + first_reference)


def _drawn_operations(
    rng: np.random.Generator, bases: Bases, families: tuple[str, ...]
) -> np.ndarray:
    """An operation for every pair: families in turn, operations by weight within the family."""
    operation = np.empty(BLOCK_PAIRS, dtype=np.int64)
    usable = np.array([entry.suits(bases).any() for entry in CATALOGUE])
    for nth, family in enumerate(families):
        weight = np.array([entry.weight * (entry.family == family) for entry in CATALOGUE]) * usable
        turn = np.arange(nth, BLOCK_PAIRS, len(families))
        operation[turn] = rng.choice(len(CATALOGUE), len(turn), p=weight / weight.sum())
    return operation


def _filled(
    bases: Bases, operation: np.ndarray, window: int, rng: np.random.Generator
) -> PairBatch:
    """Draw until every pair is visible, at most TRIES times; only rejected pairs are redrawn."""
    result: PairBatch | None = None
    pending = np.arange(len(operation))
    for attempt in range(1, TRIES + 1):
        drafts, order = [], []
        for code in np.unique(operation[pending]):
            chosen = pending[operation[pending] == code]
            drafts.append(_draft(int(code), len(chosen), bases, window, attempt, rng))
            order.append(chosen)
        drawn = PairBatch.concatenate([draft.pairs for draft in drafts])
        accepted = np.concatenate([draft.accepted for draft in drafts])
        target = np.concatenate(order)
        if result is None:
            result = drawn[np.argsort(target)]
        else:
            _overwrite(result, target, drawn)
        pending = np.sort(target[~accepted])
        if len(pending) == 0:
            break
    assert result is not None
    return result


def _overwrite(batch: PairBatch, rows: np.ndarray, drawn: PairBatch) -> None:
    for name in PairBatch.__slots__:
        getattr(batch, name)[rows] = getattr(drawn, name)


def _draft(
    code: int, count: int, bases: Bases, window: int, attempt: int, rng: np.random.Generator
) -> Draft:
    """Draw `count` windows with events of one operation."""
    operation = CATALOGUE[code]
    suits = operation.suits(bases)
    row = rng.choice(len(suits), count, p=suits / suits.sum())
    placed = place(operation, bases, row, window, rng)
    owner, nth = np.nonzero(placed.start >= 0)
    events = in_context(bases, row[owner], placed.start[owner, nth], placed.length[owner, nth])
    values, drawn_strength = operation.render(events, rng)
    change = (values - events.values) * _weights(operation, events, rng)
    residual, support = _scattered(events, owner, placed, change, window)
    main = np.flatnonzero(nth == 0)
    spread, noise = events.spread[main], bases.noise[row]
    point = np.full(count, operation.family == "point")
    if operation.scalable:
        hard = rng.random(count) < HARD_SHARE
        residual = np.where(
            hard[:, None], _weakened(residual, support, noise, spread, point, rng), residual
        )
    normal = bases.series[row[:, None], placed.origin[:, None] + np.arange(window)]
    normal = np.clip(normal, -LARGEST_VALUE, LARGEST_VALUE)
    possible = _possible(normal + residual, bases, row).astype(np.float32)
    anomalous = np.where(support, possible, normal)
    parameters = np.stack(
        [
            placed.start[:, 0] - placed.origin,
            placed.length[:, 0],
            drawn_strength[main],
            noise,
            (placed.start >= 0).sum(axis=1),
            np.full(count, attempt),
        ],
        axis=1,
    ).astype(np.float32)
    pairs = PairBatch(
        normal=normal,
        anomalous=anomalous,
        support=support,
        family=np.full(count, FAMILIES.index(operation.family), dtype=np.int8),
        operation=np.full(count, code, dtype=np.int16),
        generator=bases.generator[row].astype(np.int16),
        reference=row.astype(np.int64),
        period=bases.parts.period[row].astype(np.float32),
        spread=spread.astype(np.float32),
        parameters=parameters,
    )
    return Draft(pairs, passes(pairs.residual, support, noise, spread, point))


def _weights(operation: Operation, events: Events, rng: np.random.Generator) -> np.ndarray:
    """1 inside each event; tapered operations ease in and out over up to four steps."""
    inside = events.elapsed < events.length[:, None]
    if not operation.tapered:
        return inside.astype(np.float32)
    ease = np.minimum(rng.integers(1, 5, len(events)), events.length // 4)[:, None]
    edge = np.minimum(events.elapsed, events.length[:, None] - 1 - events.elapsed)
    share = np.clip((edge + 1) / (ease + 1), 0, 1)
    return np.where(inside, 0.5 - 0.5 * np.cos(np.pi * share), 0.0).astype(np.float32)


def _scattered(
    events: Events, owner: np.ndarray, placed: Placed, change: np.ndarray, window: int
) -> tuple[np.ndarray, np.ndarray]:
    """Residual and support (windows, window) of all events, cut at the window."""
    residual = np.zeros((len(placed.row), window))
    support = np.zeros((len(placed.row), window), dtype=bool)
    column = events.start[:, None] - placed.origin[owner, None] + events.elapsed
    inside = (events.elapsed < events.length[:, None]) & (column >= 0) & (column < window)
    rows = np.broadcast_to(owner[:, None], column.shape)[inside]
    residual[rows, column[inside]] = change[inside]
    support[rows, column[inside]] = True
    return residual, support


def _weakened(
    residual: np.ndarray,
    support: np.ndarray,
    noise: np.ndarray,
    spread: np.ndarray,
    point: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Hard cases: the residual scaled down to just above the gate."""
    aim = threshold(noise, spread) * rng.uniform(1.1, 1.7, len(residual))
    factor = aim / np.maximum(strength(residual, support), 1e-9)
    peak = np.abs(residual).max(axis=1)
    factor = np.where(point, np.maximum(factor, 1.1 * LEAST_PEAK * noise / (peak + 1e-9)), factor)
    return np.asarray(residual * np.minimum(factor, 1.0)[:, None])


def _possible(values: np.ndarray, bases: Bases, row: np.ndarray) -> np.ndarray:
    """What the sensor could have reported: no negative counts, no values between its steps."""
    parts = bases.parts
    step, zero = parts.quantum[row, None], parts.zero[row, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = zero + step * np.round((values - zero) / step)
    values = np.where(step > 0, rounded, values)
    values = np.maximum(values, parts.floor[row, None])
    return np.asarray(np.clip(values, -LARGEST_VALUE, LARGEST_VALUE))
