"""Figures of a pretraining: drawing functions from plain arrays to matplotlib figures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from caps.plots import (
    DISTINCT,
    FAMILY_COLOURS,
    KEY,
    LIGHT,
    NEUTRAL,
    NORMAL,
    SMALL,
    blank_figure,
    name_left,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND_COLUMNS = 4
INK = LIGHT["--ink"]
STATUS = ("normal", "anomalous")
COLOURS = {"normal": NEUTRAL, "anomalous": LIGHT["--event"], **FAMILY_COLOURS}
DASHES = (0, (3, 1.5))
# Supports up to this long are too narrow to be seen as a shade and get circles too.
FEW_STEPS = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """One small plot: a reference, what was made of it, and where."""

    reference: np.ndarray  # (time,)
    counterpart: np.ndarray  # (time,)
    support: np.ndarray  # (time,) bool
    colour: str
    truth: np.ndarray | None = None  # (time,) the simulated anomalous member, where there is one
    framed: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class PanelGrid:
    """Rows of panels with their labels; a row may be shorter than there are columns."""

    panels: Sequence[Sequence[Panel]]
    rows: Sequence[str]
    columns: Sequence[str]
    one_scale: bool = False  # a row shares its vertical axis, so that sizes can be compared
    made: str = "counterpart"  # what the key calls that which was made of the references


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points of a 2-D projection, coloured by label."""

    title: str
    points: np.ndarray  # (count, 2)
    label: np.ndarray  # (count,) index into names
    names: Sequence[str]


def colour_of(name: str, k: int) -> str:
    """The colour of a family or a status; of another mode, the kth, that of a fixed list.

    >>> colour_of("trend", 0), colour_of("cluster 2", 1)
    ('#1d7d46', '#d55e00')
    """
    return COLOURS.get(name, DISTINCT[k % len(DISTINCT)])


def draw_losses(stages: Mapping[str, Mapping[str, Sequence[float]]]) -> "Figure":
    """Loss curves of every stage: the values in the manifest faint, their running mean on top."""
    columns = min(3, len(stages))
    rows = math.ceil(len(stages) / columns)
    figure = blank_figure(3.9 * columns, 3.1 * rows)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis, (name, curves) in zip(axes, stages.items(), strict=False):
        _loss_panel(axis, curves)
        _name_above(axis, name.replace("-", " "))
    for axis in axes[len(stages) :]:
        axis.set_axis_off()
    return figure


def draw_clouds(clouds: Sequence[Cloud]) -> "Figure":
    """Projections side by side."""
    legend_rows = max(math.ceil(len(cloud.names) / LEGEND_COLUMNS) for cloud in clouds)
    figure = blank_figure(4.8 * len(clouds), 4.8 + 0.25 * legend_rows)
    for axis, cloud in zip(figure.subplots(1, len(clouds), squeeze=False)[0], clouds, strict=True):
        # One scatter in the order given: the classes are mixed, so none hides the others.
        colours = {name: colour_of(name, k) for k, name in enumerate(cloud.names)}
        inks = np.array(list(colours.values()))[cloud.label]
        axis.scatter(*cloud.points.T, c=inks, s=9, alpha=0.65, lw=0)
        for name, colour in colours.items():
            axis.scatter([], [], c=colour, s=28, lw=0, label=name)
        tidy(axis)
        axis.tick_params(labelbottom=False, labelleft=False)
        _name_above(axis, cloud.title)
        columns = min(LEGEND_COLUMNS, len(cloud.names))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=columns, **KEY)
    return figure


def draw_confusion(confusion: np.ndarray, names: Sequence[str]) -> "Figure":
    """Rows: the pair's own mode; columns: the router's. Percent of the row, counts below."""
    count = len(names)
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    figure = blank_figure(2.0 + 1.05 * count, 1.3 + 0.9 * count)
    axis = figure.subplots()
    axis.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(share):
        text = f"{100 * value:.1f}%\n({confusion[row, column]})"
        ink = "white" if value > 0.55 else INK
        axis.text(column, row, text, ha="center", va="center", fontsize=NORMAL, color=ink)
    axis.set_xticks(range(count), names)
    axis.set_yticks(range(count), names)
    axis.set_xlabel("mode the router associates")
    axis.set_ylabel("mode of the pair")
    tidy(axis, grid=False)
    axis.spines[:].set_visible(False)
    return figure


