"""Detector networks D: windows of the scaled series in, one logit for every time step out."""

import torch
from einops import rearrange
from torch import Tensor, nn

from caps.network.config import DetectorConfig
from caps.training import Convolution, along_time

LARGEST = 1e6  # squares of larger values leave float32


class WindowView(nn.Module):
    """What the detector sees of a window; part of the network, so that it travels with it.

    `window`: by the window's own level and std. `series`: as scaled by the training part, which
    keeps levels. `both`: two channels.
    """

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.kind, self.clip, self.std_floor = config.view, config.clip, config.std_floor
        self.channels = 2 if self.kind == "both" else 1

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, channels, time)
        x = x.clamp(-LARGEST, LARGEST)
        series = x.clamp(-self.clip, self.clip)
        if self.kind == "series":
            return series.unsqueeze(1)
        centred = x - x.mean(dim=-1, keepdim=True)
        std = centred.square().mean(dim=-1, keepdim=True).sqrt()
        window = (centred / std.clamp(min=self.std_floor)).clamp(-self.clip, self.clip)
        if self.kind == "window":
            return window.unsqueeze(1)
        return torch.stack([window, series], dim=1)


class DilatedBlock(nn.Module):
    """Two dilated convolutions on a residual trunk that is never normalised."""

    def __init__(self, width: int, *, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        reach = dilation * (kernel // 2)
        self.first = Convolution(width, width, kernel, dilation=dilation, padding=reach)
        # By statistics of the training pairs: those of the window itself would let an anomaly
        # change the scores far from it.
        self.norm = nn.BatchNorm2d(width)
        self.second = Convolution(width, width, kernel, dilation=dilation, padding=reach)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, width, 1, patch) -> same
        branch = self.second(nn.functional.relu(self.norm(self.first(x))))
        return torch.add(x, self.dropout(branch))


class TcnDetector(nn.Module):
    """A temporal convolutional network whose every output sees the whole window."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.patch = config.patch
        self.view = WindowView(config)
        kernel = max(3, 7 // config.patch)  # 7 at full length: the reach of 256 points
        inputs = self.view.channels * config.patch
        self.stem = Convolution(inputs, config.width, kernel, padding=kernel // 2)
        self.blocks = nn.Sequential(
            *(
                DilatedBlock(
                    config.width, kernel=config.kernel, dilation=dilation, dropout=config.dropout
                )
                for dilation in config.dilations
            )
        )
        self.head = Convolution(config.width, config.outputs * config.patch, 1)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time)
        return self.outputs(x).amax(dim=1)

    def outputs(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, output, time)
        """The logits of every output."""
        logits: Tensor = self.head(self.features(x))
        return rearrange(
            logits, "batch (output step) 1 patch -> batch output (patch step)", step=self.patch
        )

    def features(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, width, 1, patch)
        """What the head reads."""
        seen = rearrange(self.view(x), "b channel (patch s) -> b (channel s) patch", s=self.patch)
        features: Tensor = self.blocks(self.stem(along_time(seen)))
        return features


class AttentionBlock(nn.Module):
    """Pre-norm self-attention over all patches, then a two-layer perceptron at each."""

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

    def forward(self, x: Tensor) -> Tensor:  # (batch, patch, width) -> same
        query, key, value = rearrange(
            self.query_key_value(self.norm(x)),
            "batch patch (three head c) -> three batch head patch c",
            three=3,
            head=self.heads,
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        attended = rearrange(attended, "batch head patch c -> batch patch (head c)")
        x = x + self.dropout(self.project(attended))
        return torch.add(x, self.dropout(self.think(x)))


class TransformerDetector(nn.Module):
    """Attention between patches of the window, instead of the TCN."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.patch = config.patch
        self.view = WindowView(config)
        # A convolution over a patch and its neighbours: a patch alone hides spikes at its edge.
        self.embed = nn.Conv1d(
            self.view.channels * config.patch, config.width, kernel_size=3, padding=1
        )
        patches = config.window // config.patch
        self.position = nn.Parameter(0.02 * torch.randn(patches, config.width))
        self.blocks = nn.Sequential(
            *(
                AttentionBlock(config.width, heads=config.heads, dropout=config.dropout)
                for _ in range(config.layers)
            )
        )
        last = nn.Linear(config.width, config.outputs * config.patch)
        self.head = nn.Sequential(nn.LayerNorm(config.width), last)

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, time)
        return self.outputs(x).amax(dim=1)

    def outputs(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, output, time)
        """The logits of every output."""
        seen = rearrange(self.view(x), "b channel (patch s) -> b (channel s) patch", s=self.patch)
        patches = rearrange(self.embed(seen), "batch width patch -> batch patch width")
        logits: Tensor = self.head(self.blocks(patches + self.position))
        return rearrange(
            logits, "batch patch (output step) -> batch output (patch step)", step=self.patch
        )
