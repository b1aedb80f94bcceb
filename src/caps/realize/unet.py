"""The denoising U-Net of one expert: U_k(r_tau, tau, z_s, z_a, m)."""

import math
from dataclasses import dataclass, fields
from itertools import pairwise

import torch
from einops import rearrange
from torch import Tensor, nn

from caps.realize.config import RealizeConfig
from caps.represent import LocationEmbedding, RepresentConfig
from caps.training import Convolution, TransposedConvolution, along_time


@dataclass(frozen=True, slots=True)
class Condition:
    """What an expert is told: z_s, z_a (standardised), m, base(z_s) and how blurred z_a is."""

    structure_code: Tensor  # (batch, structure)
    semantic_code: Tensor  # (batch, semantic)
    support: Tensor  # (batch, time), 0/1
    structure: Tensor  # (batch, time)
    blur: Tensor  # (batch,)

    def rows(self, part: slice) -> "Condition":
        """What it is for some of the rows."""
        return Condition(*(getattr(self, each.name)[part] for each in fields(self)))


def time_embedding(tau: Tensor, width: int) -> Tensor:
    """Sinusoids of the diffusion step: (batch,) -> (batch, width)."""
    rates = torch.exp(-math.log(1e4) * torch.arange(width // 2, device=tau.device) / (width // 2))
    angles = tau.float().unsqueeze(-1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ConditionedBlock(nn.Module):
    """Two convolutions; the condition scales and shifts the features between them."""

    def __init__(self, inputs: int, outputs: int, condition: int) -> None:
        super().__init__()
        self.first_norm = nn.GroupNorm(8, inputs)
        self.first = Convolution(inputs, outputs, 3, padding=1)
        self.modulate = nn.Linear(condition, 2 * outputs)
        self.second_norm = nn.GroupNorm(8, outputs)
        self.second = Convolution(outputs, outputs, 3, padding=1)
        self.skip = Convolution(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        h = self.first(nn.functional.silu(self.first_norm(x)))
        scale, shift = self.modulate(condition)[:, :, None, None].chunk(2, dim=1)
        h = torch.addcmul(shift, self.second_norm(h), 1 + scale)
        out: Tensor = self.skip(x) + self.second(nn.functional.silu(h))
        return out


class SelfAttention(nn.Module):
    """Lets distant parts of the window inform each other at the coarsest level."""

    heads = 4

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.project = Convolution(width, 3 * width, 1)
        self.out = Convolution(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        parts = rearrange(
            self.project(self.norm(x)), "b (three h c) 1 t -> three b h t c", three=3, h=self.heads
        )
        mixed = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
        out: Tensor = self.out(rearrange(mixed, "b h t c -> b (h c) 1 t"))
        return x + out


class ResidualExpert(nn.Module):
    """U_k: predicts noise (or velocity) of a residual under its condition."""

    refine_width = 16

    def __init__(self, config: RealizeConfig, represent: RepresentConfig) -> None:
        super().__init__()
        self.patch = config.patch
        self.time_width = config.time_embedding
        widths = config.channels
        context = 4 * config.time_embedding
        codes = represent.structure + represent.semantic + 1
        self.condition = nn.Sequential(
            nn.Linear(config.time_embedding + codes, context),
            nn.SiLU(),
            nn.Linear(context, context),
            nn.SiLU(),
        )
        self.locate = LocationEmbedding(config.location, config.patch)
        self.enter = Convolution(3 * config.patch + config.location, widths[0], 3, padding=1)
        self.down = nn.ModuleList()
        self.up = nn.ModuleList()
        self.shrink = nn.ModuleList()
        self.grow = nn.ModuleList()
        for narrow, wide in pairwise(widths):
            self.down.append(ConditionedBlock(narrow, narrow, context))
            self.shrink.append(Convolution(narrow, wide, 4, stride=2, padding=1))
            self.up.insert(0, ConditionedBlock(2 * narrow, narrow, context))
            self.grow.insert(0, TransposedConvolution(wide, narrow, 4, stride=2, padding=1))
        self.middle = ConditionedBlock(widths[-1], widths[-1], context)
        self.attend = SelfAttention(widths[-1])
        self.settle = ConditionedBlock(widths[-1], widths[-1], context)
        self.unfold = Convolution(widths[0], self.refine_width * config.patch, 3, padding=1)
        # At full length again: takes away the seams between patches, a source of roughness.
        self.refine = nn.Sequential(
            Convolution(self.refine_width + 3, self.refine_width, 5, padding=2),
            nn.SiLU(),
            Convolution(self.refine_width, 1, 5, padding=2),
        )

    def forward(self, r_tau: Tensor, tau: Tensor, given: Condition) -> Tensor:
        # r_tau (batch, time), tau (batch,) -> (batch, time)
        codes = [given.structure_code, given.semantic_code, given.blur.unsqueeze(-1)]
        context = self.condition(torch.cat([time_embedding(tau, self.time_width), *codes], dim=-1))
        seen = torch.stack([r_tau, given.support, given.structure], dim=1)  # (batch, 3, time)
        folded = rearrange(seen, "b c (patch step) -> b (c step) patch", step=self.patch)
        x = self.enter(along_time(torch.cat([folded, self.locate(given.support)], dim=1)))
        skips = []
        for block, shrink in zip(self.down, self.shrink, strict=True):
            x = block(x, context)
            skips.append(x)
            x = shrink(x)
        x = self.settle(self.attend(self.middle(x, context)), context)
        for grow, block in zip(self.grow, self.up, strict=True):
            x = block(torch.cat([grow(x), skips.pop()], dim=1), context)
        full = rearrange(self.unfold(x), "b (c step) 1 patch -> b c (patch step)", step=self.patch)
        out: Tensor = self.refine(along_time(torch.cat([full, seen], dim=1)))
        return out[:, 0, 0]
