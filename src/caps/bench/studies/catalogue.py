"""Every study of the paper by name, with the question that it answers."""

from pathlib import Path

from caps.bench.studies.drawing import need_matplotlib
from caps.bench.studies.study import Report, Study, StudyRun, write_report
from caps.errors import InputError

HERE = "caps.bench.studies"
SERIES, MORE = "series", "series, pretrainings of its own"

STUDIES: dict[str, Study] = {
    "ablations": Study(
        "Which parts of supervision recovery does detection owe its quality to? "
        "(section 5, appendices D.1 and D.2)",
        MORE,
        f"{HERE}.detection:ablations",
    ),
    "supervised": Study(
        "Does a detector of the same kind learn more from the labels of the training part, also "
        "when their rarity is treated? (appendix D.1)",
        "series of YAHOO, NEK or TODS",
        f"{HERE}.detection:supervised",
    ),
    "contamination": Study(
        "What do anomalies among the references cost, and what does trimming give back? "
        "(appendix D.1)",
        "series of IOPS or KPI",
        f"{HERE}.contamination:contamination",
    ),
    "natural-contamination": Study(
        "How clean are the training parts of the benchmark, and does trimming find what is not? "
        "(appendix D.1; one of the two quantities of the theory that can be measured)",
        SERIES,
        f"{HERE}.contamination:natural_contamination",
    ),
    "latent": Study(
        "Does z_s hide whether a window is anomalous, and is z_a organised by family? "
        "(figure 2a, appendix D.2)",
        "",
        f"{HERE}.codes:latent",
    ),
    "recombination": Study(
        "Does the same semantic code give another effect on another reference? "
        "(figure 2b, appendix D.2)",
        "",
        f"{HERE}.codes:recombination",
    ),
    "coverage": Study(
        "What is lost when the mode that the router associates most with the target's anomalies "
        "makes no counterparts? (appendix D.3)",
        SERIES,
        f"{HERE}.detection:coverage",
    ),
    "modes": Study(
        "Must the modes be the simulator's families, and how many should there be? (appendix D.3)",
        MORE,
        f"{HERE}.detection:modes",
    ),
    "diagnosis": Study(
        "Does it help to choose the modes by a few known anomalies? (appendix D.3)",
        SERIES,
        f"{HERE}.detection:diagnosis",
    ),
    "realization": Study(
        "Is diffusion needed to realise effects? (appendix D.4)",
        MORE,
        f"{HERE}.detection:realization",
    ),
    "diagnostics": Study(
        "Are CAPS's counterparts nearer to real anomalies than injected ones? (appendix D.4)",
        SERIES,
        f"{HERE}.diagnostics:diagnostics",
    ),
    "architecture": Study(
        "Do the same pairs train a Transformer as well? (appendix D.5)",
        SERIES,
        f"{HERE}.detection:architecture",
    ),
    "prior": Study(
        "How much depends on the form of the semantic prior of a mode? (appendix D.5)",
        SERIES,
        f"{HERE}.detection:prior",
    ),
    "amount": Study(
        "How many simulated pairs are enough? (appendix D.5)",
        MORE,
        f"{HERE}.detection:amount",
    ),
    "cost": Study(
        "What do supervision recovery and scoring cost? (appendix D.5)",
        "",
        f"{HERE}.cost:cost",
    ),
    "multivariate": Study(
        "One detector a channel: is the largest or the mean of the five largest scores better? "
        "(appendix E)",
        "series of MSL, SMAP, SMD or PSM",
        f"{HERE}.detection:multivariate",
    ),
    "context-gap": Study(
        "Do the same semantics have another effect under another context, and by how much? "
        "(appendix A.1)",
        "",
        f"{HERE}.context_gap:context_gap",
    ),
}


def run_study(name: str, run: StudyRun) -> tuple[Path, Report]:
    """Run (or finish) a study and write its page; returns both."""
    if name not in STUDIES:
        raise InputError(f"there is no study {name!r}", f"choose from {', '.join(STUDIES)}")
    if any(seed < 0 for seed in run.seeds) or not run.seeds:
        raise InputError(f"seeds {list(run.seeds)}", "give 0 or positive whole numbers")
    need_matplotlib()
    report = STUDIES[name](run)
    return write_report(name, STUDIES[name].question, report, run), report
