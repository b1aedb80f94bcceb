"""Anomaly effects realised on a reference: modes, priors, experts, router (section 4.2)."""

from caps.realize.config import PriorKind
from caps.realize.presets import PRESETS, Preset, preset_named
from caps.realize.pretrained import Mode, Pretrained
from caps.realize.prior import PRIORS, MaskPool, Prior, fit_prior
from caps.realize.router import select_modes
from caps.realize.samplers import Sampler

__all__ = [
    "PRESETS",
    "PRIORS",
    "MaskPool",
    "Mode",
    "Preset",
    "Pretrained",
    "Prior",
    "PriorKind",
    "Sampler",
    "fit_prior",
    "preset_named",
    "select_modes",
]
