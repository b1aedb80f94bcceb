"""Metrics of anomaly scores against labels: exact, fast, and the same under two protocols.

`evaluate` gives all of them; `floors` gives what scores without knowledge get on the same labels.
`event_figures` and `nab_score` judge alarms; `budget_threshold` gives a threshold without labels.
Definitions, protocols and edge cases are in `docs/metrics.md`.
"""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.metrics.evaluation import (
        DEFAULT_WINDOW as DEFAULT_WINDOW,
        Evaluation as Evaluation,
        Floors as Floors,
        Protocol as Protocol,
        affiliation as affiliation,
        auc_pr as auc_pr,
        auc_roc as auc_roc,
        evaluate as evaluate,
        floors as floors,
        range_f1 as range_f1,
        standard_f1 as standard_f1,
        vus as vus,
    )
    from caps.metrics.events import (
        EventFigures as EventFigures,
        alarm_spans as alarm_spans,
        budget_threshold as budget_threshold,
        event_figures as event_figures,
        hit_rate as hit_rate,
        ucr_top_1 as ucr_top_1,
    )
    from caps.metrics.nab import (
        NabCurve as NabCurve,
        NabScore as NabScore,
        best_nab as best_nab,
        nab_curve as nab_curve,
        nab_score as nab_score,
    )
    from caps.metrics.range_wise import RangeF1 as RangeF1
    from caps.metrics.volume import Volume as Volume
    from caps.metrics.window import WindowRule as WindowRule, acf_window as acf_window

__getattr__ = on_first_use(__name__)
