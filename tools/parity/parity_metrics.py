"""The metrics beside the numbers of TSB-AD and the naive oracles; fails above 1e-9."""

import json
import math
from collections import defaultdict

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.metrics import acf_window, affiliation, evaluate, range_f1
from oracles.parity_cases import Case, cases, series
from oracles.range_wise import best_range_f1
from tools import ROOT

GOLDEN = ROOT / "tests" / "metrics" / "golden" / "tsb_ad.json"  # `make parity` writes it
LIMIT = 1e-9


def parity_metrics(run: StudyRun) -> Report:
    """Largest difference of each metric over all cases."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    differences: dict[str, list[float]] = defaultdict(list)
    for case in cases():
        found = _against_tsb_ad(case, golden["cases"][case.name]) | _against_definition(case)
        for name, value in found.items():
            differences[name].append(value)
    for seed, window in enumerate(golden["windows"]):
        differences["ACF window, TSB-AD"].append(abs(acf_window(series(seed)) - window))
    rows: list[list[Entry]] = [
        [name, str(len(values)), f"{max(values):.1e}", "yes" if max(values) <= LIMIT else "NO"]
        for name, values in differences.items()
    ]
    header = ["quantity, reference", "cases", "largest difference", f"at most {LIMIT:g}"]
    return Report(
        "Parity of the metrics",
        [f"{golden['source']}."],
        [Table("parity metrics", "Differences", header, rows)],
        wanted=f"all within {LIMIT:g}",
        passed=all(max(values) <= LIMIT for values in differences.values()),
    )


def _difference(ours: float, reference: float | None) -> float:
    if reference is None or math.isnan(ours):
        return 0.0 if reference is None and math.isnan(ours) else math.inf
    return abs(ours - reference)


def _against_tsb_ad(case: Case, numbers: dict[str, float | None]) -> dict[str, float]:
    ours = evaluate(case.scores, case.labels, protocol="tsb-ad", window=case.window)
    found = {}
    for name, reference in numbers.items():
        if name == "affiliation_f_caps":
            value = affiliation(case.scores, case.labels, protocol="caps")
        else:
            value = getattr(ours, name)
        found[f"{name}, TSB-AD"] = _difference(value, reference)
    return found


def _against_definition(case: Case) -> dict[str, float]:
    ours = range_f1(case.scores, case.labels, protocol="caps")
    return {
        "f1_t, range-wise definition": abs(
            ours.published - best_range_f1(case.scores, case.labels, fixed=False)
        ),
        "f1_t_fixed, range-wise definition": abs(
            ours.fixed - best_range_f1(case.scores, case.labels, fixed=True)
        ),
    }
