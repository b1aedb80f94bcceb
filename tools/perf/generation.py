"""Time the experts: milliseconds a counterpart with the default sampler, written into the docs.

PYTHONPATH=tools python tools/perf/generation.py docs/performance.md
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from sections import Rows, machine, markdown, rewrite

from caps.events.kinds import load_weights
from caps.simulate import simulate_pairs

PAIRS = 384  # references of a fit
WANTED = 10.0  # milliseconds


def main(document: Path) -> int:
    weights = load_weights(None)
    references = torch.from_numpy(simulate_pairs(PAIRS, seed=5).normal)
    codes = weights.encode(references)[0]
    rows: Rows = []
    slowest = 0.0
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for mode in weights.modes:
            clock, work = [], []
            for seed in range(3):
                start, used = time.monotonic(), time.process_time()
                weights.counterparts(mode, references, codes, np.random.default_rng(seed))
                clock.append(1e3 * (time.monotonic() - start) / PAIRS)
                work.append(1e3 * (time.process_time() - used) / PAIRS)
            rows.append((mode.name, str(threads), f"{min(clock):.1f} ms", f"{min(work):.1f} ms"))
            slowest = max(slowest, min(clock))
    sampler = weights.preset.sampler
    text = (
        f"Machine: {machine()}. {PAIRS} counterparts at once, {sampler.steps} steps of "
        f"{sampler.method}, best of three; at most {WANTED:.0f} ms wanted.\n\n"
        + markdown(("expert", "threads", "wall, a pair", "processor, a pair"), rows)
    )
    print(text)
    rewrite(document, "generation", text)
    return int(slowest > WANTED)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
