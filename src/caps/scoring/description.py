"""A fitted model as JSON values and rows of numbers, without its networks; numpy alone.

Reading checks everything before it is used.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from caps.errors import ArtifactError
from caps.network import DetectorConfig, RowDetector
from caps.scoring.calibration import Calibration
from caps.scoring.channels import (
    BinaryChannel,
    Channel,
    ConstantChannel,
    LearnedChannel,
    LevelRange,
    SilentChannel,
    two_values,
)
from caps.scoring.config import ModelConfig
from caps.scoring.evidence import AGGREGATES
from caps.scoring.fitted import Fitted
from caps.scoring.following import Standardiser
from caps.scoring.joint import JointMemory
from caps.scoring.memory import Memory
from caps.series import Scaler

KINDS = {
    "learned": LearnedChannel,
    "constant": ConstantChannel,
    "binary": BinaryChannel,
    "silent": SilentChannel,
}

# The detector of the channel in a column, of a configuration that was checked.
DetectorOf = Callable[[int, DetectorConfig], RowDetector]


def describe(fitted: Fitted) -> dict[str, Any]:
    """Everything but the networks and the training rows kept."""
    return {
        "channels": [_channel_facts(channel) for channel in fitted.channels],
        "scaler": fitted.scaler.to_dict(),
        "calibration": fitted.calibration.to_dict(),
        "aggregate": fitted.aggregate,
        "causal": fitted.causal,
        "step": None if fitted.step is None else int(fitted.step / np.timedelta64(1, "ns")),
        "start": None
        if fitted.start is None
        else int(fitted.start.astype("datetime64[ns]").astype(int)),
        "facts": fitted.facts,
        "config": fitted.config.to_dict(),
        "counters": list(fitted.counters),
        "joint": None if fitted.joint is None else fitted.joint.to_dict(),
    }


def build(model: Mapping[str, Any], banks: Sequence[np.ndarray], detector_of: DetectorOf) -> Fitted:
    """The model that `describe` described, with the training rows kept of each channel.

    What does not fit together is an ArtifactError, an InputError, or one of those that odd JSON
    values raise: KeyError, TypeError, ValueError, AttributeError.
    """
    config = ModelConfig.from_dict(model["config"])
    channels = tuple(
        _channel(facts, bank, config, partial(detector_of, column))
        for column, (facts, bank) in enumerate(zip(model["channels"], banks, strict=True))
    )
    scaler = Scaler.from_dict(model["scaler"])
    if len(scaler.centre) != len(channels) or not channels:
        raise ArtifactError("scale and channels differ in number", "fit it again")
    if model["aggregate"] not in AGGREGATES or not isinstance(model["causal"], bool):
        raise ArtifactError("an unknown way of scoring", "fit it again")
    joint = model["joint"]
    if (joint is not None) != (model["aggregate"] == "joint"):
        raise ArtifactError("a joint memory that is not used, or none", "fit it again")
    return Fitted(
        channels=channels,
        scaler=scaler,
        calibration=Calibration.from_dict(model["calibration"]),
        aggregate=model["aggregate"],
        causal=model["causal"],
        step=None if model["step"] is None else np.timedelta64(int(model["step"]), "ns"),
        start=None if model["start"] is None else np.datetime64(int(model["start"]), "ns"),
        facts=dict(model["facts"]),
        config=config,
        counters=_counters(model["counters"], [channel.name for channel in channels]),
        joint=None if joint is None else JointMemory.from_dict(joint, channels, config),
    )


def digest(facts: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, however they are laid out in a file."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _counters(named: Sequence[str], channels: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(named, list) or not set(named) <= set(channels):
        raise ArtifactError("counters that are no channels", "fit it again")
    return tuple(named)


def _channel_facts(channel: Channel) -> dict[str, Any]:
    kind = next(name for name, kind in KINDS.items() if isinstance(channel, kind))
    facts: dict[str, Any] = {"kind": kind, "name": channel.name, "rows": channel.rows}
    if isinstance(channel, LearnedChannel):
        detector, standardiser = channel.detector, channel.standardiser
        facts["calibration"] = channel.calibration.to_dict()
        facts["detector"] = None if detector is None else detector.config.to_dict()
        facts["standardiser"] = None if standardiser is None else standardiser.to_list()
        facts["level"] = None if channel.level is None else channel.level.to_dict()
        facts["bound"] = channel.bound
    if isinstance(channel, ConstantChannel):
        facts["value"] = channel.value
    if isinstance(channel, LearnedChannel | ConstantChannel):
        facts["memory"] = None if channel.memory is None else channel.memory.to_dict()
    return facts


def _channel(
    facts: Mapping[str, Any],
    bank: np.ndarray,
    config: ModelConfig,
    detector_of: Callable[[DetectorConfig], RowDetector],
) -> Channel:
    if bank.ndim != 1 or bank.dtype != np.float32 or np.isinf(bank).any():
        raise ArtifactError("the training rows kept are no rows of numbers", "fit it again")
    known = facts["name"], int(facts["rows"]), bank
    if facts["kind"] not in KINDS or not isinstance(facts["name"], str):
        raise ArtifactError(f"a channel of kind {facts['kind']!r}", "fit it again")
    if facts["kind"] == "silent":
        return SilentChannel(*known)
    if facts["kind"] == "binary":
        if not len(two_values(bank)):
            raise ArtifactError("a switch that has not two values", "fit it again")
        return BinaryChannel(*known)
    memory = None if facts["memory"] is None else Memory.from_dict(facts["memory"], bank, config)
    if facts["kind"] == "constant":
        return ConstantChannel(*known, float(facts["value"]), memory)
    detector, standardiser = facts["detector"], facts["standardiser"]
    wanted = detector is not None and memory is not None
    if (standardiser is not None) != wanted or (detector is None and memory is None):
        raise ArtifactError("a memory without its detector, or the reverse", "fit it again")
    bound = None if facts["bound"] is None else float(facts["bound"])
    if bound is not None and not 0 < bound < np.inf:
        raise ArtifactError("a bound that is none", "fit it again")
    return LearnedChannel(
        *known,
        calibration=Calibration.from_dict(facts["calibration"]),
        detector=None if detector is None else detector_of(DetectorConfig.from_dict(detector)),
        memory=memory,
        standardiser=None if standardiser is None else Standardiser.from_list(standardiser),
        level=None if facts["level"] is None else LevelRange.from_dict(facts["level"]),
        bound=bound,
    )
