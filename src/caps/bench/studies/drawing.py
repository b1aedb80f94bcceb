"""Figures of the studies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from caps.plots import DISTINCT, KEY, LIGHT, NEUTRAL, blank_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = LIGHT["--ink"]


def draw_differences(names: Sequence[str], gaps: Sequence[np.ndarray]) -> "Figure":
    """A dot for each series, a bar at the mean: how much better or worse each variant is."""
    figure, axis = _axes(7.2, 1.1 + 0.62 * max(len(names), 1))
    axis.axvline(0, color=NEUTRAL, lw=0.9)
    for position, values in enumerate(gaps):
        shift = 0.16 * np.sin(2.4 * np.arange(len(values)))  # apart, without chance
        axis.plot(values, position + shift, "o", color=DISTINCT[0], alpha=0.55, ms=5, mec="none")
        if len(values):
            axis.plot([values.mean()] * 2, [position - 0.32, position + 0.32], color=INK, lw=2)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel("difference in VUS-PR, percentage points (each dot a series, bar: mean)")
    return figure


def draw_curves(
    positions: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    across: str,
    up: str,
    logarithmic: bool = False,
) -> "Figure":
    """One line a name over the same positions; dashed where the name is of the paper."""
    figure, axis = _axes(6.4, 3.6)
    for number, (name, values) in enumerate(curves.items()):
        of_paper = name.startswith("paper")
        axis.plot(
            positions,
            values,
            marker="o",
            ms=4,
            lw=1.6,
            ls="--" if of_paper else "-",
            color=NEUTRAL if of_paper else DISTINCT[number % len(DISTINCT)],
            label=name,
        )
    if logarithmic:
        axis.set_xscale("log")
    axis.set_xticks(positions, [f"{position:g}" for position in positions])
    axis.minorticks_off()
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.legend(**KEY)
    return figure


def draw_stacks(
    names: Sequence[str], parts: Mapping[str, Sequence[float]], *, across: str
) -> "Figure":
    """Horizontal bars made of parts."""
    figure, axis = _axes(7.2, 1.2 + 0.42 * len(names))
    left = np.zeros(len(names))
    for (name, values), colour in zip(parts.items(), (*DISTINCT[:2], NEUTRAL), strict=False):
        axis.barh(range(len(names)), values, left=left, color=colour, height=0.6, label=name)
        left = left + np.asarray(values)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlabel(across)
    if len(parts) > 1:
        figure.legend(loc="outside lower center", ncols=len(parts), **KEY)
    return figure


def draw_bounds(
    points: Mapping[str, tuple[np.ndarray, np.ndarray]], *, across: str, up: str
) -> "Figure":
    """Left sides over right sides, both logarithmic; below the line the inequality holds."""
    figure, axis = _axes(6.4, 4.0)
    for (name, (right, left)), colour in zip(points.items(), DISTINCT, strict=False):
        axis.plot(right, left, "o", color=colour, alpha=0.55, ms=5, mec="none", label=name)
    ends = [
        min(each.min() for _, each in points.values()),
        max(each.max() for each, _ in points.values()),
    ]
    axis.plot(ends, ends, color=INK, lw=1, label="both sides equal")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.legend(**KEY)
    return figure


def _axes(width: float, height: float) -> "tuple[Figure, Axes]":
    figure = blank_figure(width, height)
    axis = figure.subplots()
    tidy(axis)
    return figure, axis
