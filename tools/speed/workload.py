"""The input of the speed comparison, the same for CAPS and TSB-AD (numpy of any version)."""

import numpy as np

EVENTS = 20
EVENT_LENGTH = 100
WINDOW = 100
LEVELS = 1500
SIZES = (10_000, 100_000, 1_000_000)


def workload(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores that rise over 20 events, with autocorrelated noise; returns scores and labels."""
    rng = np.random.default_rng(7)
    labels = np.zeros(size, dtype=int)
    for start in (np.arange(EVENTS) * size / EVENTS + size / (3 * EVENTS)).astype(int):
        labels[start : start + EVENT_LENGTH] = 1
    noise = np.convolve(rng.random(size), np.ones(5) / 5, mode="same")
    return noise + 0.2 * labels * rng.random(size), labels
