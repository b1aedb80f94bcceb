"""How well events are cut to their rows: simulated ones, given with rows too many on both sides."""

import numpy as np

from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.events import EventConfig
from caps.events.extent import deviating, excess
from caps.neighbours import counterpart_of
from caps.series import Scaler
from tools.quality.kinds import LEARNED, LENGTH, Event, placed_events

SEED = 20_261_117  # not that of the kinds
EVENTS, QUICK_EVENTS = 300, 30
WIDER = (0, 8, 32, 128)  # rows too many on either side


def extents(run: StudyRun) -> Report:
    """Overlap with the true rows before and after the cut."""
    events = placed_events(QUICK_EVENTS if run.quick else EVENTS, SEED)
    rows: list[list[Entry]] = []
    for wider in WIDER:
        run.say(f"{wider} rows too many")
        cuts = [_cut(event, wider) for event in events]
        before = [_overlap(*cut[:2], event)[0] for cut, event in zip(cuts, events, strict=True)]
        after = np.array(
            [_overlap(*cut[2:], event) for cut, event in zip(cuts, events, strict=True)]
        )
        shares = (np.mean(before), *after.mean(axis=0), (after[:, 1] > 0).mean())
        rows.append([str(wider), *(figure(float(share)) for share in shares)])
    table = Table(
        "extents",
        "Overlap of events with their true rows",
        ["rows too many on both sides", "overlap before", "after", "event kept", "touched"],
        rows,
        [
            "Overlap: rows in common over all rows of both. Kept: over the rows of the event. "
            f"Touched: events of which any row is left. {len(events)} events, seed {SEED}."
        ],
    )
    return Report(
        "Extents of events",
        [f"Simulated events in series of {LENGTH:,} rows, {LEARNED:,} of them learned from."],
        [table],
    )


def _cut(event: Event, wider: int) -> tuple[int, int, int, int]:
    """The rows given, and those left."""
    values, start, end, _ = event
    scaled = Scaler.fit(values[:LEARNED, None]).transform(values[:, None])[:, 0]
    first, last = max(0, start - wider), min(LENGTH, end + wider)
    counterpart, config = counterpart_of(scaled, first, last, scaled[:LEARNED]), EventConfig()
    found = excess(scaled[first:last], counterpart, config)
    rows = None if found is None else deviating([found], config)
    return first, last, *((first, last) if rows is None else (first + rows[0], first + rows[1]))


def _overlap(start: int, end: int, event: Event) -> tuple[float, float]:
    """Rows in common over all rows, and over those of the event."""
    common = max(0, min(end, event[2]) - max(start, event[1]))
    true = event[2] - event[1]
    return common / (end - start + true - common), common / true
