"""False alarms on normal series of kinds that no training has seen, against the budget."""

import time

import numpy as np

from caps import CAPS
from caps.bench.rendering import Table, figure
from caps.bench.studies.study import Report, StudyRun
from caps.realize import Pretrained
from tools.quality.unseen import UNSEEN

BUDGETS = ("1/300", "1/1000", "1/3000")
FACTOR = 3.0
SEED = 20_261_116
TRAIN, FRESH, QUICK_FRESH = 4_000, 60_000, 6_000  # rows


def false_alarms(run: StudyRun) -> Report:
    """Alarms of each kind, as multiples of what each budget allows."""
    fresh = QUICK_FRESH if run.quick else FRESH
    ratios = {}
    for index, name in enumerate(UNSEEN):
        start = time.process_time()
        ratios[name] = _measure(name, index, fresh, run.pretrained)
        run.say(f"{name}: {time.process_time() - start:.0f} processor seconds")
    whole = np.array(list(ratios.values()))
    within = ((whole <= FACTOR) & (whole >= 1 / FACTOR)).sum(axis=0)
    below = (whole < 1 / FACTOR).sum(axis=0)
    table = Table(
        "false alarms",
        "Alarms against the budget",
        ["events found / events allowed", *BUDGETS],
        [
            *([name, *map(figure, values)] for name, values in ratios.items()),
            ["**within a factor 3**", *(f"**{count} of {len(ratios)}**" for count in within)],
            ["fewer than a third", *map(str, below)],
        ],
        [f"Fitted on {TRAIN:,} rows of each kind, counted on {fresh:,} that follow; seed {SEED}."],
    )
    return Report(
        "False alarms",
        ["Normal series only, so that every event is a false one."],
        [table],
    )


def _measure(name: str, index: int, fresh: int, weights: Pretrained) -> list[float]:
    """Fit on the first rows, count events in those that follow."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index,)))
    series = UNSEEN[name](rng, TRAIN + fresh)
    found = CAPS(seed=SEED, pretrained=weights).fit(series[:TRAIN]).analyze(series[TRAIN:])
    return [
        len(found.alarms(budget).spans) * int(budget.split("/")[1]) / fresh for budget in BUDGETS
    ]
