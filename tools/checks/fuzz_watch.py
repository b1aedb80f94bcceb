"""Mutated inputs through the loop of `caps watch`: no traceback, and every line accounted for.

PYTHONPATH=tests:tests/cli python tools/checks/fuzz_watch.py --inputs 2000
"""

import argparse
import collections
import random
import tempfile
import traceback
from pathlib import Path

import pandas as pd
from mutated_input import Outcome, check, mutated, rows, watched, written

from caps import CAPS
from untrained_weights import FAST, noisy_wave, save_untrained_weights


def small_model(work: Path) -> CAPS:
    """A causal model of one channel with a step of a minute."""
    time = pd.date_range("2024-04-01", periods=700, freq="min")
    model = CAPS(
        causal=True, pretrained=save_untrained_weights(work / "weights"), detector=FAST,
        construction="injection", references=48, alarms="1/300",
    )  # fmt: skip
    return model.fit(pd.DataFrame({"time": time, "load": noisy_wave(700)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failures, totals, total = 0, collections.Counter[str](), Outcome(None)
    with tempfile.TemporaryDirectory() as folder:
        model = small_model(Path(folder))
        for number in range(options.inputs):
            rng = random.Random(f"{options.seed} {number}")
            data = mutated(rng, written(rng, rows(rng, rng.randrange(2, 40))))
            with tempfile.TemporaryDirectory(dir=folder) as work:
                try:
                    outcome = watched(model, rng, data, Path(work))
                    check(outcome)
                except Exception:
                    failures += 1
                    print(f"input {number}: {data[:400]!r}")
                    traceback.print_exc()
                    continue
            totals["refused as a whole" if outcome.refused else "read"] += 1
            for name in ("lines", "headers", "malformed", "rows", "not_taken"):
                if outcome.refused is None:
                    setattr(total, name, getattr(total, name) + getattr(outcome, name))
    print(f"{options.inputs} inputs, {failures} tracebacks or lines unaccounted for")
    print(", ".join(f"{count} {what}" for what, count in totals.items()))
    print(total)
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
