"""How well are events cut to their rows? Simulated events, given with rows too many on both sides.

PYTHONPATH=tools python tools/checks/extents.py
"""

import argparse

import numpy as np
from kinds import LEARNED, LENGTH, Event, placed_events

from caps.events.config import EventConfig
from caps.events.extent import deviating, excess
from caps.neighbours.counterpart import counterpart_of
from caps.series import Scaler

SEED = 20_261_117  # not that of the tables in docs/detect.md
WIDER = (0, 8, 32, 128)  # rows too many on either side


def cut(event: Event, wider: int) -> tuple[int, int, int, int]:
    """The rows given, and those left."""
    values, start, end, _ = event
    scaled = Scaler.fit(values[:LEARNED, None]).transform(values[:, None])[:, 0]
    first, last = max(0, start - wider), min(LENGTH, end + wider)
    counterpart, config = counterpart_of(scaled, first, last, scaled[:LEARNED]), EventConfig()
    away = excess(scaled[first:last], counterpart, config)
    rows = None if away is None else deviating([away], config)
    return first, last, *((first, last) if rows is None else (first + rows[0], first + rows[1]))


def overlap(start: int, end: int, event: Event) -> tuple[float, float]:
    """Rows in common over all rows, and over those of the event."""
    common = max(0, min(end, event[2]) - max(start, event[1]))
    true = event[2] - event[1]
    return common / (end - start + true - common), common / true


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    events = placed_events(arguments.events, arguments.seed)
    print(f"{len(events)} events: rows too many, overlap before, after, kept, touched")
    for wider in WIDER:
        cuts = [cut(event, wider) for event in events]
        before = [overlap(*rows[:2], event)[0] for rows, event in zip(cuts, events, strict=True)]
        after = np.array(
            [overlap(*rows[2:], event) for rows, event in zip(cuts, events, strict=True)]
        )
        shares = (np.mean(before), *after.mean(axis=0), (after[:, 1] > 0).mean())
        print(wider, *(f"{share:.2f}" for share in shares), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
