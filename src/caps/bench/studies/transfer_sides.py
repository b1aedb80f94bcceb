"""The sides of Proposition 1, from what was measured on a target; and means over targets."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from caps.arrays import FloatArray
from caps.bench.bootstrap import mean_figure, over_series
from caps.bench.rendering import Figure
from caps.bench.studies.supervision import DIRECT, IDEAL, INTERMEDIATE

Cell = Mapping[str, Any]  # what `measure_target` found
Cells = dict[tuple[str, int], Cell]  # by target and seed
Value = Callable[[Cell], float]
Side = Callable[[Cell, str], float]  # of a law by name


def side_of(side: Side, law: str) -> Value:
    """A side for one law."""
    return lambda cell: side(cell, law)


def found_at(*keys: str) -> Value:
    """A figure as it was measured."""

    def value(cell: Cell) -> float:
        each: Any = cell
        for key in keys:
            each = each[key]
        return float(each)

    return value


def coverage(cell: Cell, law: str) -> float:
    """Delta_cov: from the ideal law to the intermediate one, for direct injection the ideal."""
    return float(cell["same"][IDEAL] if law == DIRECT else cell["to_ideal"][INTERMEDIATE])


def realization(cell: Cell, law: str) -> float:
    """Delta_real: from the intermediate law to the one that teaches."""
    other = cell["direct_to_other_ideal"] if law == DIRECT else cell["to_intermediate"][law]
    return float(other)


def total(cell: Cell, law: str) -> float:
    """Delta."""
    return coverage(cell, law) + realization(cell, law)


def coverage_at_least(cell: Cell, law: str) -> float:
    """A lower bound of Delta_cov without bias; 0 for direct injection by definition."""
    return 0.0 if law == DIRECT else float(cell["at_least"][f"{INTERMEDIATE} to ideal"])


def realization_at_least(cell: Cell, law: str) -> float:
    """A lower bound of Delta_real without bias."""
    return float(cell["at_least"][f"{law} to {IDEAL if law == DIRECT else INTERMEDIATE}"])


def distance_at_least(cell: Cell, law: str) -> float:
    """A lower bound of W1 to the ideal law without bias; the ideal law itself is 0 away."""
    return 0.0 if law == IDEAL else float(cell["at_least"][f"{law} to ideal"])


def distance_above_chance(cell: Cell, law: str) -> float:
    """W1 to the ideal law without what two samples of the same laws are apart."""
    same = (cell["same"][IDEAL] + cell["same"][law]) / 2
    return float(cell["to_ideal"][law] - same)


def lipschitz(cell: Cell) -> float:
    """L for all detectors, from other draws than those of risks and distances."""
    return float(max(each["other_draws"]["loss"] for each in cell["detectors"].values()))


def risk_gap(cell: Cell, law: str) -> float:
    """The left side: the largest difference of risks over the detectors."""
    risks = (each["risk"] for each in cell["detectors"].values())
    return float(max(abs(risk[law] - risk[IDEAL]) for risk in risks))


def risk_bound(cell: Cell, law: str) -> float:
    """The right side: L/2 Delta."""
    return lipschitz(cell) / 2 * total(cell, law)


def excess(cell: Cell, law: str, under: str = IDEAL) -> float:
    """How much more than the best detector the one trained on `law` risks `under` a law."""
    risks = {name: each["risk"][under] for name, each in cell["detectors"].items()}
    return float(risks[law] - min(risks.values()))


def learning_error(cell: Cell, law: str) -> float:
    """epsilon_learn, as far as the detectors at hand tell."""
    return excess(cell, law, law)


def holds(cell: Cell, law: str) -> bool:
    """Whether both inequalities hold with the L of other draws."""
    right = risk_bound(cell, law)
    second = excess(cell, law) <= 2 * right + learning_error(cell, law)
    return risk_gap(cell, law) <= right and second


def per_target(cells: Cells, value: Value) -> FloatArray:
    """One figure for each target, the mean over its seeds."""
    found = pd.Series({key: value(cell) for key, cell in cells.items()})
    return np.asarray(found.groupby(level=0, sort=False).mean(), dtype=np.float64)


def mean_of(cells: Cells, value: Value, digits: int = 2) -> Figure:
    """The mean over targets with its interval."""
    values = per_target(cells, value)
    return mean_figure(values, pd.Series([""] * len(values)), over_series, digits)
