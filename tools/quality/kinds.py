"""How often the kind of an event is right, of simulated events kept from the counterparts."""

from collections.abc import Callable

import numpy as np

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.events import EventConfig, event_kind
from caps.neighbours import normal_counterpart
from caps.realize import Pretrained
from caps.series import Scaler
from caps.simulate import FAMILIES, simulate_pairs

LENGTH = 2048  # of a series; the event lies in its last quarter
LEARNED = 1536  # rows before, which counterparts are looked up in
SEED = 20_261_116
EVENTS, QUICK_EVENTS = 300, 60
WANTED = 0.75

Event = tuple[np.ndarray, int, int, str]  # values, start, end, family
Rough = Callable[[int, int, np.random.Generator], tuple[int, int]]

ROWS: dict[str, Rough] = {
    "exact": lambda start, end, rng: (start, end),
    "ends off by up to 10": lambda start, end, rng: _moved(start, end, rng),
    "16 too many on both sides": lambda start, end, rng: (start - 16, end + 16),
}


def kinds(run: StudyRun) -> Report:
    """Shares right, of events with exact rows, with ends that are off, and far too wide."""
    events = placed_events(QUICK_EVENTS if run.quick else EVENTS, SEED)
    rows: list[list[Entry]] = []
    worst = 1.0
    for name, rough in ROWS.items():
        run.say(name)
        shares = _measure(run.pretrained, events, rough)
        worst = min(worst, shares[2])
        rows.append([name, *(f"{share:.0%}" for share in shares)])
    table = Table(
        "kinds",
        "Kinds of simulated events",
        ["rows of the event", "best is right", "named", "named is right", *FAMILIES],
        rows,
        [f"{len(events)} events, seed {SEED}."],
    )
    return Report(
        "Kinds of events",
        [
            "The last columns are the share right among the named of a family. Events are given "
            "with rows that are not quite right because a detector finds them like that."
        ],
        [table],
        wanted=f"named kinds are right for {WANTED:.0%}; at the worst they are for {worst:.0%}",
        passed=worst >= WANTED,
    )


def _moved(start: int, end: int, rng: np.random.Generator) -> tuple[int, int]:
    first, last = rng.integers(-10, 11, 2)
    middle = (start + end) // 2
    return min(start + int(first), middle), max(end + int(last), middle + 1)


def placed_events(count: int, seed: int) -> list[Event]:
    """`count` single events of balanced families in the last quarter of their series."""
    found: list[Event] = []
    for block in range(100):
        pairs = simulate_pairs(768, seed=seed + block, length=LENGTH)
        for row in np.flatnonzero(pairs.parameter("events") == 1):
            rows = np.flatnonzero(pairs.support[row])
            family = FAMILIES[pairs.family[row]]
            full = sum(event[3] == family for event in found) >= -(-count // len(FAMILIES))
            if full or rows[0] < LEARNED:
                continue
            values = pairs.anomalous[row].astype(np.float64)
            found.append((values, int(rows[0]), int(rows[-1]) + 1, family))
            if len(found) == count:
                return found
    return found


def _associations(weights: Pretrained, event: Event, start: int, end: int) -> dict[str, float]:
    """What the router says of rows [start, end), as an explanation asks it."""
    values = event[0][:, None]
    scaled = Scaler.fit(values[:LEARNED]).transform(values)[:, 0]
    start, end = max(0, start), min(LENGTH, end)
    expected = normal_counterpart(scaled, start, end, scaled[:LEARNED])
    return event_kind(weights.kind_router, scaled, start, end, expected, EventConfig())


def _measure(weights: Pretrained, events: list[Event], rough: Rough) -> list[float]:
    """Share right, share named, share right of those named; then of those named, by family."""
    rng = np.random.default_rng(SEED)
    found = [_associations(weights, event, *rough(event[1], event[2], rng)) for event in events]
    best = [next(iter(each.items())) for each in found]
    family = np.array([event[3] for event in events])
    right = np.array([name for name, _ in best]) == family
    named = np.array([share >= EventConfig().certain for _, share in best])
    of_named = [right[named & (family == name)].mean() for name in FAMILIES]
    return [float(share) for share in (right.mean(), named.mean(), right[named].mean(), *of_named)]
