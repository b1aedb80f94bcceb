"""Subsequence search: where in training the like of a subsequence is, and what lay there."""

from caps.neighbours.counterpart import (
    MARGIN,
    Counterpart,
    counterpart_of,
    deviation,
    normal_counterpart,
)
from caps.neighbours.index import (
    FORMS,
    LEAST_OBSERVED,
    LEAST_SPREAD,
    Bank,
    Form,
    Rows,
    Singles,
    bank_of,
    observed_share,
    summed_up,
    summed_up_alone,
)
from caps.neighbours.overlap import TrainingOverlap, overlap_at, overlap_by_values, training_rows
from caps.neighbours.threads import in_threads

__all__ = [
    "FORMS",
    "LEAST_OBSERVED",
    "LEAST_SPREAD",
    "MARGIN",
    "Bank",
    "Counterpart",
    "Form",
    "Rows",
    "Singles",
    "TrainingOverlap",
    "bank_of",
    "counterpart_of",
    "deviation",
    "in_threads",
    "normal_counterpart",
    "observed_share",
    "overlap_at",
    "overlap_by_values",
    "summed_up",
    "summed_up_alone",
    "training_rows",
]
