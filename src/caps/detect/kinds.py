"""The kind of an event, by the router that was trained on simulated ones.

Needs the pretrained weights, so it is loaded only when kinds are asked for.
"""

import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from caps.realize import Pretrained
from caps.recover import known_windows

FloatArray = NDArray[np.float64]


def event_kind(
    pretrained: Pretrained, values: FloatArray, start: int, end: int
) -> dict[str, float]:
    """q_k of every mode for the rows [start, end) of a scaled channel, best first, sum 1."""
    size = pretrained.preset.represent.window
    windows, support = known_windows(values, None, [(start, end)], size=size)
    scores = pretrained.associate(
        torch.from_numpy(windows), torch.from_numpy(support.astype(np.float32))
    )
    # Windows count by how much of the event they hold.
    mean = np.average(scores, axis=0, weights=support.sum(axis=1))
    order = np.argsort(-mean, kind="stable")
    return {pretrained.modes[k].name: float(mean[k]) for k in order}


def load_weights(source: Pretrained | str | os.PathLike[str] | None) -> Pretrained:
    """The weights themselves, those in a folder, or the shipped ones for None."""
    if isinstance(source, Pretrained):
        return source
    return Pretrained.load(None if source is None else Path(source))
