"""How everything looks: one palette, one thinning of lines, one matplotlib style, one HTML page."""

from caps.plots.drawing import draw, draw_lines
from caps.plots.html import (
    Cell,
    Mark,
    Picture,
    Section,
    Table,
    plotly_script,
    render_page,
    sections_page,
)
from caps.plots.palette import (
    DARK,
    DISTINCT,
    FAMILY_COLOURS,
    LIGHT,
    NEUTRAL,
    painted,
    palette_css,
)
from caps.plots.style import (
    NORMAL,
    SMALL,
    blank_figure,
    colour,
    key_below,
    name_left,
    need_matplotlib,
    tidy,
    write_png,
)
from caps.plots.thinning import Line, thin_line
from caps.plots.timeline import Timeline, local_time, words

__all__ = [
    "DARK",
    "DISTINCT",
    "FAMILY_COLOURS",
    "LIGHT",
    "NEUTRAL",
    "NORMAL",
    "SMALL",
    "Cell",
    "Line",
    "Mark",
    "Picture",
    "Section",
    "Table",
    "Timeline",
    "blank_figure",
    "colour",
    "draw",
    "draw_lines",
    "key_below",
    "local_time",
    "name_left",
    "need_matplotlib",
    "painted",
    "palette_css",
    "plotly_script",
    "render_page",
    "sections_page",
    "thin_line",
    "tidy",
    "words",
    "write_png",
]
