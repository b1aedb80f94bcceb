"""The TCN detector on a few windows, in numpy.

A row that comes alone is one window. Torch takes longer to start its two dozen convolutions than
to compute them; as products of small matrices they take a fraction of the time. The weights are
the network's own, so this is the same function, up to rounding.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from caps.network.networks import LARGEST, DilatedBlock, TcnDetector, WindowView

Array = NDArray[np.float32]

FEW = 6  # windows; more are faster together in torch


def few_logits(members: nn.ModuleList, windows: Array) -> Array | None:
    """Logits (window, time) of a few windows without gaps; None if torch has to do it.

    What is asked of a detector here ends its training: its weights are taken over once.
    """
    if members.training or not all(isinstance(member, TcnDetector) for member in members):
        _known.pop(members, None)
        return None
    if members not in _known:
        _known[members] = _Network.of(members)
    network = _known[members]
    return np.stack([network.logits(window) for window in windows])


@dataclass(frozen=True, slots=True, eq=False)
class _Convolution:
    """The same convolution of all members, each with weights of its own."""

    weight: Array  # (member, out, in * kernel)
    bias: Array  # (member, out, 1)
    kernel: int
    dilation: int

    @classmethod
    def of(cls, layers: list[nn.Conv1d], norms: list[nn.BatchNorm2d] | None = None) -> Self:
        weight = _stacked(layer.weight for layer in layers)
        bias = _stacked(layer.bias for layer in layers)
        if norms is not None:  # by the statistics of training: a factor and a shift
            std = np.sqrt(_stacked(norm.running_var for norm in norms) + norms[0].eps)
            scale = _stacked(norm.weight for norm in norms) / std
            mean = _stacked(norm.running_mean for norm in norms)
            bias = (bias - mean) * scale + _stacked(norm.bias for norm in norms)
            weight = weight * scale[:, :, None, None]
        members, outputs, channels, kernel = weight.shape
        flat = weight.reshape(members, outputs, channels * kernel)
        return cls(
            np.ascontiguousarray(flat, dtype=np.float32),
            bias[:, :, None].astype(np.float32),
            kernel,
            layers[0].dilation[0],
        )

    def __call__(self, x: Array) -> Array:  # (member, in, patch) -> (member, out, patch)
        members, channels, length = x.shape
        if self.kernel > 1:
            taps = np.zeros((members, channels, self.kernel, length), dtype=np.float32)
            for tap in range(self.kernel):
                offset = (tap - self.kernel // 2) * self.dilation
                first, last = max(0, -offset), min(length, length - offset)
                if first < last:
                    taps[:, :, tap, first:last] = x[:, :, first + offset : last + offset]
            x = taps.reshape(members, channels * self.kernel, length)
        product: Array = self.weight @ x
        product += self.bias
        return product


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """All members of a detector, as matrices."""

    view: WindowView
    patch: int
    stem: _Convolution
    blocks: list[tuple[_Convolution, _Convolution]]
    head: _Convolution

    @classmethod
    def of(cls, networks: nn.ModuleList) -> Self:
        members = [member for member in networks if isinstance(member, TcnDetector)]
        blocks = []
        for parts in zip(*(member.blocks for member in members), strict=True):
            each = [part for part in parts if isinstance(part, DilatedBlock)]
            first = _Convolution.of([part.first for part in each], [part.norm for part in each])
            blocks.append((first, _Convolution.of([part.second for part in each])))
        stem = _Convolution.of([member.stem for member in members])
        head = _Convolution.of([member.head for member in members])
        return cls(members[0].view, members[0].patch, stem, blocks, head)

    def logits(self, window: Array) -> Array:
        """The mean logits (time,) of the members."""
        seen = _view(self.view, window)  # (channel, time)
        patches = seen.reshape(len(seen), -1, self.patch).transpose(0, 2, 1)
        folded = patches.reshape(1, len(seen) * self.patch, -1)
        trunk = self.stem(folded)
        for first, second in self.blocks:
            trunk += second(np.maximum(first(trunk), 0))
        logits = self.head(trunk)  # (member, output * patch, patches)
        split = logits.reshape(len(logits), -1, self.patch, logits.shape[2])
        largest = split.max(axis=1)  # (member, patch, patches)
        return np.asarray(largest.mean(axis=0).T.reshape(-1))


_known: WeakKeyDictionary[nn.ModuleList, _Network] = WeakKeyDictionary()


def _view(view: WindowView, window: Array) -> Array:
    bounded = np.clip(window, -LARGEST, LARGEST)
    series = np.clip(bounded, -view.clip, view.clip)
    if view.kind == "series":
        return series[None]
    centred = bounded - bounded.mean()
    std = max(float(np.sqrt(np.square(centred).mean())), view.std_floor)
    seen = np.clip(centred / np.float32(std), -view.clip, view.clip)
    return seen[None] if view.kind == "window" else np.stack([seen, series])


def _stacked(tensors: Iterable[Tensor | None]) -> NDArray[np.float64]:
    """One for each member; every layer has a bias, every norm its statistics."""
    return np.stack([tensor.detach().double().numpy() for tensor in tensors if tensor is not None])
