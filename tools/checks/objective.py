"""The representation with and without a part of its objective, at one budget, on unseen pairs.

PYTHONPATH=tools python tools/checks/objective.py docs/model-card.md --without recombination

Both are trained from the same pairs and seed, each in a process with one thread, with the schedule
of the `cpu` preset cut to `--steps`.
"""

import argparse
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from sections import Rows, markdown, rewrite

from caps.realize import preset_named
from caps.represent import Representation, RepresentationStage, representation_checks
from caps.simulate import simulate_pairs
from caps.training import seeded, train

SEED = 0
UNSEEN = 3_000


@dataclass(frozen=True, slots=True)
class Job:
    without: str | None
    pairs: int
    steps: int


def figures(job: Job) -> tuple[dict[str, float], float]:
    """The checks of one training, and its minutes."""
    torch.set_num_threads(1)
    preset = preset_named("cpu")
    objective = preset.objective if job.without is None else replace(
        preset.objective, **{job.without: 0.0}
    )  # fmt: skip
    pairs = simulate_pairs(job.pairs, seed=SEED)
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
        stage = RepresentationStage(model, objective)
    schedule = replace(preset.representation, steps=job.steps, warmup=min(200, job.steps // 10))
    start = time.monotonic()
    train(stage, batches, schedule, seed=SEED, name="representation")
    minutes = (time.monotonic() - start) / 60
    return representation_checks(model, simulate_pairs(UNSEEN, seed=SEED + 1)), minutes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path)
    parser.add_argument("--without", default="recombination")
    parser.add_argument("--pairs", type=int, default=48_000)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    jobs = [Job(each, options.pairs, options.steps) for each in (None, options.without)]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        (whole, minutes), (less, others) = pool.map(figures, jobs)
    rows: Rows = [(name, f"{100 * whole[name]:.1f}", f"{100 * less[name]:.1f}") for name in whole]
    text = (
        f"{options.pairs:,} pairs, {options.steps} steps, one thread, {minutes:.0f} and "
        f"{others:.0f} minutes side by side; percent, on {UNSEEN:,} unseen pairs.\n\n"
        + markdown(("figure", "whole objective", f"without {options.without}"), rows)
    )
    print(text)
    rewrite(options.document, "objective", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
