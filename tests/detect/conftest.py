"""The pairs of a noisy wave and a small detector trained on them, shared by all tests."""

import numpy as np
import pytest
from small_detector import SMALL, Pairs, pairs_with_levels

from caps.network.learning import train_detector
from caps.network.networks import Detector


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return pairs_with_levels(np.random.default_rng(0))


@pytest.fixture(scope="session")
def detector(pairs: Pairs) -> Detector:
    return train_detector(pairs, SMALL, seed=1)
