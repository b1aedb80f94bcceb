"""Count false alarms on normal series of kinds that no training has seen, against the budget.

PYTHONPATH=tools python tools/checks/false_alarms.py docs/detect.md
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sections import markdown, rewrite
from unseen import UNSEEN

from caps import CAPS
from caps.events.kinds import load_weights

BUDGETS = ("1/300", "1/1000", "1/3000")
FACTOR = 3.0
SEED = 20_261_116


@dataclass(frozen=True)
class Kind:
    """Alarms of one kind, as multiples of what each budget allows."""

    name: str
    ratios: tuple[float, ...]

    def row(self) -> tuple[str, ...]:
        return self.name, *(f"{ratio:.2f}" for ratio in self.ratios)


def measure(name: str, place: int, *, rows: int, fresh: int, seed: int, weights: object) -> Kind:
    """Fit on the first rows, count events in those that follow."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(place,)))
    series = UNSEEN[name](rng, rows + fresh)
    model = CAPS(seed=seed, pretrained=weights).fit(series[:rows])
    found = model.analyze(series[rows:])
    counted = [len(found.alarms(budget).spans) for budget in BUDGETS]
    allowed = [
        fresh * float(budget.split("/")[0]) / int(budget.split("/")[1]) for budget in BUDGETS
    ]
    return Kind(name, tuple(np.array(counted) / np.array(allowed)))


def report(kinds: list[Kind], arguments: argparse.Namespace) -> str:
    ratios = np.array([kind.ratios for kind in kinds])
    within = ((ratios <= FACTOR) & (ratios >= 1 / FACTOR)).sum(axis=0)
    below = (ratios < 1 / FACTOR).sum(axis=0)
    summary = [
        ("**within a factor 3**", *(f"**{count} of {len(kinds)}**" for count in within)),
        ("fewer than a third", *(str(count) for count in below)),
    ]
    header = ("events found / events allowed", *BUDGETS)
    table = markdown(header, [kind.row() for kind in kinds] + summary)
    return (
        f"{table}\nFitted on {arguments.rows:,} rows of each kind, counted on {arguments.fresh:,} "
        f"that follow; seed {arguments.seed}.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path, nargs="?", help="page to write the table into")
    parser.add_argument("--rows", type=int, default=4000, help="of training")
    parser.add_argument("--fresh", type=int, default=60_000, help="rows to count alarms in")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--pretrained", type=Path, help="other weights than the shipped ones")
    arguments = parser.parse_args()
    weights = load_weights(arguments.pretrained)
    kinds = []
    for place, name in enumerate(UNSEEN):
        start = time.process_time()
        kind = measure(
            name,
            place,
            rows=arguments.rows,
            fresh=arguments.fresh,
            seed=arguments.seed,
            weights=weights,
        )
        kinds.append(kind)
        print(*kind.row(), f"({time.process_time() - start:.0f} processor seconds)", flush=True)
    text = report(kinds, arguments)
    print(text)
    if arguments.document is not None:
        rewrite(arguments.document, "false alarms", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
