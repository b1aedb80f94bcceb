"""Studies that compare detection by variants of CAPS on the same labelled series: one table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from caps.bench.rendering import frame_table
from caps.bench.studies.comparison import PROTOCOL, Comparison, Row, compare
from caps.bench.studies.drawing import draw_curves
from caps.bench.studies.study import MULTIVARIATE, QUICK_SERIES, Report, StudyRun
from caps.bench.studies.variants import ALONE, BEYOND, PREFIX, TRAINED
from caps.bench.studies.weights import AMOUNTS, CLUSTERS, PRIOR, budget, recipes, trained
from caps.inspection import draw_confusion, view
from caps.realize import Pretrained, router_figures
from caps.simulate import simulate_pairs

UNSEEN = 1  # added to the seed of a pretraining for pairs it has not seen
# With anomalies in the training part, or there would be nothing to learn from.
QUICK_LABELLED = (
    "280_NEK_id_4_WebService_tr_500_1st_231.csv",
    "289_TODS_id_3_Synthetic_tr_500_1st_26.csv",
    "568_YAHOO_id_18_WebService_tr_500_1st_333.csv",
)
QUICK_MULTIVARIATE = ("013_MSL_id_12_Sensor_tr_554_1st_1200.csv",)
MADE = f"{PREFIX}{TRAINED}"  # followed by the recipe of weights that are made for the study
WITH_PRIOR = f"{MADE}{PRIOR}"
OWN, KNOWN, DIFFUSION = "CAPS, study's budget", "Knowledge-based K=3", "CAPS (diffusion)"
PLAIN, WITH_OPTIONS = "No option", "CAPS, options on"
MADE_OTHERWISE = {
    "resized": "Effects of the source's size and roughness",
    "shuffled": "Shuffled residuals",
    "direct": "Direct source-residual injection",
    "injection": "Rules on own windows",
    "perturbation": "DADA's perturbations",
    "diagnosis": "CAPS(Diagnosis)",
}
LABELS = {
    "events": "Every event the same weight",
    "modes": "One output a mode, calibrated",
    "short": "Half of the supports 1 to 16 rows",
    "seen": "Effects of one local std at least",
    "both": "Both views of a window",
    "stopped": "Stopped by held-out counterparts",
    "own": "Own segments as effects",
    "events-seen": "Same weight, effects of one std",
    "events-seen-short": "The same, a quarter of 1 to 16 rows",
    "events-seen-own": "The same, own segments",
}
MOST = f"{AMOUNTS[-1]:,} pairs"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a study compares, and on which series."""

    title: str
    rows: Sequence[Row]
    protocol: str = ""
    datasets: Sequence[str] | None = None
    quick: Sequence[str] = QUICK_SERIES
    most: int | None = None  # series of a quick study
    by_dataset: bool = False  # a table for each, and none over all


