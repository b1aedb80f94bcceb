"""False alarms on normal series of kinds that no training has seen, against the budget."""

import time
from collections.abc import Iterator

import numpy as np

from caps import CAPS
from caps.bench.rendering import Table, figure
from caps.bench.studies.study import Report, StudyRun
from tools.quality.unseen import UNSEEN

BUDGETS = ("1/300", "1/1000", "1/3000")
FACTOR = 3.0
SEED = 20_261_116
TRAIN, FRESH, QUICK_FRESH, PIECE = 4_000, 60_000, 6_000, 5_000  # rows
MODES = ("in hindsight", "live", f"in pieces of {PIECE:,} rows")


def false_alarms(run: StudyRun) -> Report:
    """Alarms of each kind, as multiples of what each budget allows, and the rows they take."""
    fresh = QUICK_FRESH if run.quick else FRESH
    measured = {}
    for index, name in enumerate(UNSEEN):
        start = time.process_time()
        measured[name] = list(_measure(name, index, fresh))
        run.say(f"{name}: {time.process_time() - start:.0f} processor seconds")
    tables = [
        _table(mode, {name: each[row] for name, each in measured.items()}, fresh)
        for row, mode in enumerate(MODES)
    ]
    paragraph = (
        "Normal series only, so that every event is a false one; compared with training alone, "
        "as by default."
    )
    return Report("False alarms", [paragraph], tables)


def _table(mode: str, measured: dict[str, np.ndarray], fresh: int) -> Table:
    ratios = np.array([each[0] for each in measured.values()])
    within = ((ratios <= FACTOR) & (ratios >= 1 / FACTOR)).sum(axis=0)
    below = (ratios < 1 / FACTOR).sum(axis=0)
    name = "false alarms" if mode == MODES[0] else f"false alarms {mode.split()[-1]}"
    rows = [
        [kind, *(f"{figure(ratio).text} ({share:.1%})" for ratio, share in zip(*each, strict=True))]
        for kind, each in measured.items()
    ]
    return Table(
        name,
        f"Alarms against the budget, {mode}",
        ["events found / events allowed (rows in events)", *BUDGETS],
        [
            *rows,
            ["**within a factor 3**", *(f"**{count} of {len(ratios)}**" for count in within)],
            ["fewer than a third", *map(str, below)],
        ],
        [f"Fitted on {TRAIN:,} rows of each kind, counted on {fresh:,} that follow; seed {SEED}."],
    )


def _measure(name: str, index: int, fresh: int) -> Iterator[np.ndarray]:
    """Fit on the first rows; of those that follow, events over the budget and share in events."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index,)))
    series = UNSEEN[name](rng, TRAIN + fresh)
    train, rest = series[:TRAIN], series[TRAIN:]
    around = CAPS(seed=SEED).fit(train)
    live = CAPS(seed=SEED, causal=True).fit(train)
    pieces = [rest[first : first + PIECE] for first in range(0, fresh, PIECE)]
    for model, parts in ((around, [rest]), (live, [rest]), (around, pieces)):
        analyses = [model.analyze(part) for part in parts]
        yield np.array([_counted(analyses, budget, fresh) for budget in BUDGETS]).T


def _counted(analyses: list, budget: str, fresh: int) -> tuple[float, float]:
    spans = [span for each in analyses for span in each.alarms(budget).spans]
    rows = sum(end - start for start, end in spans)
    return len(spans) * int(budget.split("/")[1]) / fresh, rows / fresh
