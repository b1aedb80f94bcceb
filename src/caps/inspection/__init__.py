"""Pictures of the offline half: simulated pairs, and what a pretraining made of them."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.inspection.figures import draw_clouds, draw_confusion, draw_panels
    from caps.inspection.gallery import draw_gallery
    from caps.inspection.page import PAGE, SAMPLERS, inspect_pretrained
    from caps.inspection.views import code_clouds, recombined, view

__all__ = [
    "PAGE",
    "SAMPLERS",
    "code_clouds",
    "draw_clouds",
    "draw_confusion",
    "draw_gallery",
    "draw_panels",
    "inspect_pretrained",
    "recombined",
    "view",
]

# The gallery needs no torch, which takes seconds to import.
__getattr__ = on_first_use(
    __name__,
    {
        **dict.fromkeys(("draw_clouds", "draw_confusion", "draw_panels"), "figures"),
        **dict.fromkeys(("draw_gallery",), "gallery"),
        **dict.fromkeys(("PAGE", "SAMPLERS", "inspect_pretrained"), "page"),
        **dict.fromkeys(("code_clouds", "recombined", "view"), "views"),
    },
)
