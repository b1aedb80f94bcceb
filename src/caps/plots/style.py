"""The one look of all matplotlib figures: how they are made, coloured, framed and written."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.artifacts import replacing
from caps.errors import InputError
from caps.plots.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 110
SMALL = 8  # points: ticks and keys
NORMAL = 9  # names and titles
KEY: Any = {"frameon": False, "fontsize": SMALL}  # of every legend


def need_matplotlib() -> None:
    """Fail before the work, not after it."""
    try:
        import matplotlib.figure  # noqa: F401  # an extra, and half a second to import
    except ImportError:
        raise InputError(
            "figures need matplotlib", "install it with `pip install 'caps-tsad[plots]'`"
        ) from None


def blank_figure(width: float, height: float) -> "Figure":
    """A figure outside pyplot, so that no global state and no display is touched."""
    need_matplotlib()
    # An extra, and half a second to import.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def tidy(axis: "Axes", *, grid: bool = True) -> None:
    """Two quiet spines, small ticks, and a grid behind the data."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(LIGHT["--line"])
    axis.tick_params(labelsize=SMALL, length=0, colors=LIGHT["--soft"])
    axis.xaxis.label.set_fontsize(NORMAL)
    axis.yaxis.label.set_fontsize(NORMAL)
    if grid:
        axis.grid(color=colour("--grid"), lw=0.8)
        axis.set_axisbelow(True)


def name_left(axis: "Axes", name: str) -> None:
    """Write what a panel shows beside it, upright."""
    axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=NORMAL)


def colour(role: str) -> str | tuple[float, ...]:
    """A colour of the palette as matplotlib reads it.

    >>> colour("--ink"), colour("--training")[3]
    ('#1c2330', 0.08)
    """
    text = LIGHT[role]
    if not text.startswith("rgba"):
        return text
    *parts, alpha = map(float, text[5:-1].split(","))
    return (*(part / 255 for part in parts), alpha)


def write_png(figure: "Figure", path: Path) -> None:
    """Write the figure as a PNG file, as a whole or not at all."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI, facecolor="white")
