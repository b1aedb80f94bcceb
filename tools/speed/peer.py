"""Time TSB-AD on the workload. Runs in `.venv-parity`, prints seconds as JSON, see `make perf`."""

import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from TSB_AD.evaluation.basic_metrics import basic_metricor, generate_curve
from workload import LEVELS, WINDOW, workload

MEASURED_LEVELS = 10  # of the 1,500; evenly spread, the rest is scaled


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(size: int) -> None:
    warnings.simplefilter("ignore")
    scores, labels = workload(size)
    grader = basic_metricor()
    quantiles = (np.arange(MEASURED_LEVELS) + 0.5) / MEASURED_LEVELS
    predictions = [(scores > level).astype(int) for level in np.quantile(scores, quantiles)]

    def per_level(metric: Callable[..., object]) -> float:
        total = sum(seconds(lambda p=p: metric(labels, scores, preds=p)) for p in predictions)
        return total / len(predictions)

    found = {
        "auc": seconds(
            lambda: (grader.metric_PR(labels, scores), grader.metric_ROC(labels, scores))
        ),
        "affiliation_level": per_level(grader.metric_Affiliation),
        "standard_f1_level": per_level(grader.metric_PointF1),
        "vus": seconds(lambda: generate_curve(labels, scores, WINDOW, "opt", 250)),
    }
    per_sweep = LEVELS * (found["affiliation_level"] + found["standard_f1_level"])
    found["all"] = found["auc"] + found["vus"] + per_sweep
    print(json.dumps(found | {"measured_levels": MEASURED_LEVELS}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
