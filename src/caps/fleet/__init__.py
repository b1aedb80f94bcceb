"""Many series on one or many machines: one CAPS model each, with shared pretrained modules."""

from caps.fleet.fleet import PAGE, TABLE, FleetResult, fit_fleet, score_fleet
from caps.fleet.plan import Entry, file_name, find_series
from caps.fleet.summary import lead
from caps.fleet.work import ScoreOptions

__all__ = [
    "PAGE",
    "TABLE",
    "Entry",
    "FleetResult",
    "ScoreOptions",
    "file_name",
    "find_series",
    "fit_fleet",
    "lead",
    "score_fleet",
]
