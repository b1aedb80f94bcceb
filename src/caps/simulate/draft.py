"""Draws of one operation: windows with events, rendered, cut, bounded and checked by the gate."""

from collections.abc import Callable

import numpy as np

from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.operation import FAMILIES, Bases, Events, Operation, in_context
from caps.simulate.anomaly.placement import MOST_EVENTS, Placed, place
from caps.simulate.pairs import LEAST_PEAK, PARAMETERS, PairBatch, passes, strength, threshold

# Of the pairs whose operation allows it; about half of all draws do, so a tenth of all is hard.
HARD_SHARE = 0.18
LARGEST_VALUE = 12.0
# Draws of a pair before another operation of the same family takes its place.
TRIES = 20
ROUNDS = 3

# Operations for the pairs numbered; and pairs of one operation for those numbered, with which of
# them passed the gate.
Choose = Callable[[np.ndarray], np.ndarray]
Make = Callable[[int, np.ndarray], tuple[PairBatch, np.ndarray]]


def draft(
    code: int, count: int, bases: Bases, window: int, rng: np.random.Generator
) -> tuple[PairBatch, np.ndarray]:
    """`count` windows with events of the operation number `code`, and which passed the gate."""
    operation = CATALOGUE[code]
    suits = operation.suits(bases)
    row = rng.choice(len(suits), count, p=suits / suits.sum())
    return draft_on(code, bases, place(operation, bases, row, window, rng), window, rng)


def draft_on(
    code: int, bases: Bases, placed: Placed, window: int, rng: np.random.Generator
) -> tuple[PairBatch, np.ndarray]:
    """Windows with the events that were placed, and which passed the gate."""
    operation, row = CATALOGUE[code], placed.row
    residual, number, scale, drawn = _rendered(operation, bases, placed, window, rng)
    normal = bases.series[row[:, None], placed.origin[:, None] + np.arange(window)]
    normal = np.clip(normal, -LARGEST_VALUE, LARGEST_VALUE)
    possible = _possible(normal + residual, bases, row).astype(np.float32)
    seen = _seen(operation, possible - normal, number, bases.noise[row], scale)
    # A further event that turned out invisible is taken back; without the main one all is redrawn.
    support = (number > 0) & np.take_along_axis(seen, np.maximum(number - 1, 0), axis=1)
    parameters = {
        "onset": placed.start[:, 0] - placed.origin,
        "length": placed.length[:, 0],
        "strength": drawn,
        "noise": bases.noise[row],
        "events": seen.sum(axis=1),
        "tries": np.ones(len(row)),
        "wanted": np.full(len(row), code),
    }
    pairs = PairBatch(
        normal=normal,
        anomalous=np.where(support, possible, normal),
        support=support,
        family=np.full(len(row), FAMILIES.index(operation.family), dtype=np.int8),
        operation=np.full(len(row), code, dtype=np.int16),
        generator=bases.generator[row].astype(np.int16),
        reference=row.astype(np.int64),
        period=bases.parts.period[row].astype(np.float32),
        scale=scale[:, 0].astype(np.float32),
        parameters=np.stack([parameters[name] for name in PARAMETERS], 1).astype(np.float32),
    )
    return pairs, seen[:, 0]


def draw_visible(count: int, choose: Choose, make: Make, rounds: int = ROUNDS) -> PairBatch:
    """Draw until every pair is visible; only rejected pairs are drawn again."""
    wanted = operation = choose(np.arange(count))
    drawn_rows, batches = [], []
    pending = np.arange(count)
    for attempt in range(1, TRIES * rounds + 1):
        rejected = []
        for code in np.unique(operation[pending]):
            rows = pending[operation[pending] == code]
            pairs, accepted = make(int(code), rows)
            pairs.parameters[:, PARAMETERS.index("tries")] = attempt
            pairs.parameters[:, PARAMETERS.index("wanted")] = wanted[rows]
            drawn_rows.append(rows)
            batches.append(pairs)
            rejected.append(rows[~accepted])
        pending = np.concatenate(rejected)
        if len(pending) == 0:
            break
        if attempt % TRIES == 0:
            operation = operation.copy()
            operation[pending] = choose(pending)
    order = np.concatenate(drawn_rows)
    last = np.empty(count, dtype=np.int64)
    last[order] = np.arange(len(order))  # of several draws of a pair the last one stays
    return PairBatch.concatenate(batches)[last]


