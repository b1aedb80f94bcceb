"""Matched pairs (x_n, x_a, m, k): normal series, anomaly operations, and the pairs they make."""

from caps.simulate.anomaly.catalogue import CATALOGUE, OPERATIONS
from caps.simulate.anomaly.events import Bases, in_context, survey
from caps.simulate.anomaly.operation import FAMILIES, Operation, Place
from caps.simulate.normal.catalogue import GENERATORS, draw_normal, simulate_normal
from caps.simulate.pairs import PARAMETERS, WINDOW, PairBatch, visible
from caps.simulate.simulator import simulate_pairs
from caps.simulate.storage import KIND, load_pairs, save_pairs
from caps.simulate.summary import Summary, summarise
from caps.simulate.telemetry import STEPS_PER_DAY, Incident, Telemetry, month_of_telemetry

__all__ = [
    "CATALOGUE",
    "FAMILIES",
    "GENERATORS",
    "KIND",
    "OPERATIONS",
    "PARAMETERS",
    "STEPS_PER_DAY",
    "WINDOW",
    "Bases",
    "Incident",
    "Operation",
    "PairBatch",
    "Place",
    "Summary",
    "Telemetry",
    "draw_normal",
    "in_context",
    "load_pairs",
    "month_of_telemetry",
    "save_pairs",
    "simulate_normal",
    "simulate_pairs",
    "summarise",
    "survey",
    "visible",
]
