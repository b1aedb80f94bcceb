"""Pairs shared by the tests of the simulator, and events placed by hand on known series."""

from collections.abc import Callable

import numpy as np
import pytest

from caps.simulate import PairBatch, simulate_pairs
from caps.simulate.anomaly.operation import Events, in_context, survey
from caps.simulate.normal.catalogue import draw_normal

MakeEvents = Callable[..., Events]


@pytest.fixture(scope="session")
def pairs() -> PairBatch:
    return simulate_pairs(4608, seed=11)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def make_events(rng: np.random.Generator) -> MakeEvents:
    """Events of one length, one per row, on series of one generator."""

    def make(generator: str, *, length: int = 60, count: int = 40, span: int = 1600) -> Events:
        bases = survey(*draw_normal(rng, count, span, generator))
        start = rng.integers(300, span - 300 - length, count)
        return in_context(bases, np.arange(count), start, np.full(count, length))

    return make
