"""Affiliation from its definition: probabilities measured and averaged on quarter points.

All integrands are linear between multiples of 1/4, so the midpoint rule on quarters is exact.
"""

import math
from itertools import pairwise

import numpy as np

from oracles.range_wise import Run, runs_of

STEP = 0.25
Interval = tuple[float, float]


def zones_of(events: list[Run], size: int) -> list[Interval]:
    cuts = [(left[1] + right[0]) / 2 for left, right in pairwise(events)]
    return list(zip([0.0, *cuts], [*cuts, float(size)], strict=True))


def midpoints(interval: Interval) -> list[float]:
    low, high = interval
    return [low + STEP * (k + 0.5) for k in range(round((high - low) / STEP))]


def distance(x: float, interval: Interval) -> float:
    return max(interval[0] - x, x - interval[1], 0.0)


def measure(low: float, high: float, zone: Interval) -> float:
    return max(min(high, zone[1]) - max(low, zone[0]), 0.0)


def farther(event: Interval, reach: float, zone: Interval) -> float:
    """Probability that a uniform point of the zone lies farther from the event than `reach`."""
    return 1 - measure(event[0] - reach, event[1] + reach, zone) / (zone[1] - zone[0])


def zone_precision(predicted: list[Interval], event: Interval, zone: Interval) -> float:
    inside = [x for interval in predicted for x in midpoints(interval)]
    if not inside:
        return math.nan
    return float(
        np.mean(
            [
                1.0 if distance(x, event) == 0 else farther(event, distance(x, event), zone)
                for x in inside
            ]
        )
    )


def zone_recall(predicted: list[Interval], event: Interval, zone: Interval) -> float:
    if not predicted:
        return 0.0
    shares = []
    for y in midpoints(event):
        nearest = min(distance(y, interval) for interval in predicted)
        shares.append(1.0 if nearest == 0 else farther((y, y), nearest, zone))
    return float(np.mean(shares))


def precision_recall(predictions: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    events, runs = runs_of(labels), runs_of(predictions)
    precisions, recalls = [], []
    for event, zone in zip(events, zones_of(events, len(labels)), strict=True):
        cut = [(max(low, zone[0]), min(high, zone[1])) for low, high in runs]
        predicted = [interval for interval in cut if interval[0] < interval[1]]
        precisions.append(zone_precision(predicted, event, zone))
        recalls.append(zone_recall(predicted, event, zone))
    known = [value for value in precisions if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan, float(np.mean(recalls))
