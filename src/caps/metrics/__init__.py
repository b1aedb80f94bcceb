"""Metrics of anomaly scores against labels: exact, fast, and the same under two protocols.

`evaluate` gives all of them; `floors` gives what scores without knowledge get on the same labels.
Definitions, protocols and edge cases are in `docs/metrics.md`.
"""

from caps.metrics.evaluation import (
    DEFAULT_WINDOW,
    Evaluation,
    Protocol,
    affiliation,
    auc_pr,
    auc_roc,
    evaluate,
    range_f1,
    standard_f1,
    vus,
)
from caps.metrics.floors import Floors, floors
from caps.metrics.range_wise import RangeF1
from caps.metrics.volume import Volume
from caps.metrics.window import acf_window

__all__ = [
    "DEFAULT_WINDOW",
    "Evaluation",
    "Floors",
    "Protocol",
    "RangeF1",
    "Volume",
    "acf_window",
    "affiliation",
    "auc_pr",
    "auc_roc",
    "evaluate",
    "floors",
    "range_f1",
    "standard_f1",
    "vus",
]
