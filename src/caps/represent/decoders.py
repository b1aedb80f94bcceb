"""Auxiliary decoders of representation learning: base(z_s) and res(z_s, z_a, m)."""

import torch
from einops import rearrange
from torch import Tensor, nn

from caps.represent.config import RepresentConfig


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
