"""Every study of the paper by name."""

from collections.abc import Callable, Mapping
from pathlib import Path

from caps.bench.studies import detection
from caps.bench.studies.codes import latent, recombination
from caps.bench.studies.contamination import contamination, natural_contamination
from caps.bench.studies.context_gap import context_gap
from caps.bench.studies.cost import cost
from caps.bench.studies.diagnostics import diagnostics
from caps.bench.studies.study import Report, StudyRun, write_report
from caps.errors import InputError
from caps.plots import need_matplotlib

STUDIES: Mapping[str, Callable[[StudyRun], Report]] = {
    "ablations": detection.ablations,
    "supervised": detection.supervised,
    "contamination": contamination,
    "natural-contamination": natural_contamination,
    "latent": latent,
    "recombination": recombination,
    "coverage": detection.coverage,
    "modes": detection.modes,
    "diagnosis": detection.diagnosis,
    "realization": detection.realization,
    "diagnostics": diagnostics,
    "architecture": detection.architecture,
    "prior": detection.prior,
    "amount": detection.amount,
    "cost": cost,
    "multivariate": detection.multivariate,
    "context-gap": context_gap,
}


def run_study(name: str, run: StudyRun) -> Path:
    """Run (or finish) a study and write its report; returns the page."""
    if name not in STUDIES:
        raise InputError(f"there is no study {name!r}", f"choose from {', '.join(STUDIES)}")
    if any(seed < 0 for seed in run.seeds) or not run.seeds:
        raise InputError(f"seeds {list(run.seeds)}", "give 0 or positive whole numbers")
    need_matplotlib()
    return write_report(name, STUDIES[name](run), run)
