"""The detector networks of all channels as one ONNX graph.

The networks of a model have the same layers, so their weights are stacked, and the graph picks
those of the channel that is asked for: (windows, channel) -> logits. A window is scaled by its
own level and spread inside the graph, as it is inside the network.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from caps.detect.networks import Detector
from caps.errors import InputError
from caps.export.file import CHANNEL, DESCRIPTION, LOGITS, WINDOWS

OPSET = 18
EXAMPLES = 2  # windows to trace with: one would be taken for a constant


class Stacked(nn.Module):
    """Detectors of equal layers; the channel says whose weights to use."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        super().__init__()
        states = [detector.state_dict() for detector in detectors]
        self._layers = (detectors[0],)  # in a tuple: its own weights are no part of the graph
        self._names = [name for name, tensor in states[0].items() if tensor.is_floating_point()]
        for place, name in enumerate(self._names):
            self.register_buffer(f"stack{place}", torch.stack([state[name] for state in states]))

    def forward(self, windows: Tensor, channel: Tensor) -> Tensor:  # (batch, time), (1,)
        weights = {
            name: self.get_buffer(f"stack{place}").index_select(0, channel).squeeze(0)
            for place, name in enumerate(self._names)
        }
        logits: Tensor = torch.func.functional_call(self._layers[0], weights, (windows,))
        return logits


def graph_of(detectors: Sequence[Detector], description: str) -> bytes:
    """A serialized ONNX model of the networks with a description in its metadata."""
    try:
        import onnxscript  # noqa: F401  # torch exports by it
    except ImportError:
        raise InputError("onnx is not installed", "pip install 'caps-tsad[onnx]'") from None
    windows = torch.zeros(EXAMPLES, detectors[0].config.window)
    with _quiet():
        program = torch.onnx.export(
            Stacked(detectors).eval(),
            (windows, torch.zeros(1, dtype=torch.int64)),
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
    entry = model.metadata_props.add()
    entry.key, entry.value = DESCRIPTION, description
    return bytes(model.SerializeToString())


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
