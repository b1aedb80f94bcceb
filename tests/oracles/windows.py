"""Windows and reassembly written straight from their definitions, one row at a time."""

import numpy as np


def naive_starts(length: int, size: int, stride: int) -> list[int]:
    starts = [start for start in range(0, length - size + 1, stride)]
    if length - size not in starts:
        starts.append(length - size)
    return starts


def naive_windows(values: np.ndarray, size: int, stride: int) -> list[np.ndarray]:
    """Each window row by row; a row before the series is the reflected one."""
    length = len(values)
    return [
        np.array([values[reflected(start + step, length)] for step in range(size)])
        for start in naive_starts(length, size, stride)
    ]


def reflected(row: int, length: int) -> int:
    if length == 1:
        return 0
    while not 0 <= row < length:
        row = -row if row < 0 else 2 * (length - 1) - row
    return row


def naive_reassembly(
    scores: np.ndarray, starts: list[int], length: int, weights: np.ndarray
) -> np.ndarray:
    points = np.empty(length)
    for row in range(length):
        covering = [
            (weights[row - start], scores[window, row - start])
            for window, start in enumerate(starts)
            if 0 <= row - start < len(weights)
        ]
        points[row] = sum(w * s for w, s in covering) / sum(w for w, _ in covering)
    return points
