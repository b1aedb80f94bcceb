"""A method that waits once two results are there, for runs that are stopped."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from odd_methods import Level

RESULTS = "CAPS_TEST_RESULTS"  # the folder that it looks at; it never waits without


class Slow(Level):
    """Goes on only when it may."""

    def score(self, series: np.ndarray) -> np.ndarray:
        while RESULTS in os.environ and len(list(Path(os.environ[RESULTS]).rglob("*.json"))) >= 2:
            time.sleep(0.1)
        return super().score(series)


def make(name: str, seed: int) -> Any:
    """The only method there is."""
    return Slow(seed)
