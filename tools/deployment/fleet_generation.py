"""What generation costs of a fit, and what larger batches of it, across series, would save."""

import time
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from caps import CAPS
from caps.bench.rendering import Entry, Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.recover import recover_pairs, reference_windows
from tools.machine import machine

BATCHES, QUICK_BATCHES = (16, 32, 64, 128, 256), (64, 256)
ROWS, QUICK_ROWS = (600, 2000), (600,)


def fleet_generation(run: StudyRun) -> Report:
    """Shares of a fit, and milliseconds of a counterpart by the size of its batch."""
    torch.set_num_threads(1)
    fits, batches = (QUICK_ROWS, QUICK_BATCHES) if run.quick else (ROWS, BATCHES)
    shares = Table(
        "fleet generation",
        "Generation in a fit",
        ["rows", "references", "CPU of the fit, s", "of it generation"],
        [_generation_of_a_fit(rows, run.pretrained) for rows in fits],
    )
    costs = Table(
        "fleet generation: batches",
        "A counterpart by the size of its batch",
        ["batch", "CPU, ms"],
        [[str(batch), figure(_cost_of_a_pair(batch, run.pretrained))] for batch in batches],
    )
    return Report(
        "Generation in a fleet",
        [f"{machine()}, one thread."],
        [shares, costs],
    )


def _wave(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.sin(np.arange(rows) / 20) + 0.1 * rng.standard_normal(rows)


def _generation_of_a_fit(rows: int, weights: Any) -> list[Entry]:
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
        model = CAPS(pretrained=weights, detector="auto").fit(_wave(rows))
    whole = time.process_time() - started
    references = str(model.fitted_.facts["references"][0])
    return [str(rows), references, figure(whole), f"{spent / whole:.0%}"]


def _cost_of_a_pair(batch: int, weights: Any) -> float:
    """CPU milliseconds of one counterpart."""
    values = _wave(40_000)
    references = reference_windows(
        (values - values.mean()) / values.std(), limit=256, rng=np.random.default_rng(0)
    )
    started = time.process_time()
    pairs = recover_pairs(weights, references, modes=[0], batch=batch)
    return 1000 * (time.process_time() - started) / len(pairs.counterpart)
