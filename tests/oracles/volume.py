"""VUS from its definition: width by width, threshold by threshold, point by point."""

import math

import numpy as np

from oracles.range_wise import Run, runs_of


def soft_label(index: int, events: list[Run], width: int) -> float:
    total = 0.0
    for start, end in events:
        if start <= index < end:
            return 1.0
        distance = start - index if index < start else index - (end - 1)
        if distance <= width // 2:
            total += math.sqrt(1 - distance / width)
    return min(total, 1.0)


def widened(events: list[Run], width: int, size: int) -> list[Run]:
    """Events with `width // 2` more points on both sides, merged where they overlap."""
    half = width // 2
    segments: list[Run] = []
    for start, end in events:
        low, high = max(start - half, 0), min(end + half, size)
        if segments and start - half <= segments[-1][1] - 1:
            segments[-1] = (segments[-1][0], high)
        else:
            segments.append((low, high))
    return segments


def volume(scores: np.ndarray, labels: np.ndarray, window: int) -> tuple[float, float]:
    """Return VUS-PR and VUS-ROC."""
    areas = [areas_at(scores, labels, width) for width in range(window + 1)]
    return float(np.mean([pr for pr, _ in areas])), float(np.mean([roc for _, roc in areas]))


def areas_at(scores: np.ndarray, labels: np.ndarray, width: int) -> tuple[float, float]:
    size, events, anomalous = len(scores), runs_of(labels), sum(labels)
    soft = np.array([soft_label(index, events, width) for index in range(size)])
    segments = widened(events, width, size)
    descending = sorted(scores, reverse=True)
    recalls, false_rates, precisions = [0.0], [0.0], []
    for rank in np.linspace(0, size - 1, 250).astype(int):
        predicted = scores >= descending[rank]
        outside = sum(soft[predicted & (labels == 0)])
        true_positives = sum(soft[predicted])
        positives = (anomalous + anomalous + outside) / 2
        found = sum(predicted[low:high].any() for low, high in segments) / len(segments)
        recalls.append(min(true_positives / positives, 1) * found)
        precisions.append(true_positives / sum(predicted))
        negatives = size - positives
        false_rates.append((sum(predicted) - true_positives) / negatives if negatives else math.nan)
    pr = sum((recalls[k + 1] - recalls[k]) * precisions[k] for k in range(250))
    recalls.append(1.0)
    false_rates.append(1.0)
    roc = sum(
        (false_rates[k + 1] - false_rates[k]) * (recalls[k + 1] + recalls[k]) / 2
        for k in range(251)
    )
    return pr, roc
