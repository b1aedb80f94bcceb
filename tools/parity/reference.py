"""Write TSB-AD's numbers for every parity case. Runs in `.venv-parity`, see `make parity`."""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from TSB_AD.evaluation.affiliation.generics import convert_vector_to_events
from TSB_AD.evaluation.affiliation.metrics import pr_from_events
from TSB_AD.evaluation.basic_metrics import basic_metricor, generate_curve
from TSB_AD.utils.slidingWindows import find_length_rank

from oracles.parity_cases import Case, cases, series

SERIES = 30
CAPS_AFFILIATION_EVERY = 10  # 1,500 thresholds take TSB-AD long, so on every tenth case


def reference(case: Case) -> dict[str, float | None]:
    grader = basic_metricor()
    *_, vus_roc, vus_pr = generate_curve(case.labels, case.scores, case.window, "opt", 250)
    values = {
        "vus_pr": vus_pr,
        "vus_roc": vus_roc,
        "auc_pr": grader.metric_PR(case.labels, case.scores),
        "auc_roc": grader.metric_ROC(case.labels, case.scores),
        "standard_f1": grader.metric_PointF1(case.labels, case.scores),
        "affiliation_f": grader.metric_Affiliation(case.labels, case.scores),
    }
    return {name: None if np.isnan(value) else float(value) for name, value in values.items()}


def caps_affiliation(case: Case) -> float:
    """TSB-AD's affiliation at the 1,500 quantile levels of the `caps` protocol."""
    truth = convert_vector_to_events(case.labels)
    best = 0.0
    for threshold in np.quantile(case.scores, np.linspace(0, 1, 1500)):
        events = convert_vector_to_events((case.scores > threshold).astype(int))
        found = pr_from_events(events, truth, (0, len(case.scores)))
        precision, recall = found["Affiliation_Precision"], found["Affiliation_Recall"]
        if precision + recall > 0:
            best = max(best, 2 * precision * recall / (precision + recall + 1e-15))
    return best


def main(path: Path) -> None:
    warnings.simplefilter("ignore")
    numbers = {}
    for index, case in enumerate(cases()):
        numbers[case.name] = reference(case)
        if index % CAPS_AFFILIATION_EVERY == 0:
            numbers[case.name]["affiliation_f_caps"] = caps_affiliation(case)
    windows = [int(find_length_rank(series(seed), rank=1)) for seed in range(SERIES)]
    source = f"TSB-AD {version('TSB-AD')}, numpy {np.__version__}"
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in numbers.items())
    path.write_text(
        f'{{"source": {json.dumps(source)},\n"windows": {windows},\n"cases": {{\n{lines}\n}}}}\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
