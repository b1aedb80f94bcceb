"""Every study of the paper by name, with the question that it answers."""

from pathlib import Path

from caps.bench.studies.study import Report, Study, StudyRun, write_report
from caps.errors import InputError, check_known
from caps.plots import need_matplotlib

# Module -> name -> question, with the section of the paper that asks it.
QUESTIONS = {
    "detection": {
        "ablations": (
            "Which parts of supervision recovery does detection owe its quality to? (section 5, "
            "appendices D.1 and D.2)"
        ),
        "training": "Which options of training, beyond the paper, does the detector profit from?",
        "counterparts": (
            "Do counterparts teach more than injections under the same detector, with the options "
            "of training that go beyond the paper?"
        ),
        "supervised": (
            "Does a detector of the same kind learn more from the labels of the training part, "
            "also when their rarity is treated? (appendix D.1)"
        ),
        "coverage": (
            "What is lost when the mode that the router associates most with the target's "
            "anomalies makes no counterparts? (appendix D.3)"
        ),
        "modes": (
            "Must the modes be the simulator's families, and how many should there be? (appendix "
            "D.3)"
        ),
        "diagnosis": "Does it help to choose the modes by a few known anomalies? (appendix D.3)",
        "realization": "Is diffusion needed to realise effects? (appendix D.4)",
        "architecture": "Do the same pairs train a Transformer as well? (appendix D.5)",
        "prior": "How much depends on the form of the semantic prior of a mode? (appendix D.5)",
        "amount": "How many simulated pairs are enough? (appendix D.5)",
        "multivariate": (
            "One detector a channel: is the largest or the mean of the five largest scores better? "
            "(appendix E)"
        ),
    },
    "contamination": {
        "contamination": (
            "What do anomalies among the references cost, and what does trimming give back? "
            "(appendix D.1)"
        ),
        "natural-contamination": (
            "How clean are the training parts of the benchmark, and does trimming find what is "
            "not? (appendix D.1; one of the two quantities of the theory that can be measured)"
        ),
    },
    "codes": {
        "latent": (
            "Does z_s hide whether a window is anomalous, and is z_a organised by family? (figure "
            "2a, appendix D.2)"
        ),
        "recombination": (
            "Does the same semantic code give another effect on another reference? (figure 2b, "
            "appendix D.2)"
        ),
    },
    "diagnostics": {
        "diagnostics": (
            "Are CAPS's counterparts nearer to real anomalies than injected ones? (appendix D.4)"
        ),
    },
    "cost": {"cost": "What do supervision recovery and scoring cost? (appendix D.5)"},
    "context_gap": {
        "context-gap": (
            "Do the same semantics have another effect under another context, and by how much? "
            "(appendix A.1)"
        ),
    },
    "transfer": {
        "transfer": (
            "How large are both sides of Proposition 1, and is coverage or realization the larger "
            "part? (section 4.4, appendix A)"
        ),
    },
}
STUDIES = {
    name: Study(name, question, f"caps.bench.studies.{module}")
    for module, questions in QUESTIONS.items()
    for name, question in questions.items()
}


def run_study(name: str, run: StudyRun) -> tuple[Path, Report]:
    """Run (or finish) a study and write its page; returns both."""
    check_known("study", name, STUDIES)
    if any(seed < 0 for seed in run.seeds) or not run.seeds:
        raise InputError(f"seeds {list(run.seeds)}", "give 0 or positive whole numbers")
    need_matplotlib()
    report = STUDIES[name](run)
    return write_report(STUDIES[name], report, run), report
