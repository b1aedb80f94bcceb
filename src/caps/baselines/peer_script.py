"""The child of `caps.baselines.peers`: runs in the environment of TSB-AD, imports nothing of CAPS.

Its argument is a folder with order.json, train.npy and series.npy; it writes scores.npy there.
"""

import json
import os
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# Kept apart from the table of names in the order: only these models can be run.
CHANNELS = {
    "OmniAnomaly": "feats",
    "USAD": "feats",
    "TranAD": "feats",
    "AnomalyTransformer": "input_c",
    "TimesNet": "enc_in",
    "FITS": "input_c",
}
# What TSB-AD's wrapper adds to the settings of the order.
EXTRA: dict[str, dict[str, Any]] = {
    "AnomalyTransformer": {"batch_size": 128},
    "TimesNet": {"epochs": 50},
    "FITS": {"batch_size": 128},
}

# Models that learn from the series they score, and their classes.
ON_ITSELF = {"KShapeAD": "SAND", "POLY": "POLY"}


def model_class(name: str) -> Any:
    """The class itself: TSB-AD's wrapper hides errors, and some versions lack an entry."""
    if name not in CHANNELS and name not in ON_ITSELF:
        raise SystemExit(f"unknown model {name}")
    home = ON_ITSELF.get(name, name)
    return getattr(import_module(f"TSB_AD.models.{home}"), home)


def scores_of(name: str, settings: dict[str, Any], train: Any, series: Any) -> Any:
    """Learn and score as TSB-AD's wrapper does."""
    if name == "POLY":
        model = model_class(name)(**settings)
        model.fit(series)
        return model.decision_scores_
    if name == "KShapeAD":
        window = settings["window"]
        model = model_class(name)(pattern_length=window, subsequence_length=4 * window)
        model.fit(series.squeeze(), overlaping_rate=int(1.5 * window))
        return model.decision_scores_
    channels = {CHANNELS[name]: series.shape[1]}
    model = model_class(name)(**channels, **EXTRA.get(name, {}), **settings)
    model.fit(train)
    return model.decision_function(series)


def main(folder: Path) -> None:
    """Carry out the order in the folder."""
    # Some seconds that reading the constants of this module does without.
    import numpy as np
    import torch

    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    name, seed = order["model"], order["seed"]
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the models draw from numpy's global generator
    torch.manual_seed(seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    if not torch.cuda.is_available():
        # Anomaly Transformer moves tensors to a GPU whether there is one or not.
        setattr(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor)  # noqa: B010
    train, series = np.load(folder / "train.npy"), np.load(folder / "series.npy")
    found = scores_of(name, order["settings"], train, series)
    scores = np.asarray(found, dtype=np.float64).ravel()
    np.save(folder / "unfinished.npy", scores)
    (folder / "unfinished.npy").rename(folder / "scores.npy")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
