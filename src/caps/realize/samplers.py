"""Reverse processes: from noise to a residual, in 200 small steps or a few large ones."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from caps.errors import InputError
from caps.realize.experts import LIMIT, Denoiser
from caps.realize.unet import Condition

Method = Literal["ddpm", "ddim", "dpm++"]


@dataclass(frozen=True, slots=True)
class Sampler:
    """How residuals are drawn.

    `ddpm` is the ancestral process (with `steps` below the diffusion's it strides), `ddim` its
    deterministic sibling, `dpm++` the second-order multistep DPM-Solver++.
    """

    method: Method = "ddpm"
    steps: int = 200

    def __post_init__(self) -> None:
        if self.method not in ("ddpm", "ddim", "dpm++"):
            raise InputError(f"unknown sampler {self.method!r}", "use ddpm, ddim or dpm++")
        if self.steps < 2:
            raise InputError(f"{self.steps} sampling steps are too few", "take at least 2")


@torch.no_grad()
def sample(
    denoiser: Denoiser, given: Condition, sampler: Sampler, generator: torch.Generator
) -> Tensor:
    """Draw one scaled residual for each row of the condition, zero outside its support."""
    return _reverse(denoiser, given, sampler, generator) * given.support


@torch.no_grad()
def sample_unmasked(
    denoiser: Denoiser, given: Condition, sampler: Sampler, generator: torch.Generator
) -> Tensor:
    """The last clean estimate before the mask is applied, to see how well L_out holds it down."""
    return _reverse(denoiser, given, sampler, generator)


def _reverse(
    denoiser: Denoiser, given: Condition, sampler: Sampler, generator: torch.Generator
) -> Tensor:
    schedule = denoiser.schedule
    count = min(sampler.steps, schedule.steps)
    grid = torch.linspace(schedule.steps - 1, 0, count).round().long().tolist()
    shape, device = given.support.shape, given.support.device
    draw = torch.randn(shape, generator=generator, device=device)
    clean = previous = torch.zeros(shape, device=device)
    earlier_step = 0.0
    for i, now in enumerate(grid):
        tau = torch.full((shape[0],), now, device=device)
        previous, clean = clean, denoiser.clean(draw, tau, given).clamp(-LIMIT, LIMIT)
        if i + 1 == count:
            break
        # Outside m the residual is known to be zero: every estimate is put back there.
        anchored = clean * given.support
        ab, ab_next = schedule.alpha_bar[now], schedule.alpha_bar[grid[i + 1]]
        signal, sigma = ab.sqrt(), (1 - ab).sqrt()
        signal_next, sigma_next = ab_next.sqrt(), (1 - ab_next).sqrt()
        if sampler.method == "dpm++":
            # h = step in log signal-to-noise; D extrapolates the estimate to the middle of it.
            step = float(torch.log(signal_next / sigma_next) - torch.log(signal / sigma))
            ratio = step / (2 * earlier_step) if i else 0.0
            estimate = anchored + ratio * (anchored - previous * given.support)
            draw = (
                sigma_next / sigma * draw
                + signal_next * -torch.expm1(torch.tensor(-step)) * estimate
            )
            earlier_step = step
            continue
        noise = (draw - signal * anchored) / sigma
        fresh = torch.tensor(0.0)
        if sampler.method == "ddpm":
            fresh = ((1 - ab_next) / (1 - ab) * (1 - ab / ab_next)).sqrt()
        kept = (sigma_next.square() - fresh.square()).clamp(min=0).sqrt()
        draw = signal_next * anchored + kept * noise
        if sampler.method == "ddpm":
            draw = draw + fresh * torch.randn(shape, generator=generator, device=device)
    return clean
