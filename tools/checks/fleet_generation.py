"""What generation costs of a fit, and what larger batches of it, across series, would save.

.venv/bin/python tools/checks/fleet_generation.py
"""

import json
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from caps import CAPS
from caps.events.kinds import load_weights
from caps.recover import recover_pairs, reference_windows

BATCHES = (16, 32, 64, 128, 256)
ROWS = (600, 2000)


def wave(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.sin(np.arange(rows) / 20) + 0.1 * rng.standard_normal(rows)


def generation_of_a_fit(rows: int, weights: Any) -> dict[str, Any]:
    """CPU of a fit and of the counterparts in it."""
    spent = 0.0

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal spent
        started = time.process_time()
        pairs = recover_pairs(*arguments, **options)
        spent += time.process_time() - started
        return pairs

    started = time.process_time()
    with patch("caps.scoring.detectors.recover_pairs", timed):
        model = CAPS(pretrained=weights).fit(wave(rows))
    whole = time.process_time() - started
    return {
        "rows": rows,
        "references": model.fitted_.facts["references"][0],
        "fit_cpu_seconds": round(whole, 2),
        "generation_share": round(spent / whole, 2),
    }


def cost_of_a_pair(batch: int, weights: Any) -> float:
    """CPU milliseconds of one counterpart."""
    values = wave(40_000)
    references = reference_windows(
        (values - values.mean()) / values.std(), limit=256, rng=np.random.default_rng(0)
    )
    started = time.process_time()
    pairs = recover_pairs(weights, references, modes=[0], batch=batch)
    return round(1000 * (time.process_time() - started) / len(pairs.counterpart), 2)


def main() -> None:
    torch.set_num_threads(1)
    weights = load_weights(None)
    told = {
        "fits": [generation_of_a_fit(rows, weights) for rows in ROWS],
        "milliseconds_of_a_pair": {batch: cost_of_a_pair(batch, weights) for batch in BATCHES},
    }
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
