"""The representation of a window: codes, decoders and the stage that trains them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from caps.represent import objective
from caps.represent.config import RepresentConfig
from caps.represent.networks import (
    BaseDecoder,
    Encoder,
    ResidualDecoder,
    SemanticHead,
    StructureHead,
)
from caps.simulate import FAMILIES


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
            "reconstruction": objective.reconstruction(
                base_n, normal, base_a + effect_a, anomalous
            ),
            "background": objective.background(base_n, normal, base_a, anomalous, support),
            "disentanglement": objective.disentanglement(z_ns, z_as, z_na),
            "recombination": objective.recombination(base_n + effect_n, anomalous),
            "organisation": objective.organisation(self.read_family(z_aa), batch["family"]),
        }
        loss = sum(getattr(self.weights, name) * part for name, part in parts.items())
        return {"loss": loss, **parts}
