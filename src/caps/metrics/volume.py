"""VUS-PR and VUS-ROC: range-aware areas under the curve, averaged over label widths.

For a width `w` every event fades out over `w // 2` points on both sides: a point at distance `d`
has the soft label `sqrt(1 - d / w)`. A soft label is at least `sqrt(1/2)`, so wherever two events
fade into each other the sum is clipped to 1. The nearest two distances of each point near an event
are therefore all that is needed, and points far from every event are only counted.
"""

import math
from dataclasses import dataclass

import numpy as np

from caps.metrics.scored import Events, Floats, Integers, Scored

THRESHOLDS = 250  # evenly spaced ranks of the descending scores, as TSB-AD


@dataclass(frozen=True, slots=True)
class Volume:
    """The two areas; NaN where undefined."""

    pr: float
    roc: float


def volume_under_surface(scored: Scored, window: int) -> Volume:
    """Mean over the widths 0..`window` of the range-aware areas."""
    if not len(scored.events):
        return Volume(math.nan, math.nan)
    size = len(scored)
    ranks = np.linspace(0, size - 1, THRESHOLDS).astype(np.int64)
    thresholds = scored.ascending[size - 1 - ranks]
    predicted = size - np.searchsorted(scored.ascending, thresholds, side="left")
    anomalous = len(scored.positives)
    hits = anomalous - np.searchsorted(scored.positives, thresholds, side="left")
    near = _near_events(scored, window // 2)
    # The first threshold at which a point is predicted; far from events nobody asks.
    entry = np.full(size, THRESHOLDS)
    entry[near] -= np.searchsorted(thresholds[::-1], scored.scores[near], side="right")

    faded = _faded_hits(scored, entry, near[~scored.labels[near]], window)
    found = _found_segments(scored.events, entry, window // 2)[np.arange(window + 1) // 2]
    true_positives = hits + faded
    positives = anomalous + faded / 2
    recall = np.minimum(true_positives / positives, 1) * found
    steps = np.diff(recall, axis=1, prepend=0)
    pr = float(np.mean(np.sum(steps * (true_positives / predicted), axis=1)))
    if anomalous == size:
        return Volume(pr, math.nan)
    false_rate = (predicted - true_positives) / (size - positives)
    # From (0, 0) through the points to (1, 1).
    across, up = (
        np.pad(rates, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
        for rates in (false_rate, recall)
    )
    return Volume(pr, float(np.mean(np.trapezoid(up, across, axis=1))))


def _near_events(scored: Scored, half: int) -> Integers:
    """Return the points in events or within `half` of one."""
    events, size = scored.events, len(scored)
    change = np.zeros(size + 1, dtype=np.int32)
    np.add.at(change, np.maximum(events.starts - half, 0), 1)
    np.add.at(change, np.minimum(events.ends + half, size), -1)
    return np.flatnonzero(np.cumsum(change[:-1]))


def _faded_hits(scored: Scored, entry: Integers, points: Integers, window: int) -> Floats:
    """Sum the soft labels of predicted `points` outside events, by width and threshold."""
    half = window // 2
    nearest, second = _two_distances(scored.events, points, len(scored) + window)
    entries = entry[points]
    alone = _counts(nearest, entries, half)
    shared = np.zeros(THRESHOLDS)
    by_second = np.argsort(second, kind="stable")
    bounds = np.searchsorted(second[by_second], np.arange(half + 2))
    faded = np.zeros((window + 1, THRESHOLDS))
    for reach in range(1, half + 1):
        # Points that a second event reaches from this width on have the label 1 for good.
        joined = by_second[bounds[reach] : bounds[reach + 1]]
        if len(joined):
            moved = _counts(nearest[joined], entries[joined], half)
            alone -= moved
            shared += moved.sum(axis=0)
        distances = np.arange(1, reach + 1)
        for width in range(2 * reach, min(2 * reach + 1, window) + 1):
            faded[width] = np.sqrt(1 - distances / width) @ alone[1 : reach + 1] + shared
    return faded


def _counts(distances: Integers, entries: Integers, half: int) -> Floats:
    """Count the points at each distance that are predicted at each threshold."""
    table = np.bincount(distances * THRESHOLDS + entries, minlength=(half + 1) * THRESHOLDS)
    return table.reshape(half + 1, THRESHOLDS).cumsum(axis=1).astype(np.float64)


def _two_distances(events: Events, points: Integers, absent: int) -> tuple[Integers, Integers]:
    """Return the distances from each point to its two nearest events, `absent` or more if none."""
    lasts = np.concatenate([[-absent, -absent], events.ends - 1])
    starts = np.concatenate([events.starts, [2 * absent, 2 * absent]])
    following = np.searchsorted(events.starts, points)
    distances = np.stack(
        [
            points - lasts[following + 1],
            points - lasts[following],
            starts[following] - points,
            starts[following + 1] - points,
        ]
    )
    distances.sort(axis=0)
    return distances[0], distances[1]


def _found_segments(events: Events, entry: Integers, half: int) -> Floats:
    """Share of widened and merged events that hold a prediction, for each reach and threshold."""
    lasts = events.ends - 1
    between = events.starts[1:] - lasts[:-1]
    spans = np.stack([events.starts, events.ends], axis=1).ravel()
    # `reduceat` takes the even slices as events; a last event at the end has no closing index.
    earliest = np.minimum.reduceat(np.append(entry, THRESHOLDS), spans)[::2]
    found = np.empty((half + 1, THRESHOLDS))
    for reach in range(half + 1):
        left = entry[np.maximum(events.starts - reach, 0)]
        right = entry[np.minimum(lasts + reach, len(entry) - 1)]
        earliest = np.minimum(earliest, np.minimum(left, right))
        leaders = np.flatnonzero(np.concatenate([[True], between > 2 * reach]))
        segments = np.minimum.reduceat(earliest, leaders)
        found[reach] = np.bincount(segments, minlength=THRESHOLDS).cumsum() / len(leaders)
    return found