def draw_panels(grid: PanelGrid, *, width: float = 3.3, height: float = 1.75) -> "Figure":
    """A grid of references with their counterparts, supports shaded."""
    figure = blank_figure(width * len(grid.columns) + 1.1, height * len(grid.rows) + 0.9)
    sharey: Literal["row", "none"] = "row" if grid.one_scale else "none"
    axes = figure.subplots(len(grid.rows), len(grid.columns), squeeze=False, sharey=sharey)
    for line, panels, label in zip(axes, grid.panels, grid.rows, strict=True):
        for axis, panel in zip(line, panels, strict=False):
            _panel(axis, panel)
        for axis in line[len(panels) :]:
            axis.set_axis_off()
        name_left(line[0], label)
    for axis, title in zip(axes[0], grid.columns, strict=True):
        if title:
            _name_above(axis, title)
    from matplotlib.lines import Line2D  # an extra, and half a second in `blank_figure`
    from matplotlib.patches import Patch

    shown = [panel for row in grid.panels for panel in row]
    colour = shown[0].colour if len({panel.colour for panel in shown}) == 1 else INK
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=NEUTRAL, lw=1.2, ls=DASHES, label="reference"),
        Line2D([], [], color=colour, lw=1.6, label=grid.made),
        Patch(color=colour, alpha=0.15, lw=0, label="support"),
    ]
    if any(panel.truth is not None for panel in shown):
        handles.append(Line2D([], [], color=INK, lw=0.9, label="simulated anomaly"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, **KEY)
    return figure


def varied(rows: np.ndarray, kind: np.ndarray, count: int) -> list[int]:
    """Up to `count` of the rows, in their order, every kind once before any comes again.

    >>> varied(np.array([3, 4, 5, 8]), np.array([0, 0, 1, 0]), 3)
    [3, 5, 4]
    """
    turn = np.array([(kind[:index] == kind[index]).sum() for index in range(len(rows))])
    return [int(row) for row in rows[np.argsort(turn, kind="stable")][:count]]


def _loss_panel(axis: "Axes", curves: Mapping[str, Sequence[float]]) -> None:
    from matplotlib.ticker import (
        LogLocator,
        MaxNLocator,
        NullLocator,
    )  # an extra, and half a second in `blank_figure`

    step = np.asarray(curves["step"])
    losses = {name: np.asarray(values) for name, values in curves.items() if name != "step"}
    colours = (INK, *DISTINCT)
    for k, (name, values) in enumerate(losses.items()):
        colour = colours[k % len(colours)]
        axis.plot(step, values, color=colour, lw=0.7, alpha=0.25)
        # Over about a twentieth of the curve; shorter at its ends.
        windows = pd.Series(values).rolling(len(values) // 40 * 2 + 1, min_periods=1, center=True)
        axis.plot(step, windows.mean(), color=colour, lw=1.5 if k == 0 else 1.1, label=name)
    everything = np.concatenate(list(losses.values()))
    if everything.min() > 0 and everything.max() > 3 * everything.min():
        axis.set_yscale("log")
        wide = everything.max() > 300 * everything.min()
        axis.yaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axis.xaxis.set_major_formatter("{x:,.0f}")
    tidy(axis)
    axis.set_xlabel("step")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, **KEY)


def _panel(axis: "Axes", panel: Panel) -> None:
    time = np.arange(len(panel.reference))
    shade: Any = {"color": panel.colour, "alpha": 0.12, "lw": 0, "step": "mid"}
    across = axis.get_xaxis_transform()
    axis.fill_between(time, 0, 1, where=panel.support.tolist(), transform=across, **shade)
    axis.plot(time, panel.reference, color=NEUTRAL, lw=1.2, ls=DASHES)
    axis.plot(time, panel.counterpart, color=panel.colour, lw=0.9, alpha=0.5)
    if panel.truth is not None:
        axis.plot(time, _within(panel.truth, panel.support), color=INK, lw=0.9)
    axis.plot(time, _within(panel.counterpart, panel.support), color=panel.colour, lw=1.6)
    if panel.support.sum() <= FEW_STEPS:
        alone = np.where(panel.support, panel.counterpart, np.nan)
        axis.plot(time, alone, "o", color=panel.colour, ms=4, mfc="none")
    tidy(axis)
    axis.set_xlim(0, len(time) - 1)
    axis.set_xticks(range(0, len(time), len(time) // 4))
    axis.tick_params(labelbottom=False)
    axis.locator_params(axis="y", nbins=4)
    axis.margins(y=0.08)
    if panel.title:
        axis.set_title(panel.title, fontsize=SMALL, loc="left", pad=2)
    if panel.framed:
        axis.spines[:].set(visible=True, color=panel.colour, linewidth=2.4)


def _name_above(axis: "Axes", title: str) -> None:
    axis.set_title(title, loc="left", fontsize=NORMAL, weight="bold")


def _within(values: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The values inside the support and one step around it, elsewhere nan."""
    around = np.convolve(support, np.ones(3), mode="same") > 0
    return np.where(around, values, np.nan)
