"""The TCN detector on a few windows, in numpy.

A row that comes alone is one window. Torch takes longer to start its two dozen convolutions than
to compute them; as products of small matrices they take a fifth of the time. The weights are the
network's own, so this is the same function, up to rounding.
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from caps.detect.networks import (
    CLIP,
    LARGEST,
    SPREAD_FLOOR,
    Detector,
    DilatedBlock,
    TcnDetector,
    WindowView,
)

Array = NDArray[np.float32]

FEW = 6  # windows; more are faster together in torch


def few_logits(detector: Detector, windows: Array) -> Array | None:
    """Logits (window, time) of a few windows without gaps; None if torch has to do it."""
    if detector.config.network != "tcn" or detector.training:
        return None
    members = [member for member in detector.members if isinstance(member, TcnDetector)]
    parts = [[_member(member, window) for member in members] for window in windows]
    return np.asarray(np.asarray(parts).mean(axis=1), dtype=np.float32)


def _member(network: TcnDetector, window: Array) -> Array:
    seen = _view(network.view, window)  # (channel, time)
    channels, patch = len(seen), network.patch
    folded = seen.reshape(channels, -1, patch).transpose(0, 2, 1).reshape(channels * patch, -1)
    trunk = _convolve(network.stem, folded)
    for block in network.blocks:
        assert isinstance(block, DilatedBlock)
        trunk += _convolve(block.second, np.maximum(_normalise(block, trunk), 0))
    return _convolve(network.head, trunk).T.reshape(-1)


def _view(view: WindowView, window: Array) -> Array:
    bounded = np.clip(window, -LARGEST, LARGEST)
    series = np.clip(bounded, -CLIP, CLIP)
    if view.kind == "series":
        return series[None]
    centred = bounded - bounded.mean()
    spread = max(float(np.sqrt(np.square(centred).mean())), SPREAD_FLOOR)
    own = np.clip(centred / np.float32(spread), -CLIP, CLIP)
    return own[None] if view.kind == "window" else np.stack([own, series])


def _normalise(block: DilatedBlock, trunk: Array) -> Array:
    """The first convolution and the normalisation by the statistics of training."""
    norm = block.norm
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = _array(norm.weight) / np.sqrt(_array(norm.running_var) + np.float32(norm.eps))
    shift = _array(norm.bias) - scale * _array(norm.running_mean)
    return np.asarray(_convolve(block.first, trunk) * scale[:, None] + shift[:, None])


def _convolve(layer: nn.Conv1d, x: Array) -> Array:
    """A convolution of the same length as a product of matrices."""
    weight = _array(layer.weight)  # (out, in, kernel)
    outputs, channels, kernel = weight.shape
    dilation, length = layer.dilation[0], x.shape[1]
    if kernel > 1:
        reach = dilation * (kernel // 2)
        taps = np.zeros((channels, kernel, length), dtype=np.float32)
        for tap in range(kernel):
            offset = tap * dilation - reach
            first, last = max(0, -offset), min(length, length - offset)
            if first < last:
                taps[:, tap, first:last] = x[:, first + offset : last + offset]
        x = taps.reshape(channels * kernel, length)
    product = weight.reshape(outputs, -1) @ x
    return product if layer.bias is None else product + _array(layer.bias)[:, None]


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().numpy())
