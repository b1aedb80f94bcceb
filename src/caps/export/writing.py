"""From a fitted model to one ONNX file, checked against the model before it is written."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caps.artifacts import replacing
from caps.errors import CapsError, InputError
from caps.estimator import CAPS
from caps.export.file import described, sealed
from caps.export.graph import graph_of
from caps.export.model import OnnxModel
from caps.fitted_model import configs_of
from caps.network import Detector
from caps.replacing import check_file
from caps.scoring import Fitted, LearnedChannel, describe
from caps.series import Series
from caps.stream import DriftWatch

CHECKED_ROWS = 1024  # of the training part
LARGEST_DIFFERENCE = 1e-3  # of scores: rounding stays a hundred times below


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    path: Path
    size: int  # bytes
    difference: float  # largest, of the scores of training rows by either way


def write_onnx(model: CAPS, path: str | os.PathLike[str]) -> Exported:
    """Write a fitted model as one ONNX file, for `OnnxModel.load`."""
    path = Path(path)
    check_file(path)
    fitted: Fitted = model.fitted_
    learned = {
        index: channel.detector
        for index, channel in enumerate(fitted.channels)
        if isinstance(channel, LearnedChannel) and isinstance(channel.detector, Detector)
    }
    if not learned:
        raise InputError(
            "no channel of the model has a detector, there is nothing to export",
            "fit it with a detector, on a series that varies",
        )
    _, stream = configs_of(fitted)
    facts = {
        "alarms": model.alarms,
        "model": describe(fitted),
        "networks": {str(index): network for network, index in enumerate(learned)},
        "bets": DriftWatch(fitted.calibration, stream.drift).bets.tolist(),
    }
    description = described(facts, [channel.bank for channel in fitted.channels])
    content = sealed(graph_of(list(learned.values()), description))
    difference = _difference(fitted, OnnxModel.from_bytes(content, str(path)).fitted_)
    if difference > LARGEST_DIFFERENCE:
        raise CapsError(
            f"the exported graph scores differently, by up to {difference:g}",
            "use the versions of torch and onnxruntime that docs/export.md names",
        )
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Exported(path, len(content), difference)


def _difference(fitted: Fitted, exported: Fitted) -> float:
    """How far apart the scores of the last rows of training are."""
    banks = [channel.bank[-CHECKED_ROWS:] for channel in fitted.channels]
    scaled = np.full((max(len(bank) for bank in banks), len(banks)), np.nan)
    for index, bank in enumerate(banks):
        scaled[len(scaled) - len(bank) :, index] = bank
    values = fitted.scaler.inverse(scaled)
    series = Series(values, np.isfinite(values), fitted.names)
    apart = np.abs(fitted.score(series).score - exported.score(series).score)
    return float(np.nanmax(apart, initial=0.0))
