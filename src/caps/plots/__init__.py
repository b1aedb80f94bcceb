"""How everything looks: one palette, one thinning of lines, one matplotlib style, one HTML page."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.plots.drawing import draw as draw, draw_lines as draw_lines
    from caps.plots.html import (
        Entry as Entry,
        Mark as Mark,
        Number as Number,
        Picture as Picture,
        Section as Section,
        Table as Table,
        plotly_script as plotly_script,
        render_page as render_page,
        sections_page as sections_page,
    )
    from caps.plots.style import (
        DARK as DARK,
        DISTINCT as DISTINCT,
        FAMILY_COLOURS as FAMILY_COLOURS,
        KEY as KEY,
        LIGHT as LIGHT,
        NEUTRAL as NEUTRAL,
        NORMAL as NORMAL,
        SMALL as SMALL,
        blank_figure as blank_figure,
        name_left as name_left,
        need_matplotlib as need_matplotlib,
        painted as painted,
        palette_css as palette_css,
        tidy as tidy,
        write_png as write_png,
    )
    from caps.plots.timeline import (
        Line as Line,
        Timeline as Timeline,
        thin_line as thin_line,
        thin_range as thin_range,
    )

__getattr__ = on_first_use(__name__)
