"""Sizes and choices of the residual experts; the defaults are the paper's table."""

from dataclasses import dataclass
from typing import Literal, get_args

from caps.errors import InputError, check_known

Prediction = Literal["noise", "velocity"]
Mechanism = Literal["diffusion", "sequence", "vae"]
PriorKind = Literal["diagonal", "isotropic", "full", "student"]

LARGEST_CODE = 6.0  # stds of a semantic code: what lies beyond is cut


@dataclass(frozen=True, slots=True)
class RealizeConfig:
    """Sizes of the diffusion experts and how they are trained."""

    mechanism: Mechanism = "diffusion"  # of residuals; the others are what the paper compares with
    clusters: int = 0  # K of data-driven modes; 0 = the three families (the paper's default)
    prior: PriorKind = "diagonal"
    channels: tuple[int, ...] = (64, 128, 256, 256)  # U-Net; the paper's table
    patch: int = 1  # time steps folded into channels before the U-Net; 1 = full length
    diffusion_steps: int = 200  # the paper's table
    prediction: Prediction = "noise"  # eq. 6; "velocity" stays well-conditioned at every step
    outside_cap: float = 1.0  # largest weight of L_out's noise form (its raw form exceeds 1e4)
    # Size of a residual outside its support as the velocity form takes it; 1 = as inside. Nothing
    # is there, but a network of finite steps never says exactly nothing.
    outside_spread: float = 1.0
    # Blur told to the experts with samples of the prior; 0 = the paper, else training blurs too.
    semantic_blur: float = 0.0
    location: int = 64  # location embedding; the paper's table
    time_embedding: int = 128
    router_hidden: int = 128  # the paper's table

    def __post_init__(self) -> None:
        check_known("prediction", self.prediction, get_args(Prediction))
        check_known("mechanism", self.mechanism, get_args(Mechanism))
        check_known("prior", self.prior, get_args(PriorKind))
        if not 0 < self.outside_spread <= 1:
            raise InputError(f"outside_spread is {self.outside_spread}", "choose it in (0, 1]")
        if self.clusters < 0:
            raise InputError(f"{self.clusters} clusters", "give 0 (families) or more")
        if not 0 <= self.semantic_blur < 1:
            raise InputError(f"semantic_blur is {self.semantic_blur}", "choose it in [0, 1)")
        if any(width % 8 for width in self.channels):
            raise InputError(f"channels {self.channels} are not multiples of 8", "round them up")
