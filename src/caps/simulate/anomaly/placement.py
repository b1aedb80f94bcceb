"""Where events and windows lie: inside, cut at either end, covering everything, one or several."""

from dataclasses import dataclass

import numpy as np

from caps.simulate.anomaly.operation import Bases, Operation, Place, short_features

# Inside the window, starting before it, ending after it, covering all of it.
CROPS = (0.75, 0.08, 0.12, 0.05)
# One, two or three events in a window.
EVENT_COUNTS = (0.75, 0.2, 0.05)
MOST_EVENTS = len(EVENT_COUNTS)
GAP = 4
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """Windows and their events on rows of the bases; a start of -1 means no further event."""

    row: np.ndarray  # (windows,)
    origin: np.ndarray  # (windows,) first step of the window in the long series
    start: np.ndarray  # (windows, 3) first step of each event in the long series
    length: np.ndarray  # (windows, 3)


def place(
    operation: Operation, bases: Bases, row: np.ndarray, window: int, rng: np.random.Generator
) -> Placed:
    """Draw windows on `row` and the events of `operation` in them."""
    anchor, first = _first(operation, bases, row, rng)
    relative, first = _crop(operation, first, window, rng)
    if anchor is None:
        origin = _origins(bases, relative, first, window, rng)
    else:
        origin = np.clip(anchor - relative, 0, bases.length - window)
        relative = anchor - origin
    return _placed(operation, bases, row, origin, relative, first, window, rng)


def place_at(
    operation: Operation,
    bases: Bases,
    row: np.ndarray,
    origin: np.ndarray,
    window: int,
    rng: np.random.Generator,
) -> Placed:
    """Draw the events of `operation` in windows that begin at `origin` of `row`.

    What an operation needs in the window must be there: see `fits`.
    """
    anchor, first = _first(operation, bases, row, rng, (origin, origin + window))
    relative, cropped = _crop(operation, first, window, rng)
    if anchor is not None:
        relative, cropped = anchor - origin, first
    return _placed(operation, bases, row, origin, relative, cropped, window, rng)


def fits(
    operation: Operation, bases: Bases, row: np.ndarray, origin: np.ndarray, window: int
) -> np.ndarray:
    """Whether the operation can happen in windows that begin at `origin` of `row`."""
    suited = operation.suits(bases)[row] > 0
    usable = _usable(operation, bases, row, (origin, origin + window))
    return np.asarray(suited if usable is None else suited & usable.any(axis=1))


def _placed(
    operation: Operation,
    bases: Bases,
    row: np.ndarray,
    origin: np.ndarray,
    relative: np.ndarray,
    first: np.ndarray,
    window: int,
    rng: np.random.Generator,
) -> Placed:
    """The main event of `first` steps from `relative` of each window on, and further ones."""
    start = np.full((len(row), MOST_EVENTS), -1)
    length = np.ones((len(row), MOST_EVENTS), dtype=np.int64)
    begin = np.maximum(origin + relative, 1)
    start[:, 0] = begin
    length[:, 0] = np.minimum(origin + relative + first, bases.length - 1) - begin
    placed = Placed(row, origin, start, length)
    if operation.place is Place.ANYWHERE:
        _add_events(operation, bases, placed, window, rng)
    return placed


