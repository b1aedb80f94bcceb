"""Several outputs made comparable: -log of the p-value of each on rows held out.

An upper share of the logits of normal points is taken as exponential, so that -log p is linear in
the logit: it becomes part of the last layer's weights, and the network stays the same function for
torch, numpy and ONNX. The largest output is then the smallest p-value, less the logarithm of how
many there are (Bonferroni).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from caps.network.config import DetectorConfig
from caps.network.networks import TcnDetector, TransformerDetector

SILENT = -1e4  # logit of an output that no counterpart has taught
BATCH = 64  # windows at once


@torch.no_grad()
def calibrate_outputs(
    network: nn.Module,
    references: Tensor,  # (n, time)
    trusted: Tensor,
    used: Sequence[int],
    config: DetectorConfig,
) -> None:
    """Scale the last layer so that every used output is -log p of normal points, corrected."""
    assert isinstance(network, TcnDetector | TransformerDetector)
    last = network.head if isinstance(network.head, nn.Conv1d) else network.head[-1]
    assert isinstance(last, nn.Conv1d | nn.Linear)
    assert last.bias is not None
    network.eval()
    logits = torch.cat([network.outputs(part) for part in torch.split(references, BATCH)])
    known = trusted > 0
    for output in range(config.outputs):
        own = slice(output * config.patch, (output + 1) * config.patch)
        if output not in used:
            last.weight[own] = 0.0
            last.bias[own] = SILENT
            continue
        level, scale = _tail(logits[:, output][known], config)
        # -log p = -log share + (logit - level) / scale
        offset = -math.log(config.output_share) - math.log(len(used)) - level / scale
        last.weight[own] /= scale
        last.bias[own] = last.bias[own] / scale + offset


def _tail(logits: Tensor, config: DetectorConfig) -> tuple[float, float]:
    """The level that the stated share of the logits exceeds, and by how much they do on average."""
    values = logits.double().sort().values
    level = float(values[min(int((1 - config.output_share) * len(values)), len(values) - 1)])
    beyond = values[values > level] - level
    scale = float(beyond.mean()) if len(beyond) else 0.0
    return level, max(scale, config.least_tail)
