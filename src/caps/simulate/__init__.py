"""Matched pairs (x_n, x_a, m, k): normal series, anomaly operations, and the pairs they make."""

from caps.simulate.anomaly.catalogue import OPERATIONS
from caps.simulate.anomaly.operation import FAMILIES
from caps.simulate.normal.catalogue import GENERATORS, simulate_normal
from caps.simulate.pairs import PARAMETERS, WINDOW, PairBatch
from caps.simulate.simulator import simulate_pairs
from caps.simulate.storage import load_pairs, save_pairs
from caps.simulate.visibility import visible

__all__ = [
    "FAMILIES",
    "GENERATORS",
    "OPERATIONS",
    "PARAMETERS",
    "WINDOW",
    "PairBatch",
    "load_pairs",
    "save_pairs",
    "simulate_normal",
    "simulate_pairs",
    "visible",
]