PLANS = {
    "ablations": Plan(
        "Ablations and controlled comparisons",
        [
            Row("CAPS", ALONE),
            Row("Shuffled residuals", f"{PREFIX}shuffled", "CAPS"),
            Row("Direct source-residual injection", f"{PREFIX}direct", "CAPS"),
            Row(OWN, f"{MADE}default", paper="CAPS"),
            Row("w/o residual parameterization", f"{MADE}sequence", OWN),
            Row("w/o counterfactual loss", f"{MADE}no-cf", OWN),
        ],
    ),
    "training": Plan(
        "Options of training",
        [
            Row(PLAIN, f"{PREFIX}plain"),
            *(Row(label, f"{PREFIX}{name}", PLAIN) for name, label in LABELS.items()),
        ],
        "Each option alone, on top of half of the small detector: one network of 120 steps. None "
        "of them is the paper's.",
    ),
    "counterparts": Plan(
        "Counterparts under the detector beyond the paper",
        [
            Row(WITH_OPTIONS, f"{PREFIX}{BEYOND}alone"),
            *(
                Row(label, f"{PREFIX}{BEYOND}{name}", WITH_OPTIONS)
                for name, label in MADE_OTHERWISE.items()
            ),
        ],
        'All rows have the options of `detector="auto"`, one network of 120 steps, the same '
        "references and seeds, and no perturbations beside what the row names.",
    ),
    "supervised": Plan(
        "Recovered against label-supervised training",
        [
            Row("CAPS", ALONE),
            Row("TCN-Supervised (BCE)", "tcn-supervised", "CAPS"),
            Row("Weighted BCE", "tcn-supervised-weighted", "CAPS"),
            Row("Balanced Window Sampling", "tcn-supervised-balanced", "CAPS"),
            Row("Focal Loss", "tcn-supervised-focal", "CAPS"),
        ],
        "The supervised rows see the labels of the training part; CAPS sees none.",
        datasets=("YAHOO", "NEK", "TODS"),
        quick=QUICK_LABELLED,
        by_dataset=True,
    ),
    "coverage": Plan(
        "Coverage stress test",
        [
            Row("CAPS", f"{PREFIX}all-modes"),
            Row("w/o highest-associated mode", f"{PREFIX}without-mode", "CAPS"),
        ],
        "The mode is chosen for each series by a tenth of its anomalous test windows, on which "
        "nothing is trained; the other modes make its counterparts in turn, so their number stays.",
    ),
    "modes": Plan(
        "Mode construction and granularity",
        [
            Row(KNOWN, f"{MADE}default"),
            *(Row(f"K-means K={k}", f"{MADE}clusters-{k}", KNOWN) for k in CLUSTERS),
        ],
        "K also changes the number of counterparts for each reference.",
    ),
    "diagnosis": Plan(
        "Diagnosis and targeted mode selection",
        [Row("CAPS", ALONE), Row("CAPS(Diagnosis)", f"{PREFIX}diagnosis", "CAPS")],
        "Diagnosis is told a tenth of the anomalous test windows (at least one) and is scored on "
        "all of them: an easier task than the one of CAPS. rho = 0.8.",
    ),
    "realization": Plan(
        "Alternative realization mechanisms",
        [
            Row(DIFFUSION, f"{MADE}default"),
            Row("Direct source-residual injection", f"{PREFIX}direct", DIFFUSION),
            Row("VAE residual generator", f"{MADE}vae", DIFFUSION),
        ],
        "Direct injection needs no weights; its modes are the families.",
    ),
    "architecture": Plan(
        "Detector architecture",
        [
            Row("CAPS (TCN)", ALONE),
            Row("CAPS (Transformer)", f"{PREFIX}transformer", "CAPS (TCN)"),
        ],
        "Same pairs, same number of training steps.",
    ),
    "prior": Plan(
        "Prior sensitivity",
        [
            Row("Diagonal Gaussian", f"{WITH_PRIOR}diagonal"),
            Row("Isotropic Gaussian", f"{WITH_PRIOR}isotropic", "Diagonal Gaussian"),
            Row("Full-covariance Gaussian", f"{WITH_PRIOR}full", "Diagonal Gaussian"),
            Row("Student-t", f"{WITH_PRIOR}student", "Diagonal Gaussian"),
        ],
        "All four priors are fitted to the codes of the same simulated pairs; the experts stay as "
        "they are, trained with samples of diagonal priors.",
    ),
    "amount": Plan(
        "Amount of simulated data",
        [
            Row(MOST, f"{MADE}pairs-{AMOUNTS[-1]}"),
            *(Row(f"{n:,} pairs", f"{MADE}pairs-{n}", MOST) for n in AMOUNTS[:-1]),
        ],
        "As many epochs for every amount, as in the paper: fewer pairs mean fewer updates too.",
    ),
    "multivariate": Plan(
        "Multivariate extension",
        [
            Row("CAPS (Max)", ALONE),
            Row("CAPS (Top5-mean)", f"{PREFIX}top5", "CAPS (Max)"),
        ],
        "Channels are combined by their evidence, -log p of the detector's scores.",
        datasets=MULTIVARIATE,
        quick=QUICK_MULTIVARIATE,
        most=1,
        by_dataset=True,
    ),
}