def _rendered(
    operation: Operation, bases: Bases, placed: Placed, window: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Residual and event number (windows, window), scales (windows, 3), drawn strengths."""
    owner, nth = np.nonzero(placed.start >= 0)
    start, length = placed.start[owner, nth], placed.length[owner, nth]
    events = in_context(bases, placed.row[owner], start, length)
    values, drawn = operation(events, rng)
    change = (values - events.values) * _weights(operation, events, rng)
    residual, number = _scattered(events, owner, nth, placed, change, window)
    scale = np.ones(placed.start.shape)
    scale[owner, nth] = events.scale
    # All events of a window face the gate of the main one at least, so that their union passes it.
    scale = np.maximum(scale, scale[:, :1])
    if operation.scalable:
        weak = _weakened(operation, residual, number, bases.noise[placed.row], scale[:, 0], rng)
        residual = np.where(rng.random((len(residual), 1)) < HARD_SHARE, weak, residual)
    return residual, number, scale, drawn[nth == 0]


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
    events: Events,
    owner: np.ndarray,
    nth: np.ndarray,
    placed: Placed,
    change: np.ndarray,
    window: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Residual and event number (windows, window) of all events, cut at the window; 0 is none."""
    residual = np.zeros((len(placed.row), window))
    number = np.zeros((len(placed.row), window), dtype=np.int64)
    column = events.start[:, None] - placed.origin[owner, None] + events.elapsed
    inside = (events.elapsed < events.length[:, None]) & (column >= 0) & (column < window)
    rows = np.broadcast_to(owner[:, None], column.shape)[inside]
    residual[rows, column[inside]] = change[inside]
    number[rows, column[inside]] = np.broadcast_to(nth[:, None] + 1, column.shape)[inside]
    return residual, number


def _weakened(
    operation: Operation,
    residual: np.ndarray,
    number: np.ndarray,
    noise: np.ndarray,
    scale: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Hard cases: the residual scaled down to where its main event is just above the gate."""
    main = number == 1
    aim = threshold(noise, scale) * rng.uniform(1.1, 1.7, len(residual))
    factor = aim / np.maximum(strength(residual, main), 1e-9)
    if operation.family == "point":
        peak = np.abs(np.where(main, residual, 0)).max(axis=1)
        factor = np.maximum(factor, 1.1 * LEAST_PEAK * noise / np.maximum(peak, 1e-9))
    return np.asarray(residual * np.minimum(factor, 1.0)[:, None])


def _possible(values: np.ndarray, bases: Bases, row: np.ndarray) -> np.ndarray:
    """What the sensor could have reported: no negative counts, no values between its steps."""
    parts = bases.parts
    step, zero = parts.quantum[row, None], parts.zero[row, None]
    coarse = zero + step * np.round((values - zero) / np.where(step > 0, step, 1.0))
    values = np.where(step > 0, coarse, values)
    values = np.maximum(values, parts.floor[row, None])
    return np.asarray(np.clip(values, -LARGEST_VALUE, LARGEST_VALUE))


def _seen(
    operation: Operation,
    residual: np.ndarray,
    number: np.ndarray,
    noise: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """Which of the events of each window (windows, 3) are there and pass the gate."""
    point = np.full(len(residual), operation.family == "point")
    return np.stack(
        [
            passes(residual, number == nth + 1, noise, scale[:, nth], point)
            for nth in range(MOST_EVENTS)
        ],
        axis=1,
    )
