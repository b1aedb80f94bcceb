"""A fitted model as a folder: manifest.json and one safetensors file for each channel.

Loading checks everything before it is used, builds only the networks named here, and never runs
anything found in the folder.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from caps.artifacts import read_folder, write_folder
from caps.detect.config import DetectorConfig
from caps.detect.evidence import AGGREGATES
from caps.detect.fitted import Channel, Fitted
from caps.detect.level import LevelRange
from caps.detect.memory import Memory, Usual
from caps.detect.networks import Detector
from caps.detect.threshold import Calibration
from caps.errors import ArtifactError, InputError
from caps.series import Scaler

KIND = "caps.model"
VERSION = 2  # with a memory
WEIGHTS, BANK = "detector.", "bank"
STATES = ("learned", "constant", "unknown")

Arrays = Mapping[str, np.ndarray]


def save_model(folder: Path, fitted: Fitted, parameters: Mapping[str, Any]) -> None:
    """Write the model, and the estimator's parameters as JSON values."""
    described = {
        "channels": [_channel_facts(channel) for channel in fitted.channels],
        "scaler": fitted.scaler.to_dict(),
        "calibration": fitted.calibration.to_dict(),
        "aggregate": fitted.aggregate,
        "causal": fitted.causal,
        "step": None if fitted.step is None else int(fitted.step / np.timedelta64(1, "ns")),
        "facts": fitted.facts,
    }
    facts = {"parameters": dict(parameters), "model": described}
    arrays = {f"channel-{k}": _arrays(channel) for k, channel in enumerate(fitted.channels)}
    write_folder(
        folder,
        kind=KIND,
        version=VERSION,
        facts={**facts, "digest": _digest(facts)},
        arrays=arrays,
    )


def load_model(folder: Path) -> tuple[Fitted, dict[str, Any]]:
    """Read a folder written by `save_model`: the model and the estimator's parameters."""
    manifest, arrays = read_folder(folder, kind=KIND, version=VERSION)
    facts: dict[str, Any] = {name: manifest.get(name) for name in ("parameters", "model")}
    if manifest.get("digest") != _digest(facts):
        raise ArtifactError(
            f"{folder / 'manifest.json'} was edited (its own digest differs)",
            "restore it or fit the model again",
        )
    try:
        return _build(facts["model"], arrays), dict(facts["parameters"])
    except (InputError, ArtifactError) as error:
        raise ArtifactError(
            f"{folder} holds no sound model ({error.problem})", "fit it again"
        ) from None
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ArtifactError(
            f"{folder} does not hold what its manifest says ({error})", "fit the model again"
        ) from error


def _build(model: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> Fitted:
    described = model["channels"]
    if set(arrays) != {f"channel-{k}" for k in range(len(described))}:
        raise ArtifactError(f"{len(arrays)} files for {len(described)} channels", "fit it again")
    channels = tuple(_channel(facts, arrays[f"channel-{k}"]) for k, facts in enumerate(described))
    scaler = Scaler.from_dict(model["scaler"])
    if len(scaler.centre) != len(channels) or not channels:
        raise ArtifactError("scale and channels differ in number", "fit it again")
    if model["aggregate"] not in AGGREGATES or not isinstance(model["causal"], bool):
        raise ArtifactError("an unknown way of scoring", "fit it again")
    return Fitted(
        channels=channels,
        scaler=scaler,
        calibration=Calibration.from_dict(model["calibration"]),
        aggregate=model["aggregate"],
        causal=model["causal"],
        step=None if model["step"] is None else np.timedelta64(int(model["step"]), "ns"),
        facts=dict(model["facts"]),
    )


def _channel_facts(channel: Channel) -> dict[str, Any]:
    detector, calibration = channel.detector, channel.calibration
    return {
        "name": channel.name,
        "state": channel.state,
        "rows": channel.rows,
        "detector": None if detector is None else detector.config.to_dict(),
        "calibration": None if calibration is None else calibration.to_dict(),
        "level": None if channel.level is None else channel.level.to_dict(),
        "memory": None if channel.memory is None else channel.memory.to_dict(),
        "usual": None if channel.usual is None else channel.usual.to_list(),
    }


def _arrays(channel: Channel) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {BANK: channel.bank}
    if channel.detector is not None:
        for name, tensor in channel.detector.state_dict().items():
            arrays[WEIGHTS + name] = tensor.cpu().numpy()
    return arrays


def _channel(facts: Mapping[str, Any], arrays: Arrays) -> Channel:
    bank = arrays[BANK]
    if bank.ndim != 1 or bank.dtype != np.float32 or np.isinf(bank).any():
        raise ArtifactError("the training rows kept are no rows of numbers", "fit it again")
    state, learned = facts["state"], facts["detector"] is not None
    if state not in STATES or learned != (state == "learned"):
        raise ArtifactError(f"a channel in state {state!r}", "fit it again")
    if learned != (facts["calibration"] is not None) or not isinstance(facts["name"], str):
        raise ArtifactError("a channel is described in part only", "fit it again")
    if (facts["memory"] is None) != (facts["usual"] is None):
        raise ArtifactError("a memory without its detector, or the reverse", "fit it again")
    weights = {name: array for name, array in arrays.items() if name != BANK}
    if not learned and weights:
        raise ArtifactError("weights without a detector", "fit it again")
    return Channel(
        name=facts["name"],
        state=state,
        rows=int(facts["rows"]),
        detector=_detector(facts["detector"], weights) if learned else None,
        calibration=Calibration.from_dict(facts["calibration"]) if learned else None,
        bank=bank,
        level=None if facts["level"] is None else LevelRange.from_dict(facts["level"]),
        memory=None if facts["memory"] is None else Memory.from_dict(facts["memory"], bank),
        usual=None if facts["usual"] is None else Usual.from_list(facts["usual"]),
    )


def _detector(facts: Mapping[str, Any], arrays: Arrays) -> Detector:
    config = DetectorConfig.from_dict(facts)
    blocks = config.layers if config.network == "transformer" else len(config.dilations)
    if config.members * blocks > len(arrays):
        raise ArtifactError("fewer weights than the detector has parts", "fit it again")
    # On the meta device nothing is allocated, whatever sizes the file claims.
    with torch.device("meta"):
        detector = Detector(config)
    wanted = detector.state_dict()
    state = {}
    for name, array in arrays.items():
        tensor = torch.from_numpy(array.copy())
        short = name.removeprefix(WEIGHTS)
        if short not in wanted or tensor.dtype != wanted[short].dtype:
            raise ArtifactError(f"the detector has no such weights: {short}", "fit it again")
        if not bool(torch.isfinite(tensor).all()):
            raise ArtifactError(f"weights {short!r} are no finite numbers", "fit it again")
        state[short] = tensor
    detector.load_state_dict(state, strict=True, assign=True)
    return detector.eval().requires_grad_(False)


def _digest(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
