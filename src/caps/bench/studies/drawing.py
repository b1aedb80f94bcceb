"""Figures of the studies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from caps.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, ACCENT, GREY = "#20242a", "#0072b2", "#8a8f98"


def draw_differences(names: Sequence[str], gaps: Sequence[np.ndarray]) -> "Figure":
    """A dot for each series, a bar at the mean: how much better or worse each variant is."""
    figure, axis = _axes(7.2, 1.1 + 0.62 * max(len(names), 1))
    axis.axvline(0, color=GREY, lw=0.9)
    for place, values in enumerate(gaps):
        shift = 0.16 * np.sin(2.4 * np.arange(len(values)))  # apart, without chance
        axis.plot(values, place + shift, "o", color=ACCENT, alpha=0.55, ms=5, mec="none")
        if len(values):
            axis.plot([values.mean()] * 2, [place - 0.32, place + 0.32], color=INK, lw=2)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel("difference in VUS-PR, percentage points (each dot a series, bar: mean)")
    return figure


def draw_curves(
    places: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    across: str,
    up: str,
    logarithmic: bool = False,
) -> "Figure":
    """One line a name over the same places; dashed where the name is of the paper."""
    figure, axis = _axes(6.4, 3.6)
    for number, (name, values) in enumerate(curves.items()):
        of_paper = name.startswith("paper")
        axis.plot(
            places,
            values,
            marker="o",
            ms=4,
            lw=1.6,
            ls="--" if of_paper else "-",
            color=GREY if of_paper else f"C{number}",
            label=name,
        )
    if logarithmic:
        axis.set_xscale("log")
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.minorticks_off()
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.legend(frameon=False, fontsize=8)
    return figure


def draw_stacks(
    names: Sequence[str], parts: Mapping[str, Sequence[float]], *, across: str
) -> "Figure":
    """Horizontal bars made of parts."""
    figure, axis = _axes(7.2, 1.2 + 0.42 * len(names))
    left = np.zeros(len(names))
    for (name, values), colour in zip(parts.items(), (ACCENT, "#d55e00", GREY), strict=False):
        axis.barh(range(len(names)), values, left=left, color=colour, height=0.6, label=name)
        left = left + np.asarray(values)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel(across)
    if len(parts) > 1:
        figure.legend(frameon=False, fontsize=8, loc="outside upper center", ncols=len(parts))
    return figure


def need_matplotlib() -> None:
    """Fail before the work, not after it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "the figures of a study need matplotlib",
            "install it with `pip install 'caps-tsad[plots]'`",
        ) from None


def _axes(width: float, height: float) -> "tuple[Figure, Axes]":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.grid(color="#e6e9ee", lw=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    axis.xaxis.label.set_fontsize(8.5)
    axis.yaxis.label.set_fontsize(8.5)
    return figure, axis
