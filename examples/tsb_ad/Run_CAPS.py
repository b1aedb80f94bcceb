"""CAPS as a detector of TSB-AD: the one file of a submission, for its folder `benchmark_exp`.

    pip install caps-tsad
    pip install --no-deps TSB-AD && pip install statsmodels  # its metrics run with numpy 2 too
    python Run_CAPS.py --data_direc ../Datasets/TSB-AD-U/ --filename 001_NAB_..._1st_2014.csv

`register()` makes `run_Semisupervise_AD("CAPS", ...)` and the tables of hyper-parameters know it.
CAPS learns from the training part that the name of a series states, scales by itself and takes one
or many channels; nothing was tuned on the series of the benchmark's evaluation list.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from TSB_AD.evaluation.metrics import get_metrics
from TSB_AD.models.base import BaseDetector
from TSB_AD.utils.slidingWindows import find_length_rank

from caps import CAPS

CAPS_HP = {"seed": 0}  # the defaults for one and for many channels: there is nothing to tune


class CAPS_AD(BaseDetector):
    """`fit(X)`, then `decision_scores_`, `threshold_` and `labels_` as TSB-AD makes them."""

    def __init__(self, contamination=0.1, **parameters):
        super().__init__(contamination=contamination)
        self.model = CAPS(**parameters)

    def fit(self, X, y=None):
        """Learn from rows (time, channel) that are mostly normal; `y` is ignored."""
        self.model.fit(X)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X):
        """One score in [0, 1] for each row, higher is more anomalous."""
        return np.nan_to_num(self.model.decision_function(X))


def run_CAPS(data_train, data_test, **parameters):
    """Fit on the training part, score the series; the name that TSB-AD's wrapper looks for."""
    model = CAPS(**parameters).fit(data_train)
    return np.nan_to_num(model.decision_function(data_test))


def register():
    """Enter CAPS into TSB-AD's wrapper and its tables of hyper-parameters."""
    from TSB_AD import HP_list, model_wrapper

    model_wrapper.run_CAPS = run_CAPS
    if "CAPS" not in model_wrapper.Semisupervise_AD_Pool:
        model_wrapper.Semisupervise_AD_Pool.append("CAPS")
    for name in ("Uni", "Multi"):
        getattr(HP_list, f"{name}_algo_HP_dict")["CAPS"] = {key: [v] for key, v in CAPS_HP.items()}
        getattr(HP_list, f"Optimal_{name}_algo_HP_dict")["CAPS"] = CAPS_HP


def main():
    """Score one series of TSB-AD and print its grades."""
    parser = argparse.ArgumentParser(description="Running CAPS")
    parser.add_argument("--filename", default="001_NAB_id_1_Facility_tr_1007_1st_2014.csv")
    parser.add_argument("--data_direc", default="../Datasets/TSB-AD-U/")
    parser.add_argument("--AD_Name", default="CAPS")
    given = parser.parse_args()

    table = pd.read_csv(Path(given.data_direc) / given.filename).dropna()
    data = table.drop(columns="Label").to_numpy(dtype=float)
    label = table["Label"].to_numpy(dtype=int)
    train = int(Path(given.filename).stem.split("_")[-3])

    begun = time.perf_counter()
    output = run_CAPS(data[:train], data, **CAPS_HP)
    took = time.perf_counter() - begun

    flags = output > output.mean() + 3 * output.std()
    window = find_length_rank(data[:, :1], rank=1)
    grades = get_metrics(output, label, slidingWindow=window, pred=flags)
    print(f"{given.AD_Name}: {len(data)} rows in {took:.1f} s")
    print("Evaluation Result: ", grades)


if __name__ == "__main__":
    main()
