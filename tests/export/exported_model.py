"""A model beside its export, and the series they are compared on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caps import CAPS
from caps.export import Exported, OnnxModel
from untrained_weights import noisy_wave

ROWS = 700


@dataclass(frozen=True)
class Pair:
    """A fitted model and what was read back from its file."""

    model: CAPS
    exported: OnnxModel
    path: Path
    written: Exported


def table() -> np.ndarray:
    """Two waves and a constant, with an anomaly and gaps behind the training part."""
    values = np.column_stack(
        [noisy_wave(ROWS), np.roll(noisy_wave(ROWS, seed=1), 5), np.ones(ROWS)]
    )
    values[640:660, 0] += 5
    values[610:615] = np.nan
    values[650:680, 1] = np.nan
    return values


def unseen() -> np.ndarray:
    """One wave of which no row was learned from: a stream does not look for training rows."""
    values = noisy_wave(ROWS, seed=2)
    values[640:660] += 5
    values[610:615] = np.nan
    return values
