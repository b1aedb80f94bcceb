"""The experts: milliseconds a counterpart with the default sampler."""

import time

import numpy as np
import torch

from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from caps.simulate import simulate_pairs
from tools.machine import machine

PAIRS, QUICK_PAIRS = 384, 48  # 384 are the references of a fit
WANTED = 10.0  # milliseconds


def speed_generation(run: StudyRun) -> Report:
    """Wall and processor time of each expert, with one thread and with two."""
    weights, count = run.pretrained, QUICK_PAIRS if run.quick else PAIRS
    references = torch.from_numpy(simulate_pairs(count, seed=5).normal)
    codes = weights.encode(references)[0]
    rows: list[list[Entry]] = []
    slowest = 0.0
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for mode in weights.modes:
            clock, work = [], []
            for seed in range(3):
                start, used = time.monotonic(), time.process_time()
                weights.counterparts(mode, references, codes, np.random.default_rng(seed))
                clock.append(1e3 * (time.monotonic() - start) / count)
                work.append(1e3 * (time.process_time() - used) / count)
            rows.append([mode.name, str(threads), f"{min(clock):.1f} ms", f"{min(work):.1f} ms"])
            slowest = max(slowest, min(clock))
    sampler = weights.preset.sampler
    note = (
        f"Machine: {machine()}. {count} counterparts at once, {sampler.steps} steps of "
        f"{sampler.method}, best of three."
    )
    header = ["expert", "threads", "wall, a pair", "processor, a pair"]
    return Report(
        "Speed of generation",
        [],
        [Table("generation", "Counterparts", header, rows, [note])],
        wanted=f"at most {WANTED:.0f} ms by the clock; the slowest takes {slowest:.1f}",
        passed=slowest <= WANTED,
    )
