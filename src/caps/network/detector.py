"""The detector: several networks trained from different seeds, windows in and logits out.

Values are scaled and of one channel; not-a-number marks what was not observed.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from caps.arrays import FloatArray
from caps.errors import ArtifactError
from caps.network.config import DetectorConfig
from caps.network.few_windows import FEW, few_logits
from caps.network.networks import LARGEST, TcnDetector, TransformerDetector
from caps.network.windowed import expit, row_logits
from caps.series import bridge

BATCH = 64  # windows at once through the network: their activations fit the processor's cache


class Detector(nn.Module):
    """Several networks trained from different seeds; their logits are averaged."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        kind = TcnDetector if config.network == "tcn" else TransformerDetector
        self.members = nn.ModuleList(kind(config) for _ in range(config.members))

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time) logits
        return torch.stack([member(x) for member in self.members]).mean(dim=0)

    def row_logits(
        self, values: FloatArray, *, causal: bool = False, last: int | None = None
    ) -> FloatArray:
        """A logit for each of the last rows of a scaled series."""
        return score_logits(self, values, causal=causal, last=last)


def score_series(
    detector: Detector, values: FloatArray, *, causal: bool = False, last: int | None = None
) -> FloatArray:
    """Scores in [0, 1] of a scaled series; not-a-number exactly where nothing was observed.

    Windows overlap, and the logits of a row are averaged with more weight in the middle of a
    window. With `causal`, a row is scored by the last step of the window that ends there. `last`
    asks for so many rows at the end only.
    """
    return expit(score_logits(detector, values, causal=causal, last=last))


def score_logits(
    detector: Detector, values: FloatArray, *, causal: bool = False, last: int | None = None
) -> FloatArray:
    """The logits of `score_series`, for sums with other evidence."""
    logits_of = partial(window_logits, detector)
    return row_logits(logits_of, detector.config, values, causal=causal, last=last)


@torch.inference_mode()
def window_logits(detector: Detector, windows: FloatArray) -> FloatArray:
    """Logits (window, time) of windows with gaps, which are bridged for the network."""
    logits = np.empty(windows.shape)
    for first in range(0, len(windows), BATCH):
        batch = np.clip(windows[first : first + BATCH], -LARGEST, LARGEST)
        bridged = bridge(batch).astype(np.float32)
        few = few_logits(detector.members, bridged) if len(windows) <= FEW else None
        if few is None:
            few = detector(torch.from_numpy(bridged)).numpy()
        logits[first : first + BATCH] = few
    return logits


def detector_arrays(detector: Detector) -> dict[str, np.ndarray]:
    """Its weights by name."""
    return {name: tensor.cpu().numpy() for name, tensor in detector.state_dict().items()}


def detector_of(config: DetectorConfig, arrays: Mapping[str, np.ndarray]) -> Detector:
    """The detector whose `detector_arrays` these are; odd, missing or other ones are errors."""
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
        if name not in wanted or tensor.dtype != wanted[name].dtype:
            raise ArtifactError(f"the detector has no such weights: {name}", "fit it again")
        if not bool(torch.isfinite(tensor).all()):
            raise ArtifactError(f"weights {name!r} are no finite numbers", "fit it again")
        state[name] = tensor
    detector.load_state_dict(state, strict=True, assign=True)
    return detector.eval().requires_grad_(False)
