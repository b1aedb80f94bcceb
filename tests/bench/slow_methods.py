"""A method that takes its time, for runs that are stopped."""

import os
import time
from typing import Any

import numpy as np
from odd_methods import Level


class Slow(Level):
    """Waits before it scores."""

    def score(self, series: np.ndarray) -> np.ndarray:
        time.sleep(float(os.environ.get("CAPS_TEST_PAUSE", "2")))
        return super().score(series)


def make(name: str, seed: int) -> Any:
    """The only method there is."""
    return Slow(seed)