def planned_study(name: str, run: StudyRun) -> Report:
    """The plan of this name, and nothing else."""
    return carry_out(name, PLANS[name], run)[0]


def diagnosis(run: StudyRun) -> Report:
    """The plan of this name, and how well the router tells modes."""
    report = planned_study("diagnosis", run)
    pretrained = run.pretrained
    seed = int(pretrained.facts.get("seed") or 0) + UNSEEN
    seen = view(pretrained, simulate_pairs(300 if run.quick else 3_000, seed=seed))
    routed = router_figures(pretrained, seen.source)
    caption = (
        f"Router on {len(seen.pairs):,} unseen simulated pairs (seed {seed}): it agrees with the "
        f"pair's own mode in {routed['accuracy']:.1%}."
    )
    figures = {caption: draw_confusion(np.array(routed["confusion"]), seen.names)}
    facts = {**report.facts, "router": routed}
    return replace(report, figures={**figures, **report.figures}, facts=facts)


def amount(run: StudyRun) -> Report:
    """The plan of this name, as curves too, and what the pretrainings took."""
    report, compared = carry_out("amount", PLANS["amount"], run)
    ordered = sorted(compared.rows, key=lambda row: int(row.method.rpartition("-")[2]))
    picture = draw_curves(
        AMOUNTS,
        {"ours": compared.curve(ordered), "paper": compared.paper_curve(ordered)},
        across="simulated pairs (the paper's amounts)",
        up="VUS-PR, percent, mean over series",
        logarithmic=True,
    )
    pairs = [recipes(run)[f"pairs-{count}"].pairs for count in AMOUNTS]
    loaded = [Pretrained.load(trained(run, f"pairs-{count}")) for count in AMOUNTS]
    minutes = pd.DataFrame(
        {
            "Simulated for this study": [f"{made:,}" for made in pairs],
            "Minutes": [each.minutes for each in loaded],
            "Paper, minutes": [23.6, 48.5, 95.1, 180.5],
        },
        index=[f"{count:,}" for count in AMOUNTS],
    )
    note = "By the clock, all stages, on this machine and beside whatever else it did."
    title, digits = "Training time by amount", {"Paper, minutes": 1}
    costs = frame_table("amount_cost", title, minutes, "Pairs", digits, [note])
    protocol = list(report.protocol)
    if pairs[-1] != AMOUNTS[-1]:
        protocol.append(f"Scaled down for a quick study: {pairs[-1]:,} pairs stand for {MOST}.")
    figures = {**report.figures, "VUS-PR, ours and the paper's.": picture}
    return replace(report, protocol=protocol, tables=[*report.tables, costs], figures=figures)


def carry_out(name: str, plan: Plan, run: StudyRun) -> tuple[Report, Comparison]:
    """Make the weights, compare the rows and judge them against the paper."""
    series = run.needed(datasets=plan.datasets, quick=plan.quick, most=plan.most)
    made = [row.method.removeprefix(MADE) for row in plan.rows if row.method.startswith(MADE)]
    protocol = [*PROTOCOL, plan.protocol]
    if not set(made).isdisjoint(recipes(run)):
        made.insert(0, "default")  # first: others share with it
        protocol.insert(1, budget(run))
    for recipe in made:
        trained(run, recipe)
    compared = compare(name, run, plan.rows, series)
    names = sorted({file.dataset for file in series})
    parts = [("", compared)]
    if plan.by_dataset:
        parts = [(each, compared.only(each)) for each in names]
    report = Report(
        plan.title,
        [line for line in protocol if line],
        [part.table(f"{plan.title}: {each}" if each else plan.title) for each, part in parts],
        [f"{each}: {line}" if each else line for each, part in parts for line in part.verdict()],
        {"Differences in VUS-PR, series by series.": compared.picture()},
        {"series": [file.name for file in series], "datasets": names},
    )
    return report, compared
