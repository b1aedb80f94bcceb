"""Modes: priors p_k(z_a), mask pools (eq. 5) and the router of Diagnosis (appendix B.3)."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor, nn

from caps.errors import InputError, check_known
from caps.realize.config import PriorKind

PRIORS: tuple[PriorKind, ...] = get_args(PriorKind)
DEGREES = 5.0  # of the Student-t prior: heavy tails that still have a finite fourth moment


@dataclass(frozen=True, slots=True)
class Prior:
    """One mode's prior: mean, a factor F of its covariance (F F^T), and the tails.

    >>> rng = np.random.default_rng(0)
    >>> prior = fit_prior(rng.normal(2.0, 0.5, size=(500, 3)), "diagonal")
    >>> prior.sample(1000, rng).mean(axis=0).round(0).tolist()
    [2.0, 2.0, 2.0]
    """

    kind: PriorKind
    mean: np.ndarray  # (dim,)
    factor: np.ndarray  # (dim, dim)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw (count, dim) codes."""
        normal = rng.standard_normal((count, len(self.mean)))
        if self.kind == "student":
            # Scaled so that the covariance is the empirical one, whatever the tails.
            chi = rng.chisquare(DEGREES, size=(count, 1))
            normal *= np.sqrt((DEGREES - 2) / chi)
        codes: np.ndarray = self.mean + normal @ self.factor.T
        return codes.astype(np.float32)


def fit_prior(codes: np.ndarray, kind: PriorKind = "diagonal") -> Prior:
    """Fit the prior of one mode to its semantic codes (count, dim)."""
    check_known("prior", kind, PRIORS)
    count, dim = codes.shape
    if count < 2:
        raise InputError(f"a mode has {count} codes", "simulate more pairs or use fewer modes")
    mean, centred = codes.mean(axis=0), codes - codes.mean(axis=0)
    std = centred.std(axis=0)
    if kind == "isotropic":
        factor = np.eye(dim) * np.sqrt(np.mean(std**2))
    elif kind == "full":
        values, vectors = np.linalg.eigh(centred.T @ centred / count)
        factor = vectors * np.sqrt(np.clip(values, 0, None))
    else:
        factor = np.diag(std)
    return Prior(kind, mean.astype(np.float64), factor.astype(np.float64))


@dataclass(frozen=True, slots=True)
class MaskPool:
    """The supports seen in one mode, from which supports for new references are drawn."""

    supports: np.ndarray  # (count, time) bool

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw (count, time) supports, each rolled to a uniform position.

        The simulator's positions are not a target's: lengths are kept, positions drawn anew.
        Supports that touch an edge stay, as windows that cut an event must be seen too.
        """
        chosen = self.supports[rng.integers(len(self.supports), size=count)]
        window = chosen.shape[1]
        first = chosen.argmax(axis=1)
        last = window - 1 - chosen[:, ::-1].argmax(axis=1)
        inside = (first > 0) & (last < window - 1)
        extent = last - first + 1
        start = np.where(inside, rng.integers(0, window - extent + 1), first)
        columns = (np.arange(window) - (start - first)[:, None]) % window
        return np.take_along_axis(chosen, columns, axis=1)


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
