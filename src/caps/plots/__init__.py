"""Pictures of an analysis with matplotlib."""

from caps.plots.drawing import draw

__all__ = [
    "draw",
]
