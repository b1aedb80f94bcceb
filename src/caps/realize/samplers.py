"""Reverse processes: from noise to a residual, in 200 small steps or a few large ones."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor

from caps.errors import InputError, check_known
from caps.realize.experts import LIMIT, Denoiser, NoiseSchedule
from caps.realize.unet import Condition

Method = Literal["ddpm", "ddim", "dpm++"]

# Rows at once: larger tensors leave the caches, and the layers of smaller ones take longer to start
# than to compute.
PART = 96


@dataclass(frozen=True, slots=True)
class Sampler:
    """How residuals are drawn.

    `ddpm` is the ancestral process (with `steps` below the diffusion's it strides), `ddim` its
    deterministic sibling, `dpm++` the second-order multistep DPM-Solver++ (`steps` at most).
    """

    method: Method = "ddpm"
    steps: int = 200

    def __post_init__(self) -> None:
        check_known("sampler", self.method, get_args(Method))
        if self.steps < 2:
            raise InputError(f"{self.steps} sampling steps are too few", "take at least 2")


@torch.no_grad()
def sample(
    denoiser: Denoiser,
    given: Condition,
    sampler: Sampler,
    generator: torch.Generator,
    *,
    anchored: bool = True,
) -> Tensor:
    """Draw one scaled residual for each row of the condition.

    It is the last clean estimate as the expert gives it: small outside the support, not zero.
    `anchored` puts the estimates of the earlier steps to zero there, which is known to be right.
    """
    schedule, (rows, window) = denoiser.schedule, given.support.shape
    device = given.support.device
    count = min(sampler.steps, schedule.steps)
    grid = _grid(schedule, count, sampler.method)

    def fresh() -> Tensor:
        return torch.randn((rows, window), generator=generator, device=device)

    draw, step = fresh(), _SolverStep()
    for now, following in pairwise(grid):
        estimate = _estimate(denoiser, draw, now, given)
        clean = estimate * given.support if anchored and denoiser.localised else estimate
        ab, ab_next = schedule.alpha_bar[now], schedule.alpha_bar[following]
        if sampler.method == "dpm++":
            draw = step(draw, clean, ab, ab_next)
        else:
            draw = _noise_step(
                draw, clean, ab, ab_next, fresh if sampler.method == "ddpm" else None
            )
    return _estimate(denoiser, draw, grid[-1], given)


def _grid(schedule: NoiseSchedule, count: int, method: Method) -> list[int]:
    """The diffusion steps to visit, from noise to data.

    The solver's error is in log signal-to-noise, so its steps are even in that; for few steps an
    even grid in time would draw residuals of small size too large.
    """
    if method != "dpm++":
        return torch.linspace(schedule.steps - 1, 0, count).round().long().tolist()
    levels = torch.logit(schedule.alpha_bar.double())  # falls with the step
    wanted = torch.linspace(float(levels[-1]), float(levels[0]), count, dtype=torch.float64)
    nearest = (levels.unsqueeze(0) - wanted.unsqueeze(1)).abs().argmin(dim=1)
    return sorted(set(nearest.tolist()), reverse=True)


def _estimate(denoiser: Denoiser, draw: Tensor, now: int, given: Condition) -> Tensor:
    tau = torch.full((len(draw),), now, device=draw.device)
    parts = [slice(first, first + PART) for first in range(0, len(draw), PART)]
    clean = [denoiser.clean(draw[part], tau[part], given.rows(part)) for part in parts]
    return torch.cat(clean).clamp(-LIMIT, LIMIT)


def _noise_step(
    draw: Tensor, clean: Tensor, ab: Tensor, ab_next: Tensor, fresh: Callable[[], Tensor] | None
) -> Tensor:
    """DDIM's step; with `fresh` noise of the posterior's variance it is DDPM's."""
    noise = (draw - ab.sqrt() * clean) / (1 - ab).sqrt()
    if fresh is None:
        return ab_next.sqrt() * clean + (1 - ab_next).sqrt() * noise
    variance = (1 - ab_next) / (1 - ab) * (1 - ab / ab_next)
    kept = (1 - ab_next - variance).clamp(min=0).sqrt()
    return ab_next.sqrt() * clean + kept * noise + variance.sqrt() * fresh()


class _SolverStep:
    """DPM-Solver++(2M): the last two estimates give the slope in log signal-to-noise."""

    def __init__(self) -> None:
        self.previous: tuple[Tensor, Tensor] | None = None  # clean estimate, step size

    def __call__(self, draw: Tensor, clean: Tensor, ab: Tensor, ab_next: Tensor) -> Tensor:
        size = 0.5 * (torch.logit(ab_next) - torch.logit(ab))
        middle = clean
        if self.previous is not None:
            earlier, earlier_size = self.previous
            middle = clean + size / (2 * earlier_size) * (clean - earlier)
        self.previous = clean, size
        shrink = ((1 - ab_next) / (1 - ab)).sqrt()
        return shrink * draw - ab_next.sqrt() * torch.expm1(-size) * middle
