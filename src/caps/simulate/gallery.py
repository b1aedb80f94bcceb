"""A picture of every operation on several generators, for people to check by eye."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from caps.artifacts import replacing
from caps.errors import InputError
from caps.simulate.anomaly.catalogue import OPERATIONS
from caps.simulate.anomaly.operation import FAMILIES
from caps.simulate.normal.catalogue import GENERATORS
from caps.simulate.pairs import PairBatch
from caps.simulate.simulator import simulate_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"point": "#c0392b", "periodic": "#2457a6", "trend": "#1d7d46"}
# Supports up to this long are too narrow to be seen as a shade and get circles too.
FEW_STEPS = 4


def draw_gallery(
    path: Path | str, *, seed: int = 0, columns: int = 5, families: tuple[str, ...] = FAMILIES
) -> None:
    """Draw `columns` pairs of every operation to a PNG file, each on another generator if it can.

    The normal member is grey, the anomalous one coloured, the support shaded.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "the gallery needs matplotlib", "install it with `pip install 'caps-tsad[plots]'`"
        ) from None
    pairs = simulate_pairs(4608, seed=seed, families=families)
    shown = np.flatnonzero(np.isin(np.arange(len(OPERATIONS)), pairs.operation))
    figure = Figure(figsize=(3.4 * columns, 1.35 * len(shown) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(shown), columns, squeeze=False)
    for axes, operation in zip(grid, shown, strict=True):
        chosen = _varied(pairs, int(operation), columns)
        for axis in axes[len(chosen) :]:
            axis.set_axis_off()
        for axis, index in zip(axes, chosen, strict=False):
            _panel(axis, pairs, int(index))
        axes[0].set_ylabel(OPERATIONS[operation].replace(" ", "\n", 1), rotation=0, ha="right")
    with replacing(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=90)


def _varied(pairs: PairBatch, operation: int, count: int) -> np.ndarray:
    """Rows with the operation, every generator once before any of them comes again."""
    rows = np.flatnonzero(pairs.operation == operation)
    generator = pairs.generator[rows]
    turn = np.array([(generator[:place] == generator[place]).sum() for place in range(len(rows))])
    # Within a turn the order of the draws, not that of the catalogue, decides.
    return rows[np.lexsort((np.arange(len(rows)), turn))][:count]


def _panel(axis: "Axes", pairs: PairBatch, index: int) -> None:
    time = np.arange(pairs.normal.shape[1])
    normal, anomalous = pairs.normal[index], pairs.anomalous[index]
    support = pairs.support[index]
    colour = COLOURS[FAMILIES[pairs.family[index]]]
    axis.fill_between(
        time,
        0,
        1,
        where=support.tolist(),
        step="mid",
        color=colour,
        alpha=0.13,
        lw=0,
        transform=axis.get_xaxis_transform(),
    )
    axis.plot(time, normal, color="0.55", lw=0.7)
    axis.plot(time, anomalous, color=colour, lw=0.9)
    if support.sum() <= FEW_STEPS:
        axis.plot(time[support], anomalous[support], "o", color=colour, ms=3.5, mfc="none", mew=0.8)
    axis.set_xlim(0, len(time) - 1)
    axis.margins(y=0.08)
    axis.tick_params(labelsize=5, length=2, pad=1)
    axis.set_xticks([])
    axis.set_title(GENERATORS[pairs.generator[index]], fontsize=6, loc="left", pad=1)
