"""Small methods for tests of the runner: one that works and many that do not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from caps.errors import InputError


class Level:
    """Scores by the distance from the training mean."""

    def __init__(self, seed: int, power: float = 1.0) -> None:
        self.seed, self.power = seed, power

    def fit(self, train: np.ndarray) -> Self:
        self._mean = train.mean(axis=0)
        return self

    def score(self, series: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        noise = 1e-3 * rng.random(len(series))
        return np.asarray((np.abs(series - self._mean) ** self.power).max(axis=1) + noise)


class Odd(Level):
    """Does something else instead of scoring."""

    def __init__(self, seed: int, instead: Callable[[np.ndarray], Any]) -> None:
        super().__init__(seed)
        self._instead = instead

    def score(self, series: np.ndarray) -> Any:
        return self._instead(series)


class Labelled(Level):
    """Remembers how many anomalous rows it was shown."""

    def fit_labelled(self, train: np.ndarray, labels: np.ndarray) -> Self:
        self._shown = float(labels.sum())
        return self.fit(train)

    def score(self, series: np.ndarray) -> np.ndarray:
        return np.full(len(series), self._shown)


def raises(series: np.ndarray) -> Any:
    raise ZeroDivisionError("no luck today")


def crashes(series: np.ndarray) -> Any:
    print("last words", flush=True)
    os._exit(3)


def hangs(series: np.ndarray) -> Any:
    subprocess.Popen(["sleep", f"600.{os.getppid()}"])  # told by the process that runs the test
    time.sleep(600)


def talks(series: np.ndarray) -> Any:
    print('{"status": "done"}\n' * 2000)
    sys.stderr.write("\x00\xff garbage")
    return Level(0).fit(series).score(series)


ODD = {
    "raises": raises,
    "crashes": crashes,
    "hangs": hangs,
    "talks": talks,
    "exits": lambda series: sys.exit("done with you"),
    "text": lambda series: "error: not enough memory",
    "short": lambda series: series[:-1, 0],
    "nan": lambda series: np.where(np.arange(len(series)) == 5, np.nan, 0.0),
}


def make(name: str, seed: int) -> Any:
    """The methods of these tests by name."""
    if name in ODD:
        return Odd(seed, ODD[name])
    if name == "labelled":
        return Labelled(seed)
    if name in ("level", "random", "ones"):
        return Level(seed)
    raise InputError(f"there is no method {name!r}", "choose another")
