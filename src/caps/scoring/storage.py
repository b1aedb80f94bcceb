"""A fitted model as a folder: manifest.json and one safetensors file for each channel.

Loading checks everything before it is used, builds only the networks named here, and never runs
anything found in the folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.artifacts import read_folder, write_folder
from caps.errors import ArtifactError, InputError
from caps.scoring.calibration import alarm_rate
from caps.scoring.channels import Channel, LearnedChannel
from caps.scoring.description import build, describe, digest
from caps.scoring.fitted import Fitted
from caps.scoring.options import FitOptions

if TYPE_CHECKING:
    from caps.network import DetectorConfig, RowDetector

KIND = "caps.model"
VERSION = 13  # its calibration belongs to one way of scoring: no older one is read
WEIGHTS, BANK = "detector.", "bank"

Arrays = Mapping[str, np.ndarray]


def save_model(folder: Path, fitted: Fitted, options: FitOptions) -> None:
    """Write the model and the options of its fit."""
    facts = {"options": options.to_dict(), "model": describe(fitted)}
    arrays = {f"channel-{k}": _arrays(channel) for k, channel in enumerate(fitted.channels)}
    write_folder(
        folder,
        kind=KIND,
        version=VERSION,
        facts={**facts, "digest": digest(facts)},
        arrays=arrays,
    )


def load_model(folder: Path) -> tuple[Fitted, FitOptions]:
    """Read a folder written by `save_model`: the model and the options of its fit."""
    manifest, arrays = read_folder(folder, kind=KIND, version=VERSION, oldest=VERSION)
    facts: dict[str, Any] = {name: manifest.get(name) for name in ("options", "model")}
    if manifest.get("digest") != digest(facts):
        raise ArtifactError(
            f"{folder / 'manifest.json'} was edited (its own digest differs)",
            "restore it or fit the model again",
        )
    try:
        fitted = _build(facts["model"], arrays)
        options = FitOptions.from_dict(facts["options"])
        alarm_rate(options.alarms, fitted.step)
        return fitted, options
    except (InputError, ArtifactError) as error:
        raise ArtifactError(
            f"{folder} holds no sound model ({error.problem})", "fit it again"
        ) from None
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise ArtifactError(
            f"{folder} does not hold what its manifest says ({error})", "fit the model again"
        ) from error


def _build(model: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> Fitted:
    groups = [f"channel-{k}" for k in range(len(model["channels"]))]
    if set(arrays) != set(groups):
        raise ArtifactError(f"{len(arrays)} files for {len(groups)} channels", "fit it again")
    weights = [
        {name.removeprefix(WEIGHTS): array for name, array in arrays[group].items() if name != BANK}
        for group in groups
    ]
    if any(
        each and facts.get("detector") is None
        for each, facts in zip(weights, model["channels"], strict=True)
    ):
        raise ArtifactError("weights without a detector", "fit it again")
    banks = [arrays[group][BANK] for group in groups]

    def detector(index: int, config: "DetectorConfig") -> "RowDetector":
        from caps.network import detector_of  # torch, a second: the neighbours do without

        return detector_of(config, weights[index])

    return build(model, banks, detector)


def _arrays(channel: Channel) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {BANK: channel.bank}
    if not isinstance(channel, LearnedChannel) or channel.detector is None:
        return arrays
    from caps.network import Detector, detector_arrays  # torch, a second: as above

    if not isinstance(channel.detector, Detector):
        raise InputError("an exported model is no model to save", "copy its .onnx file")
    stored = detector_arrays(channel.detector)
    return arrays | {WEIGHTS + name: array for name, array in stored.items()}
