"""Many series on one or many machines: one CAPS model each, with shared pretrained modules."""

from caps.fleet.fleet import FleetResult, fit_fleet, score_fleet
from caps.fleet.jobs import ScoreOptions
from caps.fleet.plan import Entry, find_series

__all__ = [
    "Entry",
    "FleetResult",
    "ScoreOptions",
    "find_series",
    "fit_fleet",
    "score_fleet",
]
