"""Metrics of anomaly scores against labels: exact, fast, and the same under two protocols.

`evaluate` gives all of them; `floors` gives what scores without knowledge get on the same labels.
`event_figures` and `nab_score` judge alarms; `budget_threshold` gives a threshold without labels.
Definitions, protocols and edge cases are in `docs/metrics.md`.
"""

from caps.metrics.evaluation import (
    DEFAULT_WINDOW,
    Evaluation,
    Floors,
    Protocol,
    affiliation,
    auc_pr,
    auc_roc,
    evaluate,
    floors,
    range_f1,
    standard_f1,
    vus,
)
from caps.metrics.events import (
    EventFigures,
    alarm_spans,
    budget_threshold,
    event_figures,
    ucr_top_1,
)
from caps.metrics.nab import NabCurve, NabScore, best_nab, nab_curve, nab_score
from caps.metrics.range_wise import RangeF1
from caps.metrics.volume import Volume
from caps.metrics.window import WindowRule, acf_window

__all__ = [
    "DEFAULT_WINDOW",
    "Evaluation",
    "EventFigures",
    "Floors",
    "NabCurve",
    "NabScore",
    "Protocol",
    "RangeF1",
    "Volume",
    "WindowRule",
    "acf_window",
    "affiliation",
    "alarm_spans",
    "auc_pr",
    "auc_roc",
    "best_nab",
    "budget_threshold",
    "evaluate",
    "event_figures",
    "floors",
    "nab_curve",
    "nab_score",
    "range_f1",
    "standard_f1",
    "ucr_top_1",
    "vus",
]
