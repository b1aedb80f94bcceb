"""A picture of every operation on several generators, for people to check by eye."""

from pathlib import Path

import numpy as np

from caps.inspection.figures import Panel, PanelGrid, draw_panels, varied
from caps.plots import FAMILY_COLOURS, need_matplotlib, write_png
from caps.simulate import FAMILIES, GENERATORS, OPERATIONS, PairBatch, simulate_pairs

SIMULATED = 4608  # pairs, so that every operation comes on many generators


def draw_gallery(
    path: Path | str, *, seed: int = 0, columns: int = 5, families: tuple[str, ...] = FAMILIES
) -> None:
    """Draw `columns` pairs of every operation to a PNG file, each on another generator if it can.

    The normal member is grey, the anomalous one coloured, the support shaded.
    """
    need_matplotlib()
    pairs = simulate_pairs(SIMULATED, seed=seed, families=families)
    shown = np.unique(pairs.operation)
    panels = []
    for operation in shown:
        rows = np.flatnonzero(pairs.operation == operation)
        panels.append([_panel(pairs, row) for row in varied(rows, pairs.generator[rows], columns)])
    names = [OPERATIONS[operation].replace(" ", "\n", 1) for operation in shown]
    grid = PanelGrid(panels, names, [""] * columns, made="anomalous member")
    write_png(draw_panels(grid, width=2.8, height=1.25), Path(path))


def _panel(pairs: PairBatch, row: int) -> Panel:
    return Panel(
        pairs.normal[row],
        pairs.anomalous[row],
        pairs.support[row],
        FAMILY_COLOURS[FAMILIES[pairs.family[row]]],
        title=GENERATORS[pairs.generator[row]],
    )
