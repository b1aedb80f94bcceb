"""Subsequence search: where in training the like of a subsequence is, and what lay there."""

from caps.neighbours.config import CounterpartConfig, NeighbourConfig, OverlapConfig
from caps.neighbours.counterpart import (
    Counterpart,
    counterpart_of,
    deviation,
    normal_counterpart,
)
from caps.neighbours.forecasts import block_errors, expected_beside
from caps.neighbours.index import (
    FORMS,
    Form,
    Forms,
    Neighbours,
    SubsequenceIndex,
    Zone,
    in_forms,
    observed_share,
    paa,
    paa_of_windows,
)
from caps.neighbours.overlap import TrainingOverlap, overlap_at, overlap_by_values, training_rows
from caps.neighbours.profiles import kth_distance

__all__ = [
    "FORMS",
    "Counterpart",
    "CounterpartConfig",
    "Form",
    "Forms",
    "NeighbourConfig",
    "Neighbours",
    "OverlapConfig",
    "SubsequenceIndex",
    "TrainingOverlap",
    "Zone",
    "block_errors",
    "counterpart_of",
    "deviation",
    "expected_beside",
    "in_forms",
    "kth_distance",
    "normal_counterpart",
    "observed_share",
    "overlap_at",
    "overlap_by_values",
    "paa",
    "paa_of_windows",
    "training_rows",
]
