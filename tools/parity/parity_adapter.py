"""CAPS inside TSB-AD's detector interface, graded with TSB-AD's own metrics.

TSB-AD wants an older numpy than CAPS, so it is imported from its own environment, behind ours.
"""

import sys
import warnings

import numpy as np

from caps import CAPS
from caps.bench.rendering import Table
from caps.bench.studies.study import Report, StudyRun
from caps.errors import InputError
from caps.metrics import evaluate
from tools import ROOT

LIMIT = 1e-9
WINDOW = 50


def parity_adapter(run: StudyRun) -> Report:
    """Fails unless scores, thresholds and grades are those that CAPS gives alone."""
    folders = sorted((ROOT / ".venv-parity").glob("lib/python3*/site-packages"))
    if not folders:
        raise InputError("TSB-AD is not installed in .venv-parity", "run `make parity`")
    sys.path.append(str(folders[0]))
    warnings.simplefilter("ignore")
    # Only now: TSB-AD is found by the path above.
    from TSB_AD import model_wrapper
    from TSB_AD.evaluation.metrics import get_metrics

    from tools.parity.tsb_ad_detector import CapsDetector, run_CAPS

    values, labels = _series()
    size = {"seed": 1}
    model_wrapper.run_CAPS = run_CAPS
    scores = model_wrapper.run_Semisupervise_AD("CAPS", values[:1000], values, **size)
    alone = CAPS(**size).fit(values[:1000]).decision_function(values)
    detector = CapsDetector(contamination=0.05, **size).fit(values[:1000])
    theirs = get_metrics(scores, labels, slidingWindow=WINDOW)["VUS-PR"]
    ours = evaluate(scores, labels, protocol="tsb-ad", window=WINDOW).vus_pr
    checks = {
        "scores through TSB-AD equal CAPS's own": bool((scores == alone).all()),
        "decision_scores_ has one score for each row": detector.decision_scores_.shape == (1000,),
        "TSB-AD's threshold labels its share of rows": abs(detector.labels_.mean() - 0.05) < 0.01,
        "TSB-AD grades the scores as caps.metrics does": abs(theirs - ours) < LIMIT,
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


def _series(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """A noisy wave with three events in its second half, and their labels."""
    rng = np.random.default_rng(5)
    values = np.sin(np.arange(rows) / 8) + 0.1 * rng.standard_normal(rows)
    labels = np.zeros(rows, dtype=int)
    for start, length in ((1200, 30), (1500, 6), (1800, 60)):
        values[start : start + length] += 1.5
        labels[start : start + length] = 1
    return values[:, None], labels
