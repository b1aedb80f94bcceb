"""`OnnxModel`: an exported model, scored by numpy and onnxruntime; torch is never imported."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import ArtifactError, CapsError, InputError
from caps.export.file import CHANNEL, DESCRIPTION, LOGITS, WINDOWS, read_description, read_sealed
from caps.fitted_model import FittedModel, configs_of
from caps.network import DetectorConfig, row_logits
from caps.scoring import Fitted, alarm_rate, build
from caps.series import Series, bridge

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
            fitted = build(facts["model"], banks, _Detectors(session, facts["networks"]))
            configs_of(fitted)
            alarm_rate(facts["alarms"], fitted.step)
            return cls(fitted, facts["alarms"], _bets(facts["bets"]))
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


class _Detectors:
    """Makes the detectors of channels, given which weights in the graph are whose."""

    def __init__(self, session: Any, networks: Mapping[str, int]) -> None:
        self.session = session
        self.networks = {int(channel): int(network) for channel, network in networks.items()}
        if sorted(self.networks.values()) != list(range(len(self.networks))):
            raise ArtifactError("networks and channels differ", "export it again")

    def __call__(self, channel: int, config: DetectorConfig) -> OnnxDetector:
        inputs = {each.name: (each.type, each.shape[1:]) for each in self.session.get_inputs()}
        outputs = {each.name: (each.type, each.shape[1:]) for each in self.session.get_outputs()}
        windows = ("tensor(float)", [config.window])
        if inputs != {WINDOWS: windows, CHANNEL: ("tensor(int64)", [])}:
            raise ArtifactError("its graph takes no windows of the model", "export it again")
        if outputs != {LOGITS: windows}:
            raise ArtifactError("its graph gives no logits of windows", "export it again")
        network = np.array([self.networks[channel]], dtype=np.int64)
        return OnnxDetector(self.session, network, config)


def _bets(values: Any) -> FloatArray:
    bets = np.array(values, dtype=np.float64)
    if bets.ndim != 2 or bets.shape[1] != 3 or not ((bets >= 0) & (bets <= 1)).all():
        raise ValueError("odd bets of the drift watch")
    return bets


def _session(content: bytes, name: str, threads: int) -> Any:
    try:
        import onnxruntime  # here, as it is an extra
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
