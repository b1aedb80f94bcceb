"""Compare CAPS with the numbers of TSB-AD and with the naive oracles; fail above 1e-9."""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from caps.metrics import acf_window, affiliation, evaluate, range_f1
from oracles.parity_cases import Case, cases, series
from oracles.range_wise import best_range_f1

LIMIT = 1e-9


def difference(ours: float, reference: float | None) -> float:
    if reference is None or math.isnan(ours):
        return 0.0 if reference is None and math.isnan(ours) else math.inf
    return abs(ours - reference)


def against_tsb_ad(case: Case, numbers: dict[str, float | None]) -> dict[str, float]:
    ours = evaluate(case.scores, case.labels, protocol="tsb-ad", window=case.window)
    found = {}
    for name, reference in numbers.items():
        if name == "affiliation_f_caps":
            value = affiliation(case.scores, case.labels, protocol="caps")
        else:
            value = getattr(ours, name)
        found[f"{name}, TSB-AD"] = difference(value, reference)
    return found


def against_definition(case: Case) -> dict[str, float]:
    ours = range_f1(case.scores, case.labels, protocol="caps")
    return {
        "f1_t, range-wise definition": abs(
            ours.published - best_range_f1(case.scores, case.labels, fixed=False)
        ),
        "f1_t_fixed, range-wise definition": abs(
            ours.fixed - best_range_f1(case.scores, case.labels, fixed=True)
        ),
    }


def main(path: Path) -> int:
    golden = json.loads(path.read_text(encoding="utf-8"))
    differences: dict[str, list[float]] = defaultdict(list)
    for case in cases():
        found = against_tsb_ad(case, golden["cases"][case.name]) | against_definition(case)
        for name, value in found.items():
            differences[name].append(value)
    for seed, window in enumerate(golden["windows"]):
        differences["ACF window, TSB-AD"].append(abs(acf_window(series(seed)) - window))
    table = Table("quantity, reference", "cases", "largest difference", "at most 1e-9")
    for name, values in differences.items():
        verdict = "yes" if max(values) <= LIMIT else "NO"
        table.add_row(name, str(len(values)), f"{max(values):.1e}", verdict)
    Console().print(golden["source"], table)
    return int(any(max(values) > LIMIT for values in differences.values()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
