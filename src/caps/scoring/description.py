"""A fitted model as JSON values and rows of numbers, without its networks; numpy alone.

Reading checks everything before it is used.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from caps.errors import ArtifactError
from caps.network import DetectorConfig, RowDetector
from caps.scoring.calibration import Calibration
from caps.scoring.evidence import AGGREGATES
from caps.scoring.fitted import Channel, Fitted, State, switch_values
from caps.scoring.level import LevelRange
from caps.scoring.memory import Memory, Usual
from caps.series import Scaler

STATES = get_args(State)

# The detector of the channel at a place, of a configuration that was checked.
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
    }


def build(model: Mapping[str, Any], banks: Sequence[np.ndarray], detector_of: DetectorOf) -> Fitted:
    """The model that `describe` described, with the training rows kept of each channel.

    What does not fit together is an ArtifactError, an InputError, or one of those that odd JSON
    values raise: KeyError, TypeError, ValueError, AttributeError.
    """
    described = model["channels"]
    channels = tuple(
        _channel(facts, bank, place, detector_of)
        for place, (facts, bank) in enumerate(zip(described, banks, strict=True))
    )
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
        start=None if model["start"] is None else np.datetime64(int(model["start"]), "ns"),
        facts=dict(model["facts"]),
    )


def digest(facts: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, however they are laid out in a file."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
        "bound": channel.bound,
    }


def _channel(
    facts: Mapping[str, Any], bank: np.ndarray, place: int, detector_of: DetectorOf
) -> Channel:
    if bank.ndim != 1 or bank.dtype != np.float32 or np.isinf(bank).any():
        raise ArtifactError("the training rows kept are no rows of numbers", "fit it again")
    state, learned = facts["state"], facts["detector"] is not None
    if state not in STATES or learned != (state == "learned"):
        raise ArtifactError(f"a channel in state {state!r}", "fit it again")
    bound = None if facts["bound"] is None else float(facts["bound"])
    if bound is not None and not 0 < bound < np.inf:
        raise ArtifactError("a bound that is none", "fit it again")
    if state == "switch" and not len(switch_values(bank)):
        raise ArtifactError("a switch that has not two values", "fit it again")
    if learned != (facts["calibration"] is not None) or not isinstance(facts["name"], str):
        raise ArtifactError("a channel is described in part only", "fit it again")
    if learned and (facts["memory"] is None) != (facts["usual"] is None):
        raise ArtifactError("a memory without its detector, or the reverse", "fit it again")
    detector = detector_of(place, DetectorConfig.from_dict(facts["detector"])) if learned else None
    return Channel(
        name=facts["name"],
        state=state,
        rows=int(facts["rows"]),
        detector=detector,
        calibration=Calibration.from_dict(facts["calibration"]) if learned else None,
        bank=bank,
        level=None if facts["level"] is None else LevelRange.from_dict(facts["level"]),
        memory=None if facts["memory"] is None else Memory.from_dict(facts["memory"], bank),
        usual=None if facts["usual"] is None else Usual.from_list(facts["usual"]),
        bound=bound,
    )
