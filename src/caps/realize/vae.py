"""The VAE residual generator that the paper compares with diffusion."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from caps.realize.unet import Condition
from caps.represent import RepresentConfig, ResidualDecoder, masked_mse


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
