"""Anomaly effects realised on a reference: modes, priors, experts, router (section 4.2)."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.realize.checks import realization_checks, router_figures, sampler_table
    from caps.realize.config import Mechanism, PriorKind
    from caps.realize.manifest import SHIPPED, weights_facts, weights_folder
    from caps.realize.naming import KindRouter, kind_router
    from caps.realize.presets import (
        PRESETS,
        TINY,
        Preset,
        preset_named,
        preset_to_dict,
        resized,
        size_table,
    )
    from caps.realize.pretrain import Pretraining
    from caps.realize.pretrained import Mode, Pretrained, load_weights
    from caps.realize.prior import PRIORS, MaskPool, Prior, fit_prior
    from caps.realize.router import select_modes
    from caps.realize.samplers import Sampler
    from caps.realize.source import Source, draw_source_residuals, encode_source

__all__ = [
    "PRESETS",
    "PRIORS",
    "SHIPPED",
    "TINY",
    "KindRouter",
    "MaskPool",
    "Mechanism",
    "Mode",
    "Preset",
    "Pretrained",
    "Pretraining",
    "Prior",
    "PriorKind",
    "Sampler",
    "Source",
    "draw_source_residuals",
    "encode_source",
    "fit_prior",
    "kind_router",
    "load_weights",
    "preset_named",
    "preset_to_dict",
    "realization_checks",
    "resized",
    "router_figures",
    "sampler_table",
    "select_modes",
    "size_table",
    "weights_facts",
    "weights_folder",
]

__getattr__ = on_first_use(__name__)
