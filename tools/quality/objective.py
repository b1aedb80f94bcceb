"""The representation with and without a part of its objective, at one budget, on unseen pairs."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from caps.bench.rendering import Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.realize import preset_named
from caps.represent import Representation, RepresentationStage, representation_checks
from caps.simulate import simulate_pairs
from caps.training import seeded, train

SEED = 0
WITHOUT = "recombination"
SIZES, QUICK_SIZES = (48_000, 400, 3_000), (600, 10, 300)  # pairs, steps, unseen pairs


def objective(run: StudyRun) -> Report:
    """Both trained from the same pairs and seed, each in a process with one thread."""
    pairs, steps, unseen = QUICK_SIZES if run.quick else SIZES
    trained = partial(_trained, pairs, steps, unseen)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        (whole, minutes), (less, others) = pool.map(trained, ({}, {WITHOUT: 0.0}))
    table = Table(
        "objective",
        "The representation on unseen pairs",
        ["figure", "whole objective", f"without {WITHOUT}"],
        [[name, *(figure(100 * each[name], digits=1) for each in (whole, less))] for name in whole],
        [
            f"{pairs:,} pairs, {steps} steps, one thread, {minutes:.0f} and {others:.0f} minutes "
            f"side by side; percent, on {unseen:,} unseen pairs."
        ],
    )
    return Report(
        "A part of the objective left out",
        ["The schedule of the `cpu` preset, cut to fewer steps."],
        [table],
    )


def _trained(
    count: int, steps: int, unseen: int, changed: dict[str, float]
) -> tuple[dict[str, float], float]:
    """The checks of one training with other weights of the objective, and its minutes."""
    torch.set_num_threads(1)
    preset = preset_named("cpu")
    pairs = simulate_pairs(count, seed=SEED)
    normal, anomalous = torch.from_numpy(pairs.normal), torch.from_numpy(pairs.anomalous)
    support, family = torch.from_numpy(pairs.support), torch.from_numpy(pairs.family).long()

    def batches(count: int, rng: np.random.Generator) -> dict[str, torch.Tensor]:
        rows = torch.from_numpy(rng.integers(len(pairs), size=count))
        return {
            "normal": normal[rows],
            "anomalous": anomalous[rows],
            "support": support[rows].float(),
            "family": family[rows],
        }

    with seeded(SEED, "representation"):
        model = Representation(preset.represent)
        stage = RepresentationStage(model, replace(preset.objective, **changed))
    schedule = replace(preset.representation, steps=steps, warmup=min(200, steps // 10))
    start = time.monotonic()
    train(stage, batches, schedule, seed=SEED, name="representation")
    minutes = (time.monotonic() - start) / 60
    return representation_checks(model, simulate_pairs(unseen, seed=SEED + 1)), minutes
