"""The router of Diagnosis: which modes a known anomaly is associated with (appendix B.3)."""

import numpy as np
import torch
from torch import Tensor, nn

from caps.errors import InputError


class Router(nn.Module):
    """(z_s, z_a) -> association scores over the modes."""

    def __init__(self, structure: int, semantic: int, modes: int, hidden: int = 128) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(structure + semantic, hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, modes),
        )

    def forward(self, z_s: Tensor, z_a: Tensor) -> Tensor:  # logits (batch, modes)
        logits: Tensor = self.layers(torch.cat([z_s, z_a], dim=-1))
        return logits

    @torch.no_grad()
    def scores(self, z_s: Tensor, z_a: Tensor) -> Tensor:
        """q_k >= 0 with sum 1: (batch, modes)."""
        return self.forward(z_s, z_a).softmax(dim=-1)


class RouterStage(nn.Module):
    """Trains the router on the simulated mode assignments."""

    def __init__(self, router: Router) -> None:
        super().__init__()
        self.router = router

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        logits = self.router(batch["structure_code"], batch["semantic_code"])
        return {"loss": nn.functional.cross_entropy(logits, batch["mode"])}


def select_modes(scores: np.ndarray, *, rho: float = 0.8) -> list[int]:
    """K_rho: the fewest top modes whose mean association reaches rho (eq. 9).

    >>> select_modes(np.array([[0.1, 0.6, 0.3], [0.1, 0.5, 0.4]]))
    [1, 2]
    """
    if not 0 < rho <= 1:
        raise InputError(f"rho is {rho}", "choose it in (0, 1]")
    if len(scores) == 0:
        raise InputError("no known anomaly was given", "name at least one anomalous span")
    mean = scores.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    needed = int(np.searchsorted(np.cumsum(mean[order]), rho - 1e-9)) + 1
    return [int(k) for k in order[:needed]]
