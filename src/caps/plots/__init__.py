"""How everything looks: one palette, one thinning of lines, one matplotlib style, one HTML page."""

from caps.plots.drawing import draw, draw_lines
from caps.plots.html import Cell, Picture, Section, Table, plotly_script, render_page, sections_page
from caps.plots.style import (
    DARK,
    DISTINCT,
    FAMILY_COLOURS,
    KEY,
    LIGHT,
    NEUTRAL,
    NORMAL,
    SMALL,
    blank_figure,
    name_left,
    need_matplotlib,
    painted,
    palette_css,
    tidy,
    write_png,
)
from caps.plots.timeline import Line, Timeline, thin_line, thin_range

__all__ = [
    "DARK",
    "DISTINCT",
    "FAMILY_COLOURS",
    "KEY",
    "LIGHT",
    "NEUTRAL",
    "NORMAL",
    "SMALL",
    "Cell",
    "Line",
    "Picture",
    "Section",
    "Table",
    "Timeline",
    "blank_figure",
    "draw",
    "draw_lines",
    "name_left",
    "need_matplotlib",
    "painted",
    "palette_css",
    "plotly_script",
    "render_page",
    "sections_page",
    "thin_line",
    "thin_range",
    "tidy",
    "write_png",
]
