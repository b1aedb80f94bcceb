"""Affiliation precision and recall (Huet et al., 2022) at every threshold of a sweep.

Point `i` is the interval `[i, i + 1)`. Every event owns the zone of time nearer to it than to any
other event. Precision and recall of a zone are mean probabilities that a uniformly random point of
the zone lies farther away than the prediction does. Both are integrals over intervals, so:

- precision is a ratio of two sums over predicted cells, counted by level;
- recall loses a closed-form amount for each gap between predictions that overlaps the event, and a
  gap lives from the threshold where its best point vanishes to that where a neighbour vanishes.
"""

import math
from dataclasses import dataclass

import numpy as np

from caps.metrics.scored import (
    Events,
    FirstAbove,
    Flags,
    Floats,
    Integers,
    row_blocks,
    totals_above,
)

# Both published implementations add this to the denominator of F.
_F_EPSILON = 1e-15


@dataclass(frozen=True, slots=True)
class Zones:
    """Each event with the borders of its zone; borders may fall on half points."""

    starts: Integers
    ends: Integers
    left: Floats
    right: Floats

    @classmethod
    def of(cls, events: Events, size: int) -> "Zones":
        borders = (events.ends[:-1] + events.starts[1:]) / 2
        left = np.concatenate([[0.0], borders])
        right = np.concatenate([borders, [float(size)]])
        return cls(events.starts, events.ends, left, right)

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Cells:
    """Points cut at zone borders: cell `[low, high)` of point `point` lies in zone `zone`."""

    point: Integers
    zone: Integers
    low: Floats
    high: Floats

    @classmethod
    def of(cls, zones: Zones, size: int) -> "Cells":
        borders = zones.right[:-1]
        cut = borders[borders % 1 != 0].astype(np.int64)
        point = np.insert(np.arange(size), cut + 1, cut)
        low = point.astype(np.float64)
        high = low + 1
        second_half = cut + 1 + np.arange(len(cut))
        low[second_half] += 0.5
        high[second_half - 1] -= 0.5
        sizes = np.diff(np.searchsorted(low, borders), prepend=0, append=len(low))
        return cls(point, np.repeat(np.arange(len(zones)), sizes), low, high)


def affiliation_sweep(levels: Integers, count: int, events: Events) -> tuple[Floats, Floats]:
    """Return precision (NaN without predictions) and recall at each of `count` thresholds."""
    size = len(levels)
    zones = Zones.of(events, size)
    cells = Cells.of(zones, size)
    cell_levels = levels[cells.point]
    return _precision(zones, cells, cell_levels, count), _recall(zones, cells, cell_levels, count)


def affiliation_f(precision: Floats, recall: Floats) -> Floats:
    """Harmonic mean; NaN where precision is."""
    return 2 * precision * recall / (precision + recall + _F_EPSILON)


def best_affiliation_f(
    levels: Integers, count: int, events: Events, *, empty_scores: float
) -> float:
    """Best F over the thresholds; one without any prediction scores `empty_scores`."""
    if not len(events):
        return math.nan
    f = affiliation_f(*affiliation_sweep(levels, count, events))
    predicted = ~np.isnan(f)
    return float(f[predicted].max()) if predicted.any() else empty_scores


def _precision(zones: Zones, cells: Cells, levels: Integers, count: int) -> Floats:
    widths = zones.right - zones.left
    lengths = cells.high - cells.low
    gains = widths[cells.zone] * lengths - _distance_loss(zones, cells)
    total, zones_hit = np.zeros(count), np.zeros(count)
    for first, last in row_blocks(len(zones), count):
        block = slice(*np.searchsorted(cells.zone, [first, last]))
        rows, row_count = cells.zone[block] - first, last - first
        gained = totals_above(levels[block], count, rows, row_count, gains[block])
        covered = totals_above(levels[block], count, rows, row_count, lengths[block])
        hit = covered > 0
        ratio = np.divide(gained, covered, out=np.zeros_like(gained), where=hit)
        total += np.sum(ratio / widths[first:last, None], axis=0)
        zones_hit += hit.sum(axis=0)
    precision = np.full(count, math.nan)
    np.divide(total, zones_hit, out=precision, where=zones_hit > 0)
    return precision


def _distance_loss(zones: Zones, cells: Cells) -> Floats:
    """Integral over each cell of the measure of the zone at least as near to the event."""
    starts, ends = zones.starts[cells.zone], zones.ends[cells.zone]
    far = np.maximum(starts - cells.low, cells.high - ends)
    near = np.maximum(starts - cells.high, cells.low - ends)
    margin = np.minimum(zones.starts - zones.left, zones.right - zones.ends)[cells.zone]
    # Every term is a multiple of 1/8, so these sums are exact in float64.
    loss = _two_sided(far, margin) - _two_sided(near, margin) + (ends - starts) * (far - near)
    return np.where(near < 0, 0.0, loss)


