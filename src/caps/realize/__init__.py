"""Anomaly effects realised on a reference: modes, priors, experts, router (section 4.2)."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.realize.checks import (
        realization_checks as realization_checks,
        router_figures as router_figures,
        sampler_table as sampler_table,
    )
    from caps.realize.config import PriorKind as PriorKind
    from caps.realize.manifest import (
        SHIPPED as SHIPPED,
        KindRouter as KindRouter,
        kind_router as kind_router,
        weights_facts as weights_facts,
        weights_folder as weights_folder,
    )
    from caps.realize.modes import (
        PRIORS as PRIORS,
        MaskPool as MaskPool,
        Prior as Prior,
        fit_prior as fit_prior,
        select_modes as select_modes,
    )
    from caps.realize.presets import (
        PRESETS as PRESETS,
        TINY as TINY,
        Preset as Preset,
        preset_named as preset_named,
        resized as resized,
        size_table as size_table,
    )
    from caps.realize.pretrain import Pretraining as Pretraining
    from caps.realize.pretrained import (
        Mode as Mode,
        Pretrained as Pretrained,
        load_weights as load_weights,
    )
    from caps.realize.samplers import Sampler as Sampler
    from caps.realize.source import (
        Source as Source,
        draw_source_residuals as draw_source_residuals,
        encode_source as encode_source,
    )

__getattr__ = on_first_use(__name__)
