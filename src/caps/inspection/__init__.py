"""Pictures of the offline half: simulated pairs, and what a pretraining made of them."""

from caps.inspection.figures import draw_clouds, draw_confusion, draw_panels
from caps.inspection.page import PAGE, SAMPLERS, draw_gallery, inspect_pretrained
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
