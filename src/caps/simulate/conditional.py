"""Counterparts of given windows: the simulator's own law of anomalies under a fixed reference.

A block of pairs draws the event first and a window around it. Here the window is given: the ideal
law of supervision, which is known for simulated targets only.
"""

import numpy as np

from caps.arrays import runs
from caps.errors import InputError, check_known
from caps.simulate.anomaly.catalogue import CATALOGUE
from caps.simulate.anomaly.operation import FAMILIES, Bases, Place
from caps.simulate.anomaly.placement import MOST_EVENTS, Placed, fits, place_at
from caps.simulate.draft import draft_on, draw_visible
from caps.simulate.pairs import WINDOW, PairBatch

# An operation may have a support whose main event has one of its own lengths, give or take this.
NEAR_LENGTH = 1.25
LENGTHS = 64  # drawn of each operation to tell how usual a length is
UNUSUAL = 1e-3  # share of lengths that it never has, so that every support finds an operation


def simulate_counterparts(
    bases: Bases,
    row: np.ndarray,
    origin: np.ndarray,
    *,
    family: str,
    rng: np.random.Generator,
    support: np.ndarray | None = None,
) -> PairBatch:
    """A pair of `family` on each window that begins at `origin` of `row`.

    The operation is drawn by weight among those that can happen in the window. With `support`
    (windows, time) the events lie there: the operation is drawn by how usual such a length is,
    and those with a place of their own are left out. Pairs that do not show are drawn again.

    >>> from caps.simulate import draw_normal, survey
    >>> rng = np.random.default_rng(0)
    >>> bases = survey(*draw_normal(rng, 2, 1024))
    >>> pairs = simulate_counterparts(
    ...     bases, np.array([1, 1]), np.array([300, 300]), family="trend", rng=rng
    ... )
    >>> bool((pairs.normal[0] == pairs.normal[1]).all()), len(pairs)
    (True, 2)
    """
    check_known("family", family, FAMILIES)
    if len(row) == 0 or origin.min() < 0 or origin.max() > bases.length - WINDOW:
        raise InputError(
            f"windows of {WINDOW} steps that leave series of {bases.length}",
            "give at least one window, inside its series",
        )
    if support is not None and not (support.shape == (len(row), WINDOW) and support.any(1).all()):
        raise InputError("supports that do not fit the windows", "give a support for each window")
    weight = _weights(bases, row, origin, family, support, rng)

    def choose(rows: np.ndarray) -> np.ndarray:
        chances = np.cumsum(weight[rows], axis=1)
        drawn = rng.random((len(rows), 1)) * chances[:, -1:]
        return np.asarray((chances > drawn).argmax(axis=1))

    def make(code: int, rows: np.ndarray) -> tuple[PairBatch, np.ndarray]:
        if support is None:
            placed = place_at(CATALOGUE[code], bases, row[rows], origin[rows], WINDOW, rng)
        else:
            placed = _place_on(bases, row[rows], origin[rows], support[rows], rng)
        return draft_on(code, bases, placed, WINDOW, rng)

    return draw_visible(len(row), choose, make, rounds=1)


def _weights(
    bases: Bases,
    row: np.ndarray,
    origin: np.ndarray,
    family: str,
    support: np.ndarray | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """How likely each operation is in each window (windows, operations), up to a factor."""
    weight = np.zeros((len(row), len(CATALOGUE)))
    for code, operation in enumerate(CATALOGUE):
        if operation.family != family:
            continue
        weight[:, code] = operation.weight * fits(operation, bases, row, origin, WINDOW)
        if support is not None:
            anywhere = operation.place is Place.ANYWHERE
            lengths = operation.lengths(rng, np.repeat(bases.timescale[row], LENGTHS))
            share = _usual(lengths.reshape(len(row), LENGTHS), support)
            weight[:, code] *= anywhere * (share + UNUSUAL)
    return weight


def _usual(lengths: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Share of lengths (windows, n) near that of the main event; past an edge all longer ones."""
    start, length = _events_of(support)
    main, window = length[:, :1], support.shape[1]
    cut = (start[:, :1] == 0) | (start[:, :1] + main == window)
    near = (lengths * NEAR_LENGTH >= main) & (cut | (lengths <= main * NEAR_LENGTH))
    return np.asarray(near.mean(axis=1))


def _events_of(support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and lengths (windows, 3) of the runs of each support, the longest first; -1 is none.

    Only the three longest count: no pair has more events.
    """
    start = np.full((len(support), MOST_EVENTS), -1)
    length = np.ones((len(support), MOST_EVENTS), dtype=np.int64)
    for number, each in enumerate(support):
        first, end = runs(each).T
        steps = end - first
        order = np.argsort(-steps, kind="stable")[:MOST_EVENTS]
        start[number, : len(order)], length[number, : len(order)] = first[order], steps[order]
    return start, length


def _place_on(
    bases: Bases,
    row: np.ndarray,
    origin: np.ndarray,
    support: np.ndarray,
    rng: np.random.Generator,
) -> Placed:
    """Events on the runs of each support; one that touches an edge goes on past it."""
    window = support.shape[1]
    start, length = _events_of(support)
    stop = start + length
    beyond = rng.integers(0, window // 4, (2, *start.shape))
    begin = origin[:, None] + start - np.where(start == 0, beyond[0], 0)
    end = origin[:, None] + stop + np.where(stop == window, beyond[1], 0)
    begin, end = np.maximum(begin, 1), np.minimum(end, bases.length - 1)
    there = (start >= 0) & (end > begin)
    return Placed(row, origin, np.where(there, begin, -1), np.where(there, end - begin, 1))