def _usable(
    operation: Operation,
    bases: Bases,
    row: np.ndarray,
    within: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray | None:
    """Which features or midnights (rows, n) may be changed, those seen `within` if it is given.

    None of an operation that needs neither.
    """
    if operation.place is Place.DAY:
        midnight = np.diff(bases.parts.phase[row].astype(np.int64), axis=1) > 0
        time = np.arange(1, bases.length)
        if within is None:
            return np.asarray(midnight)
        return np.asarray(midnight & (time >= within[0][:, None]) & (time < within[1][:, None]))
    if operation.place not in (Place.FEATURE, Place.CYCLE):
        return None
    known = bases.parts.features[row]
    short = operation.place is Place.FEATURE
    usable = short_features(known) if short else known[:, :, 0] > 0
    if within is None:
        return np.asarray(usable)
    seen = (known[:, :, 1] > within[0][:, None]) & (known[:, :, 0] < within[1][:, None])
    return np.asarray(usable & seen)


def _first(
    operation: Operation,
    bases: Bases,
    row: np.ndarray,
    rng: np.random.Generator,
    within: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray | None, np.ndarray]:
    """Start (where the operation fixes it) and length of the main event."""
    timescale = bases.timescale[row]
    length = operation.lengths(rng, timescale)
    usable = _usable(operation, bases, row, within)
    if usable is None:
        return None, length
    if operation.place in (Place.FEATURE, Place.CYCLE):
        known = bases.parts.features[row]
        short = operation.place is Place.FEATURE
        drawn = (usable * rng.uniform(0.1, 1.0, usable.shape)).argmax(axis=1)
        spans = known[np.arange(len(row)), drawn]
        if short:
            return spans[:, 0], np.maximum(spans[:, 1] - spans[:, 0], 1)
        whole = np.round(timescale).astype(np.int64)
        middle = spans.sum(axis=1) // 2
        return np.clip(middle - whole // 2, 1, bases.length - whole - 1), whole
    start = (usable * rng.random(usable.shape)).argmax(axis=1) + 1
    return start, np.round(length * timescale).astype(np.int64)


def _crop(
    operation: Operation, length: np.ndarray, window: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Start relative to the window and length of the main event."""
    size = len(length)
    if operation.place is Place.TO_THE_END:
        return window - length, length + rng.integers(0, window // 4, size)
    kind = rng.choice(4, size, p=CROPS)
    inside = np.floor(rng.random(size) * np.maximum(window - length + 1, 1))
    early = -np.round(rng.uniform(0.1, 0.7, size) * length)
    late = window - np.maximum(np.round(rng.uniform(0.3, 0.9, size) * length), 1)
    # One or two steps cannot be cut, and an event longer than the window cannot lie inside.
    kind = np.where(length < 3, 0, kind)
    kind = np.where((length > window) & (kind == 0), 2, kind)
    relative = np.select([kind == 1, kind == 2], [early, late], inside)
    if operation.covers:
        before = rng.integers(0, window // 4, size)
        after = rng.integers(0, window // 4, size)
        relative = np.where(kind == 3, -before, relative)
        length = np.where(kind == 3, before + window + after, length)
    return relative.astype(np.int64), length


def _origins(
    bases: Bases, relative: np.ndarray, length: np.ndarray, window: int, rng: np.random.Generator
) -> np.ndarray:
    """First steps of windows such that window and event lie inside the long series."""
    low = np.maximum(0, 1 - relative)
    high = np.minimum(bases.length - window, bases.length - 1 - relative - length)
    return np.asarray(
        low + np.floor(rng.random(len(low)) * np.maximum(high - low + 1, 1)).astype(np.int64)
    )


def _add_events(
    operation: Operation, bases: Bases, placed: Placed, window: int, rng: np.random.Generator
) -> None:
    """Fill the second and third event where one is drawn and room is found for it."""
    start, length = placed.start, placed.length
    count = rng.choice(MOST_EVENTS, len(start), p=EVENT_COUNTS)
    for nth in range(1, MOST_EVENTS):
        for _ in range(ATTEMPTS):
            wanted = np.flatnonzero((count >= nth) & (start[:, nth] < 0))
            if len(wanted) == 0:
                break
            drawn = operation.lengths(rng, bases.timescale[placed.row[wanted]])
            room = window - drawn + 1
            begin = np.maximum(placed.origin[wanted] + np.floor(rng.random(len(wanted)) * room), 1)
            apart = np.ones(len(wanted), dtype=bool)
            for other in range(nth):
                used = start[wanted, other] >= 0
                left, right = start[wanted, other], start[wanted, other] + length[wanted, other]
                apart &= ~used | (begin >= right + GAP) | (begin + drawn + GAP <= left)
            apart &= room > 0
            start[wanted[apart], nth] = begin[apart]
            length[wanted[apart], nth] = drawn[apart]
