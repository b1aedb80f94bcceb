"""From a fitted model to one ONNX file, checked against the model before it is written.

The networks of a model have the same layers, so their weights are stacked, and the graph picks
those of the channel that is asked for: (windows, channel) -> logits. A window is scaled by its
own level and std inside the graph, as it is inside the network.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from caps.artifacts import replacing
from caps.errors import CapsError, InputError
from caps.estimator import CAPS
from caps.export.model import CHANNEL, DESCRIPTION, LOGITS, WINDOWS, OnnxModel, described, sealed
from caps.fitted_model import configs_of
from caps.network import Detector, DetectorConfig
from caps.replacing import check_file
from caps.scoring import Fitted, LearnedChannel, describe
from caps.series import Series
from caps.stream import DriftWatch

CHECKED_ROWS = 1024  # of the training part
LARGEST_DIFFERENCE = 1e-3  # of scores: rounding stays a hundred times below
OPSET = 18
IR = 10  # of a graph without networks, as torch's exporter writes it
EXAMPLES = 2  # windows to trace with: one would be taken for a constant
REMEMBERED = 8  # graphs without their weights: tracing takes seconds, a fleet has few sizes


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


class Stacked(nn.Module):
    """Detectors of equal layers; the channel says whose weights to use."""

    def __init__(self, config: DetectorConfig, count: int) -> None:
        super().__init__()
        with torch.device("meta"):
            layers = Detector(config).eval()
        self._layers = (layers,)  # in a tuple: its own weights are no part of the graph
        weights = {name: w for name, w in layers.state_dict().items() if w.is_floating_point()}
        self.names = {f"stack{index}": name for index, name in enumerate(weights)}  # in the graph
        generator = torch.Generator().manual_seed(0)
        for stack, name in self.names.items():
            # All different: the exporter makes one of equal ones.
            random = torch.rand(count, *weights[name].shape, generator=generator)
            self.register_buffer(stack, random)

    def forward(self, windows: Tensor, channel: Tensor) -> Tensor:  # (batch, time), (1,)
        weights = {
            name: self.get_buffer(stack).index_select(0, channel).squeeze(0)
            for stack, name in self.names.items()
        }
        logits: Tensor = torch.func.functional_call(self._layers[0], weights, (windows,))
        return logits


def graph_of(detectors: Sequence[Detector], description: str) -> bytes:
    """A serialized ONNX model of the networks with a description in its metadata."""
    try:
        from onnx import ModelProto, numpy_helper  # an extra, and a tenth of a second
    except ImportError:
        raise InputError("onnx is not installed", "pip install 'caps-tsad[onnx]'") from None
    if not detectors:
        return _described(_without_networks(), description)
    config = detectors[0].config
    if any(detector.config != config for detector in detectors):
        raise InputError("channels have detectors of different sizes", "fit them in one model")
    names, template = _template(config, len(detectors))
    model = ModelProto()
    model.CopyFrom(template)
    states = [detector.state_dict() for detector in detectors]
    waiting = dict(names)
    for tensor in model.graph.initializer:
        if name := waiting.pop(tensor.name, None):
            weights = torch.stack([state[name] for state in states]).numpy()
            tensor.CopyFrom(numpy_helper.from_array(weights, tensor.name))
    if waiting:
        raise CapsError(
            f"torch's exporter left out weights: {', '.join(waiting.values())}",
            "use the versions of torch and onnxscript that docs/export.md names",
        )
    return _described(model, description)


def _described(model: Any, description: str) -> bytes:
    entry = model.metadata_props.add()
    entry.key, entry.value = DESCRIPTION, description
    return bytes(model.SerializeToString())


def _without_networks() -> Any:
    """A graph that hands windows on: the neighbours are all in the description."""
    from onnx import TensorProto, helper  # an extra, and a tenth of a second

    shape = ["batch", "time"]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (WINDOWS, LOGITS)
    ]
    node = helper.make_node("Identity", [WINDOWS], [LOGITS])
    graph = helper.make_graph([node], "caps", ends[:1], ends[1:])
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, producer_name="caps", ir_version=IR)


@lru_cache(maxsize=REMEMBERED)
def _template(config: DetectorConfig, count: int) -> tuple[dict[str, str], Any]:
    """The names of the weights, and a graph that holds others instead."""
    stacked = Stacked(config, count).eval()
    with _quiet():
        program = torch.onnx.export(
            stacked,
            (torch.zeros(EXAMPLES, config.window), torch.zeros(1, dtype=torch.int64)),
            input_names=[WINDOWS, CHANNEL],
            output_names=[LOGITS],
            dynamic_shapes=({0: torch.export.Dim("batch")}, None),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # with dynamo there is one
    model = program.model_proto
    for node in model.graph.node:  # where in torch it came from
        node.doc_string = ""
        del node.metadata_props[:]
    del model.graph.value_info[:]
    model.producer_name = "caps"
    return stacked.names, model


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter tells its own users about its own plans, and that torchvision is missing."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
