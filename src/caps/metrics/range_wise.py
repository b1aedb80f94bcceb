"""F1_T: range-wise precision and recall at every threshold of a sweep.

This is the metric of Tatbul et al. (2018) with the choices of Wagner et al. (2023): no existence
reward, flat bias, the recall-consistent factor `((L - 1) / L) ** (c - 1)` for a run of length `L`
that meets `c` runs of the other side, and predicted runs weighted by their length. A run that meets
one event has the factor 1, so only predicted runs that join several events need to be looked at.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from caps.metrics.scored import Events, FirstAbove, Floats, Integers, row_blocks, totals_above

_PAIRS = 500_000  # (joining run, threshold) pairs looked at together


@dataclass(frozen=True, slots=True)
class RangeSweep:
    """Recall and the two precisions at each threshold."""

    recall: Floats
    precision: Floats  # as published: false runs behind the first after the last event are free
    precision_fixed: Floats  # every predicted run counts


@dataclass(frozen=True, slots=True)
class RangeF1:
    """Best F over the thresholds, as published and corrected; NaN where undefined."""

    published: float
    fixed: float


def range_sweep(levels: Integers, count: int, events: Events) -> RangeSweep:
    """Return recall and precision at each of `count` thresholds."""
    predicted = _predicted(levels, count)
    recall, hits = _recall(levels, count, events)
    credit = hits - _joining_penalty(levels, events, count)
    charged = _charged_points(levels, count, events)
    some = predicted > 0
    return RangeSweep(
        recall,
        np.divide(credit, charged, out=np.zeros(count), where=some),
        np.divide(credit, predicted, out=np.zeros(count), where=some),
    )


def harmonic(precision: Floats, recall: Floats) -> Floats:
    """F1 with 0 where both are 0."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total > 0)


def best_range_f1(levels: Integers, count: int, events: Events) -> RangeF1:
    """Best published and corrected F1_T over the thresholds."""
    if not len(events):
        return RangeF1(math.nan, math.nan)
    sweep = range_sweep(levels, count, events)
    return RangeF1(
        float(harmonic(sweep.precision, sweep.recall).max()),
        float(harmonic(sweep.precision_fixed, sweep.recall).max()),
    )


def _recall(levels: Integers, count: int, events: Events) -> tuple[Floats, Floats]:
    """Return recall and the number of anomalous points predicted, at each threshold."""
    total, hits = np.zeros(count), np.zeros(count)
    for first, last in row_blocks(len(events), count):
        lengths = events.lengths[first:last]
        rows = np.repeat(np.arange(last - first), lengths)
        heads = np.cumsum(lengths) - lengths
        inside = np.arange(len(rows)) + (events.starts[first:last] - heads)[rows]
        level, previous = levels[inside], levels[inside - 1]
        previous[heads] = 0  # a run that comes in from outside starts here
        found = totals_above(level, count, rows, last - first)
        # A run starts where a point is predicted and the one before is not.
        runs = found - totals_above(np.minimum(level, previous), count, rows, last - first)
        length = lengths[:, None].astype(np.float64)
        total += np.sum(found / length * _cardinality(runs, length), axis=0)
        hits += found.sum(axis=0)
    return total / len(events), hits


def _cardinality(runs: Floats, length: Floats) -> Floats:
    return np.asarray(((length - 1) / length) ** np.maximum(runs - 1, 0), dtype=np.float64)


def _joining_penalty(levels: Integers, events: Events, count: int) -> Floats:
    """Points of credit lost, at each threshold, by predicted runs that meet several events."""
    penalty = np.zeros(count)
    if len(events) < 2:
        return penalty
    size, lasts = len(levels), events.ends - 1
    rightward, leftward = FirstAbove(-levels), FirstAbove(-levels[::-1])
    covered = np.concatenate([[0], np.cumsum(events.lengths)])
    for first, last, threshold in _joined_events(levels, events).at_thresholds():
        # The run around the joined events ends at the first points not above the threshold.
        run_end = rightward(events.starts[last], -threshold - 1)
        run_start = size - leftward(size - 1 - lasts[first], -threshold - 1)
        met = covered[last] - covered[first + 1]
        met += events.ends[first] - np.maximum(run_start, events.starts[first])
        met += np.minimum(run_end, events.ends[last]) - events.starts[last]
        length = (run_end - run_start).astype(np.float64)
        kept = _cardinality((last - first + 1).astype(np.float64), length)
        penalty += np.bincount(threshold, met * (1 - kept), minlength=count)
    return penalty


@dataclass(frozen=True, slots=True)
class JoinedEvents:
    """Events `first..last` lie in one predicted run at thresholds `bottom <= t < top`."""

    first: Integers
    last: Integers
    bottom: Integers
    top: Integers

    def at_thresholds(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield first, last and threshold of every pair, in parts of bounded size."""
        height = self.top - self.bottom
        cuts = np.flatnonzero(np.diff(np.cumsum(height) // _PAIRS)) + 1
        for part in np.split(np.arange(len(height)), cuts):
            row = np.repeat(part, height[part])
            heads = np.cumsum(height[part]) - height[part]
            step = np.arange(len(row)) - np.repeat(heads, height[part])
            yield self.first[row], self.last[row], self.bottom[row] + step


def _joined_events(levels: Integers, events: Events) -> JoinedEvents:
    # Lowest level from one event to the next (even links) and inside an event (odd links).
    spans = np.stack([events.ends[:-1] - 1, events.starts[1:] + 1], axis=1).ravel()
    links = np.minimum.reduceat(np.append(levels, 0), spans)[:-1]
    size = len(links)
    lowest = np.flatnonzero(links > 0)
    top = links[lowest]
    right = FirstAbove(-links)(lowest + 1, -top)
    left = size - 1 - FirstAbove(-links[::-1])(size - lowest, -top - 1)
    fenced = np.append(links, 0)  # -1 and `size` both mean no link
    first, last = (left + 2) // 2, (right + 1) // 2
    # Of equally low links the leftmost stands for the run; a run inside one event joins nothing.
    chosen = (fenced[left] < top) & (first < last)
    bottom = np.maximum(fenced[left], fenced[right])
    return JoinedEvents(first[chosen], last[chosen], bottom[chosen], top[chosen])


def _charged_points(levels: Integers, count: int, events: Events) -> Floats:
    """Count the predicted points in the published denominator of precision.

    The published loop over predicted runs stops once the last event is behind it: the first false
    run after the last event still counts, later ones do not.
    """
    end, threshold = int(events.ends[-1]), np.arange(count)
    above, not_above = FirstAbove(levels), FirstAbove(-levels)
    hit_end = not_above(np.full(count, end - 1), -threshold - 1)
    false_start = above(hit_end, threshold)
    false_end = not_above(false_start, -threshold - 1)
    charged = _predicted(levels[:end], count)
    charged += np.maximum(hit_end - end, 0) + (false_end - false_start)
    return charged


def _predicted(levels: Integers, count: int) -> Floats:
    rows = np.zeros(len(levels), dtype=np.int64)
    return np.asarray(totals_above(levels, count, rows, 1)[0], dtype=np.float64)
