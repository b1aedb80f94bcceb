"""An exported file, and `OnnxModel`, which scores by numpy and onnxruntime; torch is not imported.

The file is an ONNX model with a description in its metadata and a seal at its end: one more entry
of the metadata, the SHA-256 of all bytes before it. Repeated fields of a protobuf message may come
in pieces, so the sealed file is an ONNX model like any other.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import ArtifactError, CapsError, InputError
from caps.fitted_model import FittedModel, configs_of
from caps.json_text import parse_json
from caps.network import DetectorConfig, row_logits
from caps.scoring import Fitted, alarm_rate, build
from caps.series import Series, bridge

DESCRIPTION = "caps"  # key in the metadata
KIND, VERSION = "caps.onnx", 10
WINDOWS, CHANNEL, LOGITS = "windows", "channel", "logits"  # inputs and output of the graph

_KEY = b"caps.sha256"
_HEX = 64
# Field 14 of a ModelProto, metadata_props: an entry of a key (field 1) and a value (field 2).
_ENTRY = b"\x0a" + bytes([len(_KEY)]) + _KEY + b"\x12" + bytes([_HEX])
_SEAL = b"\x72" + bytes([len(_ENTRY) + _HEX]) + _ENTRY
BATCH = 64  # windows at once through the graph: their activations fit the processor's cache
FATAL = 4  # of onnxruntime's log: what fails is raised, and told once


@dataclass(frozen=True, slots=True, eq=False)
class OnnxDetector:
    """The network of one channel, in the graph of all of them."""

    session: Any  # an onnxruntime.InferenceSession
    network: NDArray[np.int64]  # (1,), index of its weights in the graph
    config: DetectorConfig

    def row_logits(
        self, values: FloatArray, *, causal: bool = False, last: int | None = None
    ) -> FloatArray:
        """A logit for each of the last rows of a scaled series."""
        return row_logits(self._window_logits, self.config, values, causal=causal, last=last)

    def _window_logits(self, windows: FloatArray) -> FloatArray:
        logits = np.empty(windows.shape)
        for first in range(0, len(windows), BATCH):
            batch = bridge(windows[first : first + BATCH]).astype(np.float32)
            feed = {WINDOWS: batch, CHANNEL: self.network}
            logits[first : first + BATCH] = self.session.run([LOGITS], feed)[0]
        return logits


class OnnxModel(FittedModel):
    """A model that `caps export` wrote; scores are those of the model it was made from.

    Methods take an array (time,) or (time, channel) in the order of `names_`, a `Series`, or any
    table that `caps.read` takes, where narwhals and pandas are installed.
    """

    def __init__(self, fitted: Fitted, alarms: str | float, bets: FloatArray) -> None:
        self.fitted_, self.alarms = fitted, alarms
        self.bets_ = bets

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1) -> Self:
        """Read a file written by `caps export`, after checking that every byte is as written."""
        return cls.from_bytes(read_sealed(Path(path)), str(path), threads=threads)

    @classmethod
    def from_bytes(cls, content: bytes, name: str, *, threads: int = 1) -> Self:
        """The model in the content of a file of that name."""
        session = _session(content, name, threads)
        try:
            text = session.get_modelmeta().custom_metadata_map.get(DESCRIPTION)
            facts, banks = read_description(text)
            networks = {int(channel): int(own) for channel, own in facts["networks"].items()}
            if sorted(networks.values()) != list(range(len(networks))):
                raise ArtifactError("networks and channels differ", "export it again")
            fitted = build(facts["model"], banks, partial(_detector, session, networks))
            configs_of(fitted)
            alarm_rate(facts["alarms"], fitted.step)
            bets = np.array(facts["bets"], dtype=np.float64)
            if bets.ndim != 2 or bets.shape[1] != 3 or not ((bets >= 0) & (bets <= 1)).all():
                raise ValueError("odd bets of the drift watch")
            return cls(fitted, facts["alarms"], bets)
        except CapsError as error:
            raise ArtifactError(f"{name}: {error.problem}", "export the model again") from None
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ArtifactError(
                f"{name} does not hold what it says ({error})", "export the model again"
            ) from None

    def _read(self, X: Any) -> Series:
        if not isinstance(X, np.ndarray | list | tuple):
            try:
                return super()._read(X)
            except ModuleNotFoundError as error:
                raise InputError(
                    f"a {type(X).__name__} is read by {error.name}, which is not installed",
                    f"pip install {error.name}, or give an array (time, channel)",
                ) from None
        try:
            values = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"no rows of numbers ({error})", "give numbers only") from None
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.names_) or len(values) == 0:
            raise InputError(
                f"values of shape {np.shape(X)} for the channels {', '.join(self.names_)}",
                "give at least one row, and one number in it for each channel: (time, channel)",
            )
        seen = np.isfinite(values)
        return Series(np.where(seen, values, np.nan), seen, self.names_)


def _detector(
    session: Any, networks: Mapping[int, int], channel: int, config: DetectorConfig
) -> OnnxDetector:
    """The detector of a channel, given which weights in the graph are whose."""
    inputs = {each.name: (each.type, each.shape[1:]) for each in session.get_inputs()}
    outputs = {each.name: (each.type, each.shape[1:]) for each in session.get_outputs()}
    windows = ("tensor(float)", [config.window])
    if inputs != {WINDOWS: windows, CHANNEL: ("tensor(int64)", [])}:
        raise ArtifactError("its graph takes no windows of the model", "export it again")
    if outputs != {LOGITS: windows}:
        raise ArtifactError("its graph gives no logits of windows", "export it again")
    return OnnxDetector(session, np.array([networks[channel]], dtype=np.int64), config)


def _session(content: bytes, name: str, threads: int) -> Any:
    try:
        import onnxruntime  # an extra, and a tenth of a second
    except ImportError:
        raise InputError(
            "onnxruntime is not installed", "pip install onnxruntime, or 'caps-tsad[onnx]'"
        ) from None
    if threads < 1:
        raise InputError(f"threads={threads}", "give at least one")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        # From bytes: what lies beside the file is out of its reach.
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has one for each of its status codes
        raise ArtifactError(
            f"{name} is no graph that onnxruntime can run ({error})", "export the model again"
        ) from None


def sealed(model: bytes) -> bytes:
    """The serialized model with its seal."""
    return model + _SEAL + hashlib.sha256(model).hexdigest().encode()


def read_sealed(path: Path) -> bytes:
    """The content of a file whose every byte is as written."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise ArtifactError(f"{path} is no file", "name a file written by caps export") from None
    model, seal = content[: -len(_SEAL) - _HEX], content[-len(_SEAL) - _HEX :]
    if not seal.startswith(_SEAL):
        raise ArtifactError(
            f"{path} is truncated, or caps export did not write it", "export the model again"
        )
    if hashlib.sha256(model).hexdigest().encode() != seal[len(_SEAL) :]:
        raise ArtifactError(f"{path} was edited (its SHA-256 differs)", "export the model again")
    return content


def described(facts: Mapping[str, Any], banks: Sequence[np.ndarray]) -> str:
    """The description as text; training rows go in as float32, little-endian, in base 64."""
    rows = [base64.b64encode(np.asarray(bank, dtype="<f4").tobytes()).decode() for bank in banks]
    own = {"kind": KIND, "version": VERSION}
    return json.dumps({**own, **facts, "banks": rows}, allow_nan=False, separators=(",", ":"))


def read_description(text: str | None) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The facts and training rows of `described`."""
    try:
        facts = parse_json(text or "null")
    except ValueError as error:
        raise ArtifactError(f"its description is no JSON ({error})", "export it again") from None
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise ArtifactError("it holds no description by CAPS", "name a file of caps export")
    version = facts.get("version")
    if version != VERSION:  # the calibration of an older one belongs to another way of scoring
        newer = not isinstance(version, int) or version > VERSION
        raise ArtifactError(
            f"it has format version {version!r}, this CAPS reads {VERSION}",
            "upgrade caps-tsad" if newer else "fit the model and export it again",
        )
    rows = [base64.b64decode(bank, validate=True) for bank in facts["banks"]]
    return facts, [np.frombuffer(bank, dtype="<f4").astype(np.float32) for bank in rows]
