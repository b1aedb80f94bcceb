"""The one look of everything: colours by role, and how matplotlib figures are made and written.

Charts name roles; the page, the notebook or matplotlib fills the colours in.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.artifacts import replacing
from caps.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLES = {  # on light, on dark; the last two digits of eight say how much covers
    "--page": ("#fbfaf8", "#12151b"),
    "--card": ("#ffffff", "#191d25"),
    "--ink": ("#1c2330", "#e7e9ee"),
    "--soft": ("#5a6475", "#a2abba"),
    "--line": ("#e3e1db", "#2c323d"),
    "--grid": ("#1c233012", "#e7e9ee14"),
    "--accent": ("#24508c", "#8fb8f2"),
    "--series": ("#2f5f9e", "#79a9ea"),
    "--normal": ("#c77700", "#eaa64a"),
    "--past": ("#2e8b62", "#6cc9a0"),
    "--expected": ("#5f8f98", "#7fb3bd"),
    "--range": ("#3f8c9a3b", "#6fb7c642"),
    "--score": ("#5b4a8a", "#b7a6ea"),
    "--score-fill": ("#5b4a8a24", "#b7a6ea29"),
    "--event": ("#b8323f", "#f3808a"),
    "--band": ("#c8344226", "#f0647033"),
    "--band-edge": ("#c8344273", "#f064708c"),
    "--training": ("#5a647514", "#a2abba1a"),
    "--quiet": ("#5b6b8f26", "#9fb0d82e"),
    "--quiet-edge": ("#5b6b8f80", "#9fb0d880"),
    "--mark": ("#c7770029", "#eaa64a2e"),
    "--mark-edge": ("#c7770099", "#eaa64a99"),
    "--good": ("#1d7d46", "#62c48c"),
    "--hover": ("#ffffff", "#20252f"),
}
LIGHT = {role: light for role, (light, _) in ROLES.items()}
DARK = {role: dark for role, (_, dark) in ROLES.items()}
NEUTRAL = "#8a8f98"
# For things that have no role; far apart also for colour-blind readers.
DISTINCT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#444444")
FAMILY_COLOURS = {
    "point": LIGHT["--event"],
    "periodic": LIGHT["--series"],
    "trend": LIGHT["--good"],
}
DPI = 110
SMALL = 8  # points: ticks and keys
NORMAL = 9  # names and titles
KEY: Any = {"frameon": False, "fontsize": SMALL}  # of every legend


def palette_css() -> str:
    """The colours as properties of a style sheet, for light and dark."""
    light, dark = (
        " ".join(f"{role}: {colour};" for role, colour in roles.items()) for roles in (LIGHT, DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def painted(spec: Any, palette: dict[str, str]) -> Any:
    """A chart in which every role has become its colour.

    >>> painted({"line": {"color": "--ink", "width": 1}, "name": "--ink"}, LIGHT)
    {'line': {'color': '#1c2330', 'width': 1}, 'name': '--ink'}
    """
    if isinstance(spec, list):
        return [painted(part, palette) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        # Only of colours: text of users may look like a role.
        name: palette.get(part, part)
        if name.endswith("color") and isinstance(part, str)
        else painted(part, palette)
        for name, part in spec.items()
    }


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
        axis.grid(color=LIGHT["--grid"], lw=0.8)
        axis.set_axisbelow(True)


def name_left(axis: "Axes", name: str) -> None:
    """Write what a panel shows beside it, upright."""
    axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=NORMAL)


def write_png(figure: "Figure", path: Path) -> None:
    """Write the figure as a PNG file, as a whole or not at all."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI, facecolor="white")
