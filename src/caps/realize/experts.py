"""Hard-routed residual experts: the forward process, their loss, and the stage that trains one.

Notation (section 4.2): r clean residual, r_tau noised, eps noise, ab = alpha-bar_tau;
r_tau = sqrt(ab) r + sqrt(1 - ab) eps, and the velocity v = sqrt(ab) eps - sqrt(1 - ab) r. The VAE
is the residual generator that the paper compares with diffusion.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from caps.realize.config import LARGEST_CODE, RealizeConfig
from caps.realize.unet import Condition, ResidualExpert
from caps.represent import RepresentConfig, ResidualDecoder, masked_mse


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


LIMIT = 5.0  # scaled residuals are clipped here: noise prediction assumes data of about unit size


class Denoiser(nn.Module):
    """An expert with its noise schedule: estimates the clean residual from a noised one.

    With the `sequence` mechanism it estimates the anomalous sequence itself ("without residual
    parameterisation"), and outside the support the background takes the place of zero.
    """

    def __init__(self, config: RealizeConfig, represent: RepresentConfig) -> None:
        super().__init__()
        self.config = config
        self.schedule = NoiseSchedule(config.diffusion_steps)
        self.expert = ResidualExpert(config, represent)

    @property
    def localised(self) -> bool:
        """Whether what it estimates is zero outside the support."""
        return self.config.mechanism != "sequence"

    def clean(self, r_tau: Tensor, tau: Tensor, given: Condition) -> Tensor:
        """r^(k), the clean-residual estimate at step tau."""
        out = self.expert(r_tau, tau, given)
        if self.config.prediction == "velocity":
            return self._from_velocity(r_tau, out, tau, given)
        return self.schedule.clean_from_noise(r_tau, out, tau)

    def _from_velocity(
        self, r_tau: Tensor, velocity: Tensor, tau: Tensor, given: Condition
    ) -> Tensor:
        outside = self.config.outside_spread if self.localised else 1.0
        std = given.support + outside * (1 - given.support)
        return self.schedule.clean_from_velocity(r_tau, velocity, tau, std)

    def losses(
        self, clean: Tensor, background: Tensor, tau: Tensor, noise: Tensor, given: Condition
    ) -> tuple[Tensor, Tensor]:
        """L_main and L_out (eq. 7) in a form whose gradients stay bounded at every step.

        As printed, L_out equals the noise error outside m times (1 - ab) / ab, a weight beyond 1e4
        at the last steps: in noise form it is capped. In velocity form r^ needs no division, and
        the error of v inside m is the noise error divided by ab.
        """
        outside = 1 - given.support
        r_tau = self.schedule.diffuse(clean, noise, tau)
        out = self.expert(r_tau, tau, given)
        if self.config.prediction == "velocity":
            velocity = self.schedule.velocity(clean, noise, tau)
            estimate = self._from_velocity(r_tau, out, tau, given)
            return (
                masked_mse(out, velocity, given.support),
                masked_mse(estimate, background, outside),
            )
        signal, sigma = self.schedule.at(tau)
        weight = (sigma / signal).clamp(max=self.config.outside_cap**0.5)
        return (
            masked_mse(out, noise, given.support),
            masked_mse(weight * out, weight * noise, outside),
        )


@dataclass(frozen=True, slots=True)
class CodeScale:
    """Mean and std of z_a over all source pairs, so that experts see codes of unit size."""

    mean: Tensor  # (semantic,)
    spread: Tensor  # (semantic,)

    def standardise(self, z_a: Tensor) -> Tensor:
        return ((z_a - self.mean) / self.spread).clamp(-LARGEST_CODE, LARGEST_CODE)


def blurred(codes: Tensor, prior_noise: Tensor, blur: Tensor) -> Tensor:
    """Mix codes with samples of their own mode's prior, keeping mean and variance.

    Codes of real effects lie on a thin curved set that a Gaussian prior misses: experts trained on
    exact codes answer prior samples with averages of opposite effects. Blurred codes come close to
    the prior's own distribution, and the expert, told the blur, trusts them accordingly.
    """
    blur = blur.unsqueeze(-1)
    return (1 - blur.square()).sqrt() * codes + blur * prior_noise


class ExpertStage(nn.Module):
    """Stage 2: one expert on batches of its own mode.

    A batch holds `clean` (the scaled residual), its `background` outside the support, `support`,
    `structure_code`, `structure`, `semantic_code`, and of the mode's prior a sample `prior_code`
    and the mean `centre`.
    """

    def __init__(self, denoiser: Denoiser) -> None:
        super().__init__()
        self.denoiser = denoiser

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        clean, support = batch["clean"], batch["support"]
        rows = len(clean)
        blur = torch.zeros(rows, device=clean.device)
        codes = batch["semantic_code"]
        if self.denoiser.config.semantic_blur > 0:
            blur = torch.rand(rows, device=clean.device)
            centre = batch["centre"]
            codes = centre + blurred(codes - centre, batch["prior_code"] - centre, blur)
        given = Condition(batch["structure_code"], codes, support, batch["structure"], blur)
        tau = torch.randint(self.denoiser.schedule.steps, (rows,), device=clean.device)
        main, outside = self.denoiser.losses(
            clean, batch["background"], tau, torch.randn_like(clean), given
        )
        return {"loss": main + outside, "main": main, "outside": outside}


class ResidualVae(nn.Module):
    """q(u | r, m, base) and p(r | u, z_s, z_a, m), with the decoder of representation learning."""

    latent = 32

    def __init__(self, represent: RepresentConfig) -> None:
        super().__init__()
        width = represent.residual_width
        self.observe = nn.Sequential(
            nn.Conv1d(3, width, 9, stride=4, padding=4),
            nn.GELU(),
            nn.Conv1d(width, width, 5, stride=4, padding=2),
            nn.GELU(),
            nn.Conv1d(width, width, 3, stride=2, padding=1),
            nn.GELU(),
        )
        self.posterior = nn.Linear(width, 2 * self.latent)
        self.decoder = ResidualDecoder(
            replace(represent, semantic=represent.semantic + self.latent)
        )

    def decode(self, u: Tensor, given: Condition) -> Tensor:
        semantics = torch.cat([given.semantic_code, u], dim=-1)
        residual: Tensor = self.decoder(
            given.structure_code, semantics, given.support, given.structure
        )
        return residual

    @torch.no_grad()
    def sample(self, given: Condition, generator: torch.Generator) -> Tensor:
        rows, device = len(given.support), given.support.device
        u = torch.randn((rows, self.latent), generator=generator, device=device)
        return self.decode(u, given)


class VaeStage(nn.Module):
    """Trains the VAE on batches of one mode (the same batches as an expert's)."""

    divergence_weight = 1e-2  # against a squared error averaged over the support

    def __init__(self, vae: ResidualVae) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        clean, support, structure = batch["clean"], batch["support"], batch["structure"]
        blur = torch.zeros(len(clean), device=clean.device)
        given = Condition(batch["structure_code"], batch["semantic_code"], support, structure, blur)
        seen = torch.stack([clean, support, structure], dim=1)
        mean, log_variance = self.vae.posterior(self.vae.observe(seen).mean(-1)).chunk(2, dim=-1)
        u = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        error = masked_mse(self.vae.decode(u, given), clean, support)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean()
        loss = error + self.divergence_weight * divergence
        return {"loss": loss, "error": error, "divergence": divergence}
