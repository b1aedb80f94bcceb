"""The codes of a few windows by numpy alone, so that kinds are named without torch.

The twin of `encoder.py` in evaluation mode, by the same names of weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import Singles
from caps.represent.config import RepresentConfig

Weights = Mapping[str, np.ndarray]  # float32

GROUPS = 8  # of every norm in a block
HEADS = 8  # of the attention
EPSILON = np.float32(1e-5)  # of all norms, torch's own


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Windows (batch, time) to structure codes and semantic codes."""

    config: RepresentConfig
    weights: Weights

    def of(self, windows: Singles, support: Singles) -> tuple[Singles, Singles]:
        """z_s (batch, structure), and z_a (batch, semantic) of what is on the support."""
        config = self.config
        x = windows[:, None]  # (batch, channel, time)
        branches = enumerate(config.dilations)
        h = _gelu(
            np.concatenate(
                [
                    self._spread(f"encoder.extractor.branches.{number}", x, dilation)
                    for number, dilation in branches
                ],
                axis=1,
            )
        )
        for number, stride in enumerate(config.strides):
            h = self._block(f"encoder.blocks.{number}", h, stride, 2**number)
        return self._structure(h), self._semantic(h, support)

    def _block(self, name: str, x: Singles, stride: int, dilation: int) -> Singles:
        padded = np.pad(x, ((0, 0), (0, 0), (stride, stride)))
        trunk = self._convolved(f"{name}.enter", padded, 1, stride)
        branch = _gelu(self._normed(f"{name}.norm", trunk))
        return _gelu(trunk + self._spread(f"{name}.spread", branch, dilation))

    def _structure(self, h: Singles) -> Singles:
        squeezed = self._convolved("structure_head.squeeze", h)
        z_s = self._linear("structure_head.project", squeezed.reshape(len(h), -1))
        mean, variance = (
            self.weights[f"structure_head.standardise.running_{each}"] for each in ("mean", "var")
        )
        return np.asarray((z_s - mean) / np.sqrt(variance + EPSILON))

    def _semantic(self, h: Singles, support: Singles) -> Singles:
        batch, positions = len(h), h.shape[2]
        guide = support.reshape(batch, 1, positions, -1).max(axis=3)
        seen = np.concatenate([h, guide], axis=1)
        attention = softmax(self._convolved("semantic_head.attend", seen))
        value = self._convolved("semantic_head.value", seen)
        value = value.reshape(batch, HEADS, -1, positions)
        pooled = np.einsum("bhcp,bhp->bhc", value, attention).reshape(batch, -1)
        both = np.concatenate([pooled, (h * guide).max(axis=2)], axis=1)
        hidden = _gelu(self._linear("semantic_head.project.0", both))
        return self._linear("semantic_head.project.2", hidden)

    def _spread(self, name: str, x: Singles, dilation: int) -> Singles:
        """A convolution that keeps the length."""
        reach = dilation * (self.weights[f"{name}.weight"].shape[2] - 1)
        padded = np.pad(x, ((0, 0), (0, 0), (reach // 2, reach - reach // 2)))
        return self._convolved(name, padded, dilation)

    def _convolved(self, name: str, x: Singles, dilation: int = 1, stride: int = 1) -> Singles:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        reach = dilation * (weight.shape[2] - 1) + 1
        seen = sliding_window_view(x, reach, axis=2)[:, :, ::stride, ::dilation]
        return np.asarray(np.einsum("bitk,oik->bot", seen, weight, optimize=True) + bias[:, None])

    def _linear(self, name: str, x: Singles) -> Singles:
        return np.asarray(x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def _normed(self, name: str, x: Singles) -> Singles:
        grouped = x.reshape(len(x), GROUPS, -1)
        mean, variance = grouped.mean(axis=2, keepdims=True), grouped.var(axis=2, keepdims=True)
        standard = ((grouped - mean) / np.sqrt(variance + EPSILON)).reshape(x.shape)
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return np.asarray(standard * weight[:, None] + bias[:, None])


def softmax(logits: Singles) -> Singles:
    """Over the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def _gelu(x: Singles) -> Singles:
    from scipy.special import erf  # half a second that the fit of a detector does without

    return np.asarray(x * (0.5 + 0.5 * erf(x / np.sqrt(np.float32(2)))), dtype=np.float32)
