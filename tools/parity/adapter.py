"""Run CAPS inside TSB-AD's detector interface and grade it with TSB-AD's own metrics.

python tools/parity/adapter.py SITE_PACKAGES_OF_TSB_AD

TSB-AD wants an older numpy than CAPS, so it is imported from its own environment, behind ours.
"""

import sys
import warnings

import numpy as np

LIMIT = 1e-9


def series(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """A noisy wave with three events in its second half, and their labels."""
    rng = np.random.default_rng(5)
    values = np.sin(np.arange(rows) / 8) + 0.1 * rng.standard_normal(rows)
    labels = np.zeros(rows, dtype=int)
    for start, length in ((1200, 30), (1500, 6), (1800, 60)):
        values[start : start + length] += 1.5
        labels[start : start + length] = 1
    return values[:, None], labels


def main() -> int:
    warnings.simplefilter("ignore")
    from TSB_AD import model_wrapper
    from TSB_AD.evaluation.metrics import get_metrics
    from tsb_ad_detector import CapsDetector, run_CAPS

    from caps import CAPS
    from caps.metrics import evaluate

    values, labels = series()
    size = {"references": 96, "members": 1, "seed": 1}
    model_wrapper.run_CAPS = run_CAPS
    scores = model_wrapper.run_Semisupervise_AD("CAPS", values[:1000], values, **size)
    alone = CAPS(**size).fit(values[:1000]).decision_function(values)
    detector = CapsDetector(contamination=0.05, **size).fit(values[:1000])
    theirs = get_metrics(scores, labels, slidingWindow=50)
    ours = evaluate(scores, labels, protocol="tsb-ad", window=50)
    checks = {
        "scores through TSB-AD equal CAPS's own": bool((scores == alone).all()),
        "decision_scores_ has one score for each row": detector.decision_scores_.shape == (1000,),
        "TSB-AD's threshold labels its share of rows": abs(detector.labels_.mean() - 0.05) < 0.01,
        "TSB-AD grades the scores as caps.metrics does": abs(theirs["VUS-PR"] - ours.vus_pr)
        < LIMIT,
    }
    for name, holds in checks.items():
        print(f"{'yes' if holds else 'NO ':3} {name}")
    print(f"VUS-PR {theirs['VUS-PR']:.3f} on a simulated series")
    return int(not all(checks.values()))


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    raise SystemExit(main())
