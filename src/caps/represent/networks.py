"""The networks of the representation: the encoder E with its heads E_s and E_a, and the decoders.

h = E(x), z_s = E_s(h), z_a = E_a(h); base(z_s) and res(z_s, z_a, m) are auxiliary.
"""

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


class BaseDecoder(nn.Module):
    """base(z_s): the window's temporal structure, from a coarse grid up to full length."""

    coarse = 16

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        self.width = config.base_width
        self.window = config.window
        self.lift = nn.Linear(config.structure, self.width * self.coarse)
        self.mix = nn.Sequential(
            nn.GELU(),
            nn.Conv1d(self.width, self.width, 3, padding="same"),
            nn.GELU(),
            nn.Conv1d(self.width, self.width, 3, padding="same"),
            nn.GELU(),
        )
        # Each coarse position writes its own steps and, overlapping, half of its neighbours'.
        step = config.window // self.coarse
        self.write = nn.ConvTranspose1d(self.width, 1, 2 * step, stride=step, padding=step // 2)
        self.direct = nn.Linear(config.structure, config.window)

    def forward(self, z_s: Tensor) -> Tensor:  # (batch, structure) -> (batch, time)
        grid = rearrange(
            self.lift(z_s), "batch (width position) -> batch width position", width=self.width
        )
        shape: Tensor = self.write(self.mix(grid)).squeeze(1) + self.direct(z_s)
        return shape


class LocationEmbedding(nn.Module):
    """Where the support lies: m, the signed distance to its edges, the position in the window."""

    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.embed = nn.Conv1d(4, width, 2 * patch + 1, stride=patch, padding=patch)

    def forward(self, support: Tensor) -> Tensor:  # (batch, time) -> (batch, width, time / patch)
        return nn.functional.gelu(self.embed(location_features(support)))


def location_features(support: Tensor) -> Tensor:
    """(batch, time) -> (batch, 4, time): m, saturating distances from the edges, position."""
    since = _steps_since_change(support)
    until = _steps_since_change(support.flip(-1)).flip(-1)
    position = torch.linspace(-1, 1, support.shape[-1], device=support.device).expand_as(support)
    return torch.stack([support, torch.tanh(since / 16), torch.tanh(until / 16), position], dim=1)


def _steps_since_change(support: Tensor) -> Tensor:
    """Steps since m last changed; negative outside the support, so that inside and out differ."""
    index = torch.arange(support.shape[-1], device=support.device).expand_as(support)
    changed = torch.ones_like(support, dtype=torch.bool)
    changed[:, 1:] = support[:, 1:] != support[:, :-1]
    last = torch.where(changed, index, torch.zeros_like(index)).cummax(dim=-1).values
    return (index - last + 1).to(support.dtype) * (2 * support - 1)


class ModulatedBlock(nn.Module):
    """A dilated residual convolution whose features are scaled and shifted by the codes."""

    def __init__(self, width: int, condition: int, *, dilation: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.modulate = nn.Linear(condition, 2 * width)
        self.spread = nn.Conv1d(width, width, 3, dilation=dilation, padding="same")

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.modulate(condition).unsqueeze(-1).chunk(2, dim=1)
        branch: Tensor = self.spread(nn.functional.gelu(self.norm(x) * (1 + scale) + shift))
        return x + branch


class ResidualDecoder(nn.Module):
    """res(z_s, z_a, m): the effect of the semantics on this structure, zero outside the support.

    It reads the structure as the trajectory base(z_s), so that effects which bend the window's own
    shape (a warp, a mirrored cycle) are a local operation on what it sees.
    """

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        width, patch = config.residual_width, config.patch
        condition = 2 * width
        self.locate = LocationEmbedding(config.location, patch)
        self.look = nn.Conv1d(
            1, width - config.location, 4 * patch + 1, stride=patch, padding=2 * patch
        )
        self.condition = nn.Sequential(
            nn.Linear(config.structure + config.semantic, condition), nn.GELU()
        )
        self.blocks = nn.ModuleList(
            ModulatedBlock(width, condition, dilation=2 ** (i % 4))
            for i in range(config.residual_blocks)
        )
        self.write = nn.Conv1d(width, patch, 3, padding="same")

    def forward(self, z_s: Tensor, z_a: Tensor, support: Tensor, structure: Tensor) -> Tensor:
        # z_s (batch, structure), z_a (batch, semantic), support and structure (batch, time)
        condition = self.condition(torch.cat([z_s, z_a], dim=-1))
        x = torch.cat([self.look(structure.unsqueeze(1)), self.locate(support)], dim=1)
        for block in self.blocks:
            x = block(x, condition)
        effect: Tensor = rearrange(self.write(x), "batch step position -> batch (position step)")
        return effect * support
