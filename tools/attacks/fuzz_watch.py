"""Mutated inputs through the loop of `caps watch`: no traceback, and every line accounted for."""

import collections
import random
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from mutated_input import check, mutated, rows, watched, written

from caps import CAPS
from caps.bench.rendering import Entry, Table
from caps.bench.studies.study import Report, StudyRun
from untrained_weights import FAST, noisy_wave, save_untrained_weights

INPUTS, QUICK_INPUTS = 2_000, 100
COUNTED = ("lines", "headers", "malformed", "rows", "not_taken")


def fuzz_watch(run: StudyRun) -> Report:
    """Fails if any input has a traceback or a line that is not accounted for."""
    inputs = QUICK_INPUTS if run.quick else INPUTS
    failures, counts = 0, collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        model = _small_model(Path(folder))
        for number in range(inputs):
            rng = random.Random(f"{run.seeds[0]} {number}")
            data = mutated(rng, written(rng, rows(rng, rng.randrange(2, 40))))
            with tempfile.TemporaryDirectory(dir=folder) as work:
                try:
                    outcome = watched(model, rng, data, Path(work))
                    check(outcome)
                except Exception:
                    failures += 1
                    run.say(f"input {number}: {data[:400]!r}\n{traceback.format_exc()}")
                    continue
            counts["inputs refused as a whole" if outcome.refused else "inputs read"] += 1
            if outcome.refused is None:
                facts = asdict(outcome)
                counts.update({name.replace("_", " "): facts[name] for name in COUNTED})
    shown: list[list[Entry]] = [[name, f"{count:,}"] for name, count in counts.items()]
    return Report(
        "Mutated inputs",
        [f"{inputs:,} CSV and NDJSON inputs, mutated by seed {run.seeds[0]}; an untrained model."],
        [Table("fuzz watch", "What became of inputs and lines", ["what", "count"], shown)],
        wanted=f"no input with a traceback or a line unaccounted for; {failures} have one",
        passed=failures == 0,
    )


def _small_model(work: Path) -> CAPS:
    """A causal model of one channel with a step of a minute."""
    time = pd.date_range("2024-04-01", periods=700, freq="min")
    model = CAPS(
        causal=True,
        pretrained=save_untrained_weights(work / "weights"),
        detector=FAST,
        construction="injection",
        references=48,
        alarms="1/300",
    )
    return model.fit(pd.DataFrame({"time": time, "load": noisy_wave(700)}))
