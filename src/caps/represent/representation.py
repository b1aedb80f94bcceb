"""The representation of a window: codes, decoders, the objective and the stage that trains them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from caps.represent.config import RepresentConfig
from caps.represent.networks import (
    BaseDecoder,
    Encoder,
    ResidualDecoder,
    SemanticHead,
    StructureHead,
)
from caps.simulate import FAMILIES

TINY = 1e-6  # eta of the masked means


def masked_l1(u: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """maskedL1(u, v, q) = sum q |u - v| / (sum q + eta), averaged over the rows."""
    return ((mask * (u - v).abs()).sum(-1) / (mask.sum(-1) + TINY)).mean()


def masked_mse(u: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """maskedMSE, defined like maskedL1."""
    return ((mask * (u - v).square()).sum(-1) / (mask.sum(-1) + TINY)).mean()


def reconstruction(
    normal_hat: Tensor, normal: Tensor, anomalous_hat: Tensor, anomalous: Tensor
) -> Tensor:
    """L_rec = 1/2 [MSE(x_n^, x_n) + MSE(x_a^, x_a)] (eq. 1)."""
    return 0.5 * (mse_loss(normal_hat, normal) + mse_loss(anomalous_hat, anomalous))


def background(
    base_normal: Tensor, normal: Tensor, base_anomalous: Tensor, anomalous: Tensor, support: Tensor
) -> Tensor:
    """L_base = MSE(base(z_ns), x_n) + maskedL1(base(z_as), x_a, 1 - m) (eq. 2)."""
    return mse_loss(base_normal, normal) + masked_l1(base_anomalous, anomalous, 1 - support)


def disentanglement(z_ns: Tensor, z_as: Tensor, z_na: Tensor) -> Tensor:
    """L_dis = |z_ns - z_as|^2 + |z_na|^2 (eq. 3), as means over the dimensions.

    Summed over 128 dimensions the term outweighs every reconstruction and the codes collapse.
    """
    return mse_loss(z_ns, z_as) + z_na.square().mean()


def recombination(recombined: Tensor, anomalous: Tensor) -> Tensor:
    """L_cf = MSE(Dec(z_ns, z_a, m), x_a) (eq. 4)."""
    return mse_loss(recombined, anomalous)


def organisation(family_logits: Tensor, family: Tensor) -> Tensor:
    """Cross-entropy of the simulated family read off z_a by a linear map; not in the paper.

    The four parts never see the family, and z_a may mix families freely: then one Gaussian for
    each mode fits badly and the router has little to go by.
    """
    return cross_entropy(family_logits, family)


class Representation(nn.Module):
    """Encoder E, heads E_s and E_a, and the auxiliary decoders base and res."""

    def __init__(self, config: RepresentConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.structure_head = StructureHead(config)
        self.semantic_head = SemanticHead(config)
        self.base = BaseDecoder(config)
        self.residual = ResidualDecoder(config)

    def encode(self, x: Tensor, support: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(batch, time) -> structure codes z_s, and semantic codes z_a of what is on the support.

        The structure never depends on the support; without one, z_a is of the whole window.
        """
        h = self.encoder(x)
        support = torch.ones_like(x) if support is None else support
        return self.structure_head(h), self.semantic_head(h, support)

    def decode(self, z_s: Tensor, z_a: Tensor, support: Tensor) -> Tensor:
        """Dec(z_s, z_a, m) = base(z_s) + res(z_s, z_a, m)."""
        structure: Tensor = self.base(z_s)
        effect: Tensor = self.residual(z_s, z_a, support, structure)
        return structure + effect


@dataclass(frozen=True, slots=True)
class Objective:
    """Weights of the parts; 0 switches a part off (the paper's ablation)."""

    reconstruction: float = 1.0
    background: float = 1.0
    disentanglement: float = 1.0
    recombination: float = 1.0
    organisation: float = 0.0  # 0 = the paper


class RepresentationStage(nn.Module):
    """Stage 1: the representation and its objective on batches of matched pairs."""

    def __init__(self, representation: Representation, weights: Objective | None = None) -> None:
        super().__init__()
        self.representation = representation
        self.weights = weights or Objective()
        self.read_family = nn.Linear(representation.config.semantic, len(FAMILIES))

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        normal, anomalous, support = batch["normal"], batch["anomalous"], batch["support"]
        model = self.representation
        # Both members pass the encoder in one batch, so that BatchNorm sees them alike.
        supports = torch.cat([support, support])
        z_s, z_a = model.encode(torch.cat([normal, anomalous]), supports)
        (z_ns, z_as), (z_na, z_aa) = z_s.chunk(2), z_a.chunk(2)
        structure = model.base(z_s)
        base_n, base_a = structure.chunk(2)
        effects = model.residual(z_s, torch.cat([z_aa, z_aa]), supports, structure)
        effect_n, effect_a = effects.chunk(2)
        parts = {
            "reconstruction": reconstruction(base_n, normal, base_a + effect_a, anomalous),
            "background": background(base_n, normal, base_a, anomalous, support),
            "disentanglement": disentanglement(z_ns, z_as, z_na),
            "recombination": recombination(base_n + effect_n, anomalous),
            "organisation": organisation(self.read_family(z_aa), batch["family"]),
        }
        loss = sum(getattr(self.weights, name) * part for name, part in parts.items())
        return {"loss": loss, **parts}
