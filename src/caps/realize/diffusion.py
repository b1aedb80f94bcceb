"""The forward process on residuals and the conversions between its quantities.

Notation: r clean residual, r_tau noised, eps noise, ab = alpha-bar_tau;
r_tau = sqrt(ab) r + sqrt(1 - ab) eps, and the velocity v = sqrt(ab) eps - sqrt(1 - ab) r.
"""

import math

import torch
from torch import Tensor, nn


class NoiseSchedule(nn.Module):
    """Cosine schedule: the last step is almost pure noise, as sampling from N(0, I) assumes.

    The usual linear schedule stretched over 200 steps would leave alpha-bar at 0.13 there.
    """

    alpha_bar: Tensor

    def __init__(self, steps: int) -> None:
        super().__init__()
        offset = 0.008
        time = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
        curve = torch.cos((time + offset) / (1 + offset) * math.pi / 2).square()
        beta = (1 - curve[1:] / curve[:-1]).clamp(max=0.999)
        self.register_buffer("alpha_bar", (1 - beta).cumprod(0).float(), persistent=False)

    @property
    def steps(self) -> int:
        return len(self.alpha_bar)

    def at(self, tau: Tensor) -> tuple[Tensor, Tensor]:
        """sqrt(ab) and sqrt(1 - ab) of the steps `tau`, as columns."""
        alpha_bar = self.alpha_bar[tau].unsqueeze(-1)
        return alpha_bar.sqrt(), (1 - alpha_bar).sqrt()

    def diffuse(self, r: Tensor, noise: Tensor, tau: Tensor) -> Tensor:
        """r_tau = sqrt(ab) r + sqrt(1 - ab) eps."""
        signal, sigma = self.at(tau)
        return signal * r + sigma * noise

    def clean_from_noise(self, r_tau: Tensor, noise: Tensor, tau: Tensor) -> Tensor:
        """r^ = (r_tau - sqrt(1 - ab) eps^) / sqrt(ab)."""
        signal, sigma = self.at(tau)
        return (r_tau - sigma * noise) / signal

    def clean_from_velocity(
        self, r_tau: Tensor, velocity: Tensor, tau: Tensor, std: Tensor | float = 1.0
    ) -> Tensor:
        """r^ = sqrt(ab) r_tau - sqrt(1 - ab) v^: no division, so no blow-up near pure noise.

        That is the posterior mean of Gaussian data of unit std, less v^ posterior stds. Where
        the data's `std` s is known to be another: with q = ab s^2 + 1 - ab,
        r^ = sqrt(ab) s^2 / q r_tau - s sqrt((1 - ab) / q) v^.
        """
        signal, sigma = self.at(tau)
        if isinstance(std, float):
            std = torch.tensor(std, device=r_tau.device)
        total = (signal * std).square() + sigma.square()
        return signal * std.square() / total * r_tau - std * sigma / total.sqrt() * velocity

    def velocity(self, r: Tensor, noise: Tensor, tau: Tensor) -> Tensor:
        """v = sqrt(ab) eps - sqrt(1 - ab) r."""
        signal, sigma = self.at(tau)
        return signal * noise - sigma * r