def _two_sided(distance: Floats, margin: Floats) -> Floats:
    """Integral from 0 to `distance` of x + min(x, margin): the zone's points within x."""
    short = np.minimum(distance, margin)
    return distance**2 / 2 + short**2 / 2 + margin * (distance - short)


def _recall(zones: Zones, cells: Cells, levels: Integers, count: int) -> Floats:
    gap = _gaps(*_facing_cells(zones, cells, levels, count), count)
    lost = _gap_loss(zones, gap)
    change = np.bincount(gap.born, lost, minlength=count + 1)
    change -= np.bincount(gap.gone, lost, minlength=count + 1)
    return 1 - change[:count].cumsum() / len(zones)


def _facing_cells(
    zones: Zones, cells: Cells, levels: Integers, count: int
) -> tuple[Integers, Integers, Integers]:
    """Return zone, point and level of the cells that can be nearest to some part of an event.

    These are the event's own cells and, outward on both sides, those above all nearer ones. A cell
    above every level stands for the end of each zone.
    """
    offset = cells.zone * (count + 1)
    before = cells.low < zones.starts[cells.zone]
    after = cells.high > zones.ends[cells.zone]
    kept = ~(before | after)
    kept[after] = _rises(levels[after] + offset[after])
    kept[before] = _rises((levels[before] + offset[-1] - offset[before])[::-1])[::-1]
    kept &= (levels > 0) | ~(before | after)
    zone, point, level = cells.zone[kept], cells.point[kept], levels[kept]
    ends = np.append(np.searchsorted(zone, np.arange(len(zones))), len(zone))
    return (
        np.insert(zone, ends, -1),
        np.insert(point, ends, -1),
        np.insert(level, ends, count + 1),
    )


def _rises(values: Integers) -> Flags:
    """Mark the values above all earlier ones."""
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    highest = np.maximum.accumulate(values)
    return np.concatenate([[True], values[1:] > highest[:-1]])


@dataclass(frozen=True, slots=True)
class Gaps:
    """Times `(left, right)` between predictions, present at thresholds `born <= t < gone`."""

    zone: Integers
    left: Floats  # -inf: no prediction on the left
    right: Floats  # inf: no prediction on the right
    born: Integers
    gone: Integers


def _gaps(zone: Integers, point: Integers, level: Integers, count: int) -> Gaps:
    """Return every gap that exists at some threshold, each once, found from its highest cell."""
    last = len(level) - 1
    cell = np.flatnonzero(level < count)
    right = FirstAbove(level)(cell + 1, level[cell])
    left = last - FirstAbove(level[::-1])(last - cell + 1, level[cell] - 1)
    # Of several cells at the highest level, the leftmost stands for the gap.
    single = level[left] > level[cell]
    cell, left, right = cell[single], left[single], right[single]
    return Gaps(
        zone[cell],
        np.where(zone[left] < 0, -math.inf, point[left] + 1.0),
        np.where(zone[right] < 0, math.inf, point[right]),
        level[cell],
        np.minimum(np.minimum(level[left], level[right]), count),
    )


def _gap_loss(zones: Zones, gap: Gaps) -> Floats:
    """Recall of its event that each gap costs."""
    start = zones.starts[gap.zone].astype(np.float64)
    end = zones.ends[gap.zone].astype(np.float64)
    low, high = zones.left[gap.zone], zones.right[gap.zone]
    no_left, no_right = np.isinf(gap.left), np.isinf(gap.right)
    left = np.where(no_left, low, gap.left)
    right = np.where(no_right, high, gap.right)
    middle = np.where(no_left, left, np.where(no_right, right, (left + right) / 2))
    lost = _one_sided(np.clip(end, left, middle) - left, high - left)
    lost -= _one_sided(np.clip(start, left, middle) - left, high - left)
    lost += _one_sided(right - np.clip(start, middle, right), right - low)
    lost -= _one_sided(right - np.clip(end, middle, right), right - low)
    lost /= (high - low) * (end - start)
    return np.where(no_left & no_right, 1.0, lost)


def _one_sided(distance: Floats, room: Floats) -> Floats:
    """Integral from 0 to `distance` of x + min(x, room - x): the zone's points within x of one."""
    beyond: Floats = np.maximum(distance - room / 2, 0)
    return distance**2 - beyond**2
