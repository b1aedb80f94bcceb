"""Compared methods written straight from their definitions, one row at a time."""

from itertools import pairwise

import numpy as np
from sklearn.cluster import KMeans

from oracles.windows import reflected


def moving_variance(train: np.ndarray, series: np.ndarray, window: int) -> np.ndarray:
    """The variance of the window around a row; beyond the ends stands the mirror image."""
    rows, scores = len(series), []
    for row in range(rows):
        around = range(row - window // 2, row - window // 2 + window)
        inside = [_mirrored(each, rows) for each in around]
        scores.append(
            np.mean([np.var(series[inside, c]) / _var(train, c) for c in _channels(train)])
        )
    return np.array(scores)


def squared_difference(train: np.ndarray, series: np.ndarray) -> np.ndarray:
    scores = [0.0]
    for before, now in pairwise(series):
        steps = [(now[c] - before[c]) ** 2 / _var(train, c) for c in _channels(train)]
        scores.append(float(np.mean(steps)))
    return np.array(scores)


def sensor_range(train: np.ndarray, series: np.ndarray) -> np.ndarray:
    def outside(row: np.ndarray) -> bool:
        return any(
            not min(train[:, c]) <= row[c] <= max(train[:, c]) for c in range(train.shape[1])
        )

    return np.array([float(outside(row)) for row in series])


def recent_rows(train: np.ndarray, series: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that end at each row, by the range of training; the first ones have those of later.

    Returns those of the training part, without repetition, and of the series.
    """
    low, span = train.min(axis=0), np.ptp(train, axis=0)
    span[span == 0] = 1

    def ending(values: np.ndarray, row: int) -> np.ndarray:
        return ((values[row - size + 1 : row + 1] - low) / span).ravel()

    known = [ending(train, row) for row in range(size - 1, len(train))]
    return np.array(known), np.array(
        [ending(series, max(row, size - 1)) for row in range(len(series))]
    )


def kmeans_tab(train: np.ndarray, series: np.ndarray, size: int, clusters: int) -> np.ndarray:
    """Channels z-scored by training; a row has the mean of the windows that hold it."""
    level, std = train.mean(axis=0), train.std(axis=0)
    std[std == 0] = 1

    def windows(values: np.ndarray) -> np.ndarray:
        scaled = (values - level) / std
        starts = range(len(values) - size + 1)
        return np.array([scaled[start : start + size].T.ravel() for start in starts])

    model = KMeans(clusters, n_init=1, random_state=0).fit(windows(train))
    distance = [
        min(np.linalg.norm(window - centre) for centre in model.cluster_centers_)
        for window in windows(series)
    ]
    return np.array(
        [np.mean(distance[max(0, row - size + 1) : row + 1]) for row in range(len(series))]
    )


def kth_correlation(series: np.ndarray, size: int, neighbours: int, place: int) -> np.ndarray:
    """With the k-th nearest subsequence, half a length from it and from nearer ones."""
    starts = range(len(series) - size + 1)
    found = []
    for start in starts:
        taken, value = [start], -1.0
        for _ in range(neighbours):
            free = [
                other for other in starts if all(_apart(other, each, size // 2) for each in taken)
            ]
            if not free:
                break
            alike = [_alike(series, start, other, size, place) for other in free]
            value = max(alike)
            taken.append(free[int(np.argmax(alike))])
        found.append(value)
    return np.array(found)


def _alike(series: np.ndarray, one: int, other: int, size: int, place: int) -> float:
    values = []
    for channel in range(series.shape[1]):
        pair = [series[start : start + size, channel] for start in (one, other)]
        flat = any(np.ptp(each) == 0 for each in pair)
        values.append(0.0 if flat else float(np.corrcoef(*pair)[0, 1]))
    return sorted(values)[place]


def _apart(other: int, centre: int, half: int) -> bool:
    return not centre - half <= other < centre + half


def _mirrored(row: int, rows: int) -> int:
    """With the last row repeated, unlike `reflected`, which turns at it."""
    turned = reflected(2 * row + 1, 2 * rows + 1)
    return turned // 2


def _channels(values: np.ndarray) -> range:
    return range(values.shape[1])


def _var(values: np.ndarray, channel: int) -> float:
    return float(np.var(values[:, channel])) or 1.0


def three_nearest(known: np.ndarray, asked: np.ndarray, metric: str) -> list[float]:
    def distance(a: np.ndarray, b: np.ndarray) -> float:
        if metric == "euclidean":
            return float(np.linalg.norm(a - b))
        return float(1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    return [float(np.mean(sorted(distance(each, one) for one in known)[:3])) for each in asked]


def amplitude(train: np.ndarray, series: np.ndarray, around: int) -> list[float]:
    """Of the mean around each row, from the median of training in median deviations."""
    scores = []
    for row in range(len(series)):
        near = series[max(0, row - around) : row + around + 1]
        parts = []
        for c in _channels(train):
            level = np.median(train[:, c])
            deviation = np.median([abs(value - level) for value in train[:, c]])
            parts.append(abs(near[:, c].mean() - level) / deviation)
        scores.append(float(np.mean(parts)))
    return scores
