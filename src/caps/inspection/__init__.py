"""Pictures of the offline half: simulated pairs, and what a pretraining made of them."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.inspection.figures import (
        draw_clouds as draw_clouds,
        draw_confusion as draw_confusion,
        draw_panels as draw_panels,
    )
    from caps.inspection.page import (
        PAGE as PAGE,
        SAMPLERS as SAMPLERS,
        draw_gallery as draw_gallery,
        inspect_pretrained as inspect_pretrained,
    )
    from caps.inspection.views import (
        code_clouds as code_clouds,
        recombined as recombined,
        view as view,
    )

__getattr__ = on_first_use(__name__)
