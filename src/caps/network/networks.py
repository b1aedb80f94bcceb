"""Detector networks D: windows of the scaled series in, one logit for every time step out."""

import numpy as np
import torch
from einops import rearrange
from numpy.typing import NDArray
from torch import Tensor, nn

from caps.network.config import DetectorConfig, View

SPREAD_FLOOR = 0.1  # of the series' spread: a flat window must not blow up its noise
CLIP = 10.0
LARGEST = 1e6  # squares of larger values leave float32


class WindowView(nn.Module):
    """What the detector sees of a window; part of the network, so that it travels with it.

    `window`: by the window's own level and spread. `series`: as scaled by the training part, which
    keeps levels. `both`: two channels.
    """

    def __init__(self, kind: View) -> None:
        super().__init__()
        self.kind = kind
        self.channels = 2 if kind == "both" else 1

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, channels, time)
        x = x.clamp(-LARGEST, LARGEST)
        series = x.clamp(-CLIP, CLIP)
        if self.kind == "series":
            return series.unsqueeze(1)
        centred = x - x.mean(dim=-1, keepdim=True)
        spread = centred.square().mean(dim=-1, keepdim=True).sqrt()
        window = (centred / spread.clamp(min=SPREAD_FLOOR)).clamp(-CLIP, CLIP)
        if self.kind == "window":
            return window.unsqueeze(1)
        return torch.stack([window, series], dim=1)


class DilatedBlock(nn.Module):
    """Two dilated convolutions on a residual trunk that is never normalised."""

    def __init__(self, width: int, *, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        reach = dilation * (kernel // 2)
        self.first = nn.Conv1d(width, width, kernel, dilation=dilation, padding=reach)
        # By statistics of the training pairs: those of the window itself would let an anomaly
        # change the scores far from it.
        self.norm = nn.BatchNorm1d(width)
        self.second = nn.Conv1d(width, width, kernel, dilation=dilation, padding=reach)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, width, place) -> same
        branch = self.second(nn.functional.relu(self.norm(self.first(x))))
        return torch.add(x, self.dropout(branch))


class TcnDetector(nn.Module):
    """A temporal convolutional network whose every output sees the whole window."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.patch = config.patch
        self.view = WindowView(config.view)
        kernel = max(3, 7 // config.patch)  # 7 at full length: the reach of 256 points
        inputs = self.view.channels * config.patch
        self.stem = nn.Conv1d(inputs, config.width, kernel, padding=kernel // 2)
        self.blocks = nn.Sequential(
            *(
                DilatedBlock(
                    config.width, kernel=config.kernel, dilation=dilation, dropout=config.dropout
                )
                for dilation in config.dilations
            )
        )
        self.head = nn.Conv1d(config.width, config.patch, 1)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time)
        seen = rearrange(self.view(x), "b channel (place s) -> b (channel s) place", s=self.patch)
        logits: Tensor = self.head(self.blocks(self.stem(seen)))
        return rearrange(logits, "batch step place -> batch (place step)")


class AttentionBlock(nn.Module):
    """Pre-norm self-attention over all places, then a two-layer perceptron at each."""

    def __init__(self, width: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.think = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, place, width) -> same
        query, key, value = rearrange(
            self.query_key_value(self.norm(x)),
            "batch place (three head c) -> three batch head place c",
            three=3,
            head=self.heads,
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        attended = rearrange(attended, "batch head place c -> batch place (head c)")
        x = x + self.dropout(self.project(attended))
        return torch.add(x, self.dropout(self.think(x)))


class TransformerDetector(nn.Module):
    """Attention between patches of the window, instead of the TCN."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.patch = config.patch
        self.view = WindowView(config.view)
        # A convolution over a patch and its neighbours: a patch alone hides spikes at its edge.
        self.embed = nn.Conv1d(
            self.view.channels * config.patch, config.width, kernel_size=3, padding=1
        )
        places = config.window // config.patch
        self.position = nn.Parameter(0.02 * torch.randn(places, config.width))
        self.blocks = nn.Sequential(
            *(
                AttentionBlock(config.width, heads=config.heads, dropout=config.dropout)
                for _ in range(config.layers)
            )
        )
        self.head = nn.Sequential(nn.LayerNorm(config.width), nn.Linear(config.width, config.patch))

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time)
        seen = rearrange(self.view(x), "b channel (place s) -> b (channel s) place", s=self.patch)
        places = rearrange(self.embed(seen), "batch width place -> batch place width")
        logits: Tensor = self.head(self.blocks(places + self.position))
        return rearrange(logits, "batch place step -> batch (place step)")


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
        self, values: NDArray[np.float64], *, causal: bool = False, last: int | None = None
    ) -> NDArray[np.float64]:
        """A logit for each of the last rows of a scaled series."""
        from caps.network.logits import score_logits

        return score_logits(self, values, causal=causal, last=last)
