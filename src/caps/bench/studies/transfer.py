"""Both sides of Proposition 1 on simulated targets, where the ideal supervision is known.

The simulator can do what real data cannot: draw anomalous counterparts of a given reference.
"""

from dataclasses import asdict, replace
from functools import partial

from caps.bench.studies.study import Report, StudyRun
from caps.bench.studies.supervision import TargetConfig, draw_targets
from caps.bench.studies.transfer_sides import Cells
from caps.bench.studies.transfer_tables import transfer_report
from caps.bench.studies.transfer_targets import TransferConfig, measure_target
from caps.errors import InputError
from caps.simulate import FAMILIES, GENERATORS

QUICK = TransferConfig(
    targets=TargetConfig(count=2, length=1_536, drawn=32),
    references=3,
    each=3,
    train_references=16,
    candidates=2,
    untrained=1,
)


def transfer(run: StudyRun) -> Report:
    """Measure every target with every seed, then compare."""
    config = QUICK if run.quick else TransferConfig()
    if run.detector is not None:
        config = replace(config, detector=run.detector)
    if tuple(mode.name for mode in run.pretrained.modes) != FAMILIES:
        raise InputError(
            "these modes are not the simulator's families", "use weights without clusters"
        )
    bases, rows = draw_targets(config.targets)
    settings = asdict(config)
    weights = run.weights_facts()["manifest_sha256"]
    cells: Cells = {}
    for seed in run.seeds:
        for row in rows:
            name = GENERATORS[bases.generator[row]]
            run.say(f"measuring {name}, seed {seed}")
            key = {"settings": settings, "row": row, "seed": seed, "weights": weights}
            make = partial(measure_target, run.pretrained, config, bases, row, seed)
            cells[name, seed] = run.kept("transfer", key, make)
    return transfer_report(cells, settings)
