"""The file of a submission to TSB-AD, in TSB-AD's interface, graded with TSB-AD's own metrics.

TSB-AD wants an older numpy than CAPS, so it is imported from its own environment, behind ours.
"""

import io
import re
import runpy
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from caps import CAPS
from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import InputError
from caps.metrics import acf_window, evaluate
from tools import ROOT

SUBMISSION = ROOT / "examples" / "tsb_ad" / "Run_CAPS.py"
LIMIT = 1e-9
WINDOW = 50
TRAIN = 1000


def parity_adapter(run: StudyRun) -> Report:
    """Fails unless scores, thresholds and grades are those that CAPS gives alone."""
    folders = sorted((ROOT / ".venv-parity").glob("lib/python3*/site-packages"))
    if not folders:
        raise InputError("TSB-AD is not installed in .venv-parity", "run `make parity`")
    sys.path.append(str(folders[0]))
    warnings.simplefilter("ignore")
    # Only now: TSB-AD is found by the path above.
    from TSB_AD import HP_list, model_wrapper
    from TSB_AD.evaluation.metrics import get_metrics

    submitted = runpy.run_path(str(SUBMISSION), run_name="submission")
    submitted["register"]()
    values, labels = _series()
    size = HP_list.Optimal_Uni_algo_HP_dict["CAPS"]
    scores = model_wrapper.run_Semisupervise_AD("CAPS", values[:TRAIN], values, **size)
    alone = CAPS(**size).fit(values[:TRAIN]).decision_function(values)
    detector = submitted["CAPS_AD"](contamination=0.05, **size).fit(values[:TRAIN])
    theirs = get_metrics(scores, labels, slidingWindow=WINDOW)["VUS-PR"]
    ours = evaluate(scores, labels, protocol="tsb-ad", window=WINDOW).vus_pr
    printed = _as_a_script(values, labels)
    window = acf_window(values[:, 0])
    graded = evaluate(scores, labels, protocol="tsb-ad", window=window).vus_pr
    two = np.column_stack([values[:, 0], np.roll(values[:, 0], 300)])
    checks = {
        "scores through TSB-AD equal CAPS's own": bool((scores == alone).all()),
        "decision_scores_ has one score for each row": detector.decision_scores_.shape == (TRAIN,),
        "TSB-AD's threshold labels its share of rows": abs(detector.labels_.mean() - 0.05) < 0.01,
        "TSB-AD grades the scores as caps.metrics does": abs(theirs - ours) < LIMIT,
        "the file as a script prints that grade": abs(printed - graded) < LIMIT,
        "two channels are scored": len(submitted["run_CAPS"](two[:TRAIN], two, **size)) == len(two),
        "TSB-AD lists CAPS with its settings": "CAPS" in model_wrapper.Semisupervise_AD_Pool
        and HP_list.Uni_algo_HP_dict["CAPS"] == HP_list.Multi_algo_HP_dict["CAPS"],
    }
    note = f"VUS-PR {theirs:.3f} on a simulated series."
    rows = [[name, "yes" if holds else "NO"] for name, holds in checks.items()]
    return Report(
        "CAPS inside TSB-AD",
        [],
        [Table("parity adapter", "What holds", ["what", "holds"], rows, [note])],
        wanted="all of these hold",
        passed=all(checks.values()),
    )


def _as_a_script(values: np.ndarray, labels: np.ndarray) -> float:
    """The VUS-PR that the file prints for a series in TSB-AD's layout."""
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as printed:
        name = f"001_WAVE_id_1_Synthetic_tr_{TRAIN}_1st_1200.csv"
        table = pd.DataFrame({"Data": values[:, 0], "Label": labels})
        table.to_csv(Path(folder) / name, index=False, float_format="%.17g")
        before, sys.argv = sys.argv, ["Run_CAPS.py", "--data_direc", folder, "--filename", name]
        try:
            runpy.run_path(str(SUBMISSION), run_name="__main__")
        finally:
            sys.argv = before
    (grade,) = re.findall(r"'VUS-PR': (?:np\.float64\()?([\d.e-]+)", printed.getvalue())
    return float(grade)


def _series(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """A noisy wave with three events in its second half, and their labels."""
    rng = np.random.default_rng(5)
    values = np.sin(np.arange(rows) / 8) + 0.1 * rng.standard_normal(rows)
    labels = np.zeros(rows, dtype=int)
    for start, length in ((1200, 30), (1500, 6), (1800, 60)):
        values[start : start + length] += 1.5
        labels[start : start + length] = 1
    return values[:, None], labels
