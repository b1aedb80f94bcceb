"""The ACF window rule by direct sums."""

import numpy as np


def acf_window(series: np.ndarray, rule: str = "1.5") -> int:
    values = series[:20_000] - np.mean(series[:20_000])
    variance = np.dot(values, values)
    if variance == 0:
        return 125
    lags = range(min(401, len(values)))
    correlation = [np.dot(values[lag:], values[: len(values) - lag]) / variance for lag in lags]
    peaks = [
        lag
        for lag in range(4, len(correlation) - 1)
        if correlation[lag - 1] < correlation[lag] > correlation[lag + 1]
    ]
    if not peaks:
        return 125
    best = max(peaks, key=lambda lag: correlation[lag])
    counted = best - 3 if rule == "1.5" else best  # 1.5 forgets the lags that it left out
    return best if 3 <= counted <= 300 else 125
