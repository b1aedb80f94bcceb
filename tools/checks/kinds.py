"""How often is the kind of an event right? Simulated events on parts kept from the counterparts.

PYTHONPATH=tools python tools/checks/kinds.py docs/detect.md

Events are given with exact rows, with ends that are off by up to ten rows, and far too wide: a
detector finds them like that.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sections import Rows, markdown, rewrite

from caps.events.config import EventConfig
from caps.events.kinds import event_kind, load_weights
from caps.neighbours.counterpart import normal_counterpart
from caps.realize import Pretrained
from caps.series import Scaler
from caps.simulate import FAMILIES, simulate_pairs

LENGTH = 2048  # of a series; the event lies in its last quarter
LEARNED = 1536  # rows before, which counterparts are looked up in
SEED = 20_261_116
WANTED = 0.75

Event = tuple[np.ndarray, int, int, str]  # values, start, end, family
Rough = Callable[[int, int, np.random.Generator], tuple[int, int]]

ROWS: dict[str, Rough] = {
    "exact": lambda start, end, rng: (start, end),
    "ends off by up to 10": lambda start, end, rng: _moved(start, end, rng),
    "16 too many on both sides": lambda start, end, rng: (start - 16, end + 16),
}


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


def associations(weights: Pretrained, event: Event, start: int, end: int) -> dict[str, float]:
    """What the router says of rows [start, end), as an explanation asks it."""
    values = event[0][:, None]
    scaled = Scaler.fit(values[:LEARNED]).transform(values)[:, 0]
    start, end = max(0, start), min(LENGTH, end)
    expected = normal_counterpart(scaled, start, end, scaled[:LEARNED])
    return event_kind(weights, scaled, start, end, expected, EventConfig())


def measure(weights: Pretrained, events: list[Event], rough: Rough, seed: int) -> list[float]:
    """Share right, share named, share right of those named; then of those named, by family."""
    rng = np.random.default_rng(seed)
    told = [associations(weights, event, *rough(event[1], event[2], rng)) for event in events]
    best = [next(iter(each.items())) for each in told]
    family = np.array([event[3] for event in events])
    right = np.array([name for name, _ in best]) == family
    named = np.array([share >= EventConfig().certain for _, share in best])
    of_named = [right[named & (family == name)].mean() for name in FAMILIES]
    return [right.mean(), named.mean(), right[named].mean(), *of_named]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path, nargs="?", help="page to write the table into")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--pretrained", type=Path, help="other weights than the shipped ones")
    arguments = parser.parse_args()
    weights = load_weights(arguments.pretrained)
    events = placed_events(arguments.events, arguments.seed)
    rows: Rows = []
    worst = 1.0
    for name, rough in ROWS.items():
        shares = measure(weights, events, rough, arguments.seed)
        worst = min(worst, shares[2])
        rows.append((name, *(f"{share:.0%}" for share in shares)))
        print(*rows[-1], flush=True)
    header = ("rows of the event", "best is right", "named", "named is right", *FAMILIES)
    text = f"{markdown(header, rows)}\n{len(events)} events, seed {arguments.seed}.\n"
    print(text)
    if arguments.document is not None:
        rewrite(arguments.document, "kinds", text)
    return int(worst < WANTED)


if __name__ == "__main__":
    raise SystemExit(main())
