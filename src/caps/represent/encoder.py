"""The shared encoder E and its two heads: h = E(x), z_s = E_s(h), z_a = E_a(h)."""

import torch
from einops import rearrange
from torch import Tensor, nn

from caps.represent.config import RepresentConfig


class MultiScaleExtractor(nn.Module):
    """Parallel convolutions of growing reach, so that spikes and cycles are both seen at once."""

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        width = config.hidden[0] // len(config.kernels)
        self.branches = nn.ModuleList(
            nn.Conv1d(1, width, kernel, dilation=dilation, padding="same")
            for kernel, dilation in zip(config.kernels, config.dilations, strict=True)
        )

    def forward(self, x: Tensor) -> Tensor:  # (batch, 1, time) -> (batch, hidden[0], time)
        return nn.functional.gelu(torch.cat([branch(x) for branch in self.branches], dim=1))


class ResidualBlock(nn.Module):
    """Two dilated convolutions on a trunk that is never normalised, so that levels survive."""

    def __init__(
        self, inputs: int, outputs: int, *, stride: int, dilation: int, dropout: float
    ) -> None:
        super().__init__()
        self.enter = nn.Conv1d(inputs, outputs, 2 * stride + 1, stride=stride, padding=stride)
        self.norm = nn.GroupNorm(8, outputs)
        self.spread = nn.Conv1d(outputs, outputs, 3, dilation=dilation, padding="same")
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor
    ) -> Tensor:  # (batch, inputs, time) -> (batch, outputs, time/stride)
        trunk = self.enter(x)
        branch = self.spread(nn.functional.gelu(self.norm(trunk)))
        return nn.functional.gelu(trunk + self.dropout(branch))


class Encoder(nn.Module):
    """The multi-scale extractor and a stack of residual dilated blocks: E."""

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        self.extractor = MultiScaleExtractor(config)
        widths = (config.hidden[0], *config.hidden)
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(
                    widths[i],
                    widths[i + 1],
                    stride=config.strides[i],
                    dilation=2**i,
                    dropout=config.dropout,
                )
                for i in range(3)
            )
        )

    def forward(self, x: Tensor) -> Tensor:  # (batch, time) -> (batch, hidden[2], positions)
        h: Tensor = self.blocks(self.extractor(rearrange(x, "batch time -> batch 1 time")))
        return h


class StructureHead(nn.Module):
    """E_s: what the whole window looks like, position by position, in one vector.

    The code is standardised over the batch without learned scale: under L_dis alone the cheapest
    code is a constant one, and standardising takes that way out.
    """

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        positions = config.window // config.downsampling
        squeezed = max(1, 2048 // positions)
        self.squeeze = nn.Conv1d(config.hidden[2], squeezed, 1)
        self.project = nn.Linear(squeezed * positions, config.structure)
        self.standardise = nn.BatchNorm1d(config.structure, affine=False)

    def forward(self, h: Tensor) -> Tensor:  # (batch, hidden[2], positions) -> (batch, structure)
        squeezed = rearrange(self.squeeze(h), "batch channel position -> batch (channel position)")
        z_s: Tensor = self.standardise(self.project(squeezed))
        return z_s


class SemanticHead(nn.Module):
    """E_a: what happens on the support, and around it, summed up in one vector.

    Attention pooling carries the effect without its position (given to the decoders), which
    plain averaging dilutes for short effects. It starts out on the support and may learn to look
    elsewhere; without a known support the whole window is given.
    """

    heads = 8
    pull = 4.0  # initial weight of the support in the attention: e^4 times a position outside

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        width = config.hidden[2]
        self.positions = config.window // config.downsampling
        self.attend = nn.Conv1d(width + 1, self.heads, 1)
        self.value = nn.Conv1d(width + 1, width, 1)
        self.project = nn.Sequential(
            nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, config.semantic)
        )
        with torch.no_grad():
            self.attend.weight[:, -1] = self.pull

    def forward(self, h: Tensor, support: Tensor) -> Tensor:
        # h (batch, hidden[2], positions), support (batch, time) -> (batch, semantic)
        step = support.shape[-1] // self.positions
        guide = nn.functional.max_pool1d(support.unsqueeze(1), step)
        seen = torch.cat([h, guide], dim=1)
        attention = self.attend(seen).softmax(dim=-1)
        value = rearrange(
            self.value(seen), "b (head c) position -> b head c position", head=self.heads
        )
        pooled = torch.einsum("bhcp,bhp->bhc", value, attention)
        pooled = rearrange(pooled, "batch head channel -> batch (head channel)")
        strongest = (h * guide).amax(dim=-1)
        z_a: Tensor = self.project(torch.cat([pooled, strongest], dim=-1))
        return z_a
