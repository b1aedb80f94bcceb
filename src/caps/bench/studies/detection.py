"""Studies that compare detection by variants of CAPS on the same labelled series."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from caps.bench.datasets import SeriesFile
from caps.bench.rendering import Table, figure
from caps.bench.studies.comparison import PROTOCOL, Comparison, Row, compare
from caps.bench.studies.drawing import draw_curves
from caps.bench.studies.study import MULTIVARIATE, Report, StudyRun
from caps.bench.studies.variants import PREFIX, TRAINED
from caps.bench.studies.weights import AMOUNTS, CLUSTERS, budget, recipes, trained, with_prior
from caps.bench.summary import METRICS
from caps.inspection import draw_confusion, view
from caps.realize import PRIORS, PriorKind, router_figures
from caps.simulate import simulate_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = f"{PREFIX}alone"
UNSEEN = 1  # added to the seed of a pretraining for pairs it has not seen
CAPTION = "Differences in VUS-PR, series by series."
# With anomalies in the training part, or there would be nothing to learn from.
QUICK_LABELLED = (
    "280_NEK_id_4_WebService_tr_500_1st_231.csv",
    "289_TODS_id_3_Synthetic_tr_500_1st_26.csv",
    "568_YAHOO_id_18_WebService_tr_500_1st_333.csv",
)
QUICK_MULTIVARIATE = ("013_MSL_id_12_Sensor_tr_554_1st_1200.csv",)


def ablations(run: StudyRun) -> Report:
    """The paper's four controlled comparisons."""
    rows = [
        Row("CAPS", ALONE),
        Row("Shuffled residuals", f"{PREFIX}shuffled", "CAPS"),
        Row("Direct source-residual injection", f"{PREFIX}direct", "CAPS"),
        _made(run, "CAPS, study's budget", "default", paper="CAPS"),
        _made(run, "w/o residual parameterization", "sequence", "CAPS, study's budget"),
        _made(run, "w/o counterfactual loss", "no-cf", "CAPS, study's budget"),
    ]
    return _report(
        run,
        "ablations",
        "Ablations and controlled comparisons",
        rows,
        protocol=[budget(run)],
    )


def supervised(run: StudyRun) -> Report:
    """Labels of the training part instead of recovered supervision."""
    rows = [
        Row("CAPS", ALONE),
        Row("TCN-Supervised (BCE)", "tcn-supervised", "CAPS"),
        Row("Weighted BCE", "tcn-supervised-weighted", "CAPS"),
        Row("Balanced Window Sampling", "tcn-supervised-balanced", "CAPS"),
        Row("Focal Loss", "tcn-supervised-focal", "CAPS"),
    ]
    return _report(
        run,
        "supervised",
        "Recovered against label-supervised training",
        rows,
        series=run.needed(datasets=("YAHOO", "NEK", "TODS"), quick=QUICK_LABELLED),
        by_dataset=True,
        protocol=["The supervised rows see the labels of the training part; CAPS sees none."],
    )


def coverage(run: StudyRun) -> Report:
    """The mode most like the target's anomalies is left out."""
    rows = [
        Row("CAPS", f"{PREFIX}all-modes"),
        Row("w/o highest-associated mode", f"{PREFIX}without-mode", "CAPS"),
    ]
    return _report(
        run,
        "coverage",
        "Coverage stress test",
        rows,
        protocol=[
            "The mode is chosen for each series by a tenth of its anomalous test windows, on which "
            "nothing is trained; the other modes make its counterparts in turn, so their number "
            "stays."
        ],
    )


def modes(run: StudyRun) -> Report:
    """Families against clusters of the semantic codes."""
    known = "Knowledge-based K=3"
    rows = [_made(run, known, "default")]
    rows += [_made(run, f"K-means K={k}", f"clusters-{k}", known) for k in CLUSTERS]
    return _report(
        run,
        "modes",
        "Mode construction and granularity",
        rows,
        protocol=[budget(run), "K also changes the number of counterparts for each reference."],
    )


def diagnosis(run: StudyRun) -> Report:
    """Known anomalies choose the modes."""
    rows = [Row("CAPS", ALONE), Row("CAPS(Diagnosis)", f"{PREFIX}diagnosis", "CAPS")]
    report = _report(
        run,
        "diagnosis",
        "Diagnosis and targeted mode selection",
        rows,
        protocol=[
            "Diagnosis is told a tenth of the anomalous test windows (at least one) and is scored "
            "on all of them: an easier task than the one of CAPS. rho = 0.8."
        ],
    )
    pretrained = run.pretrained
    seed = int(pretrained.facts.get("seed") or 0) + UNSEEN
    seen = view(pretrained, simulate_pairs(300 if run.quick else 3_000, seed=seed))
    routed = router_figures(pretrained, seen.source)
    caption = (
        f"Router on {len(seen.pairs):,} unseen simulated pairs (seed {seed}): it agrees with the "
        f"pair's own mode in {routed['accuracy']:.1%}."
    )
    figures = {caption: draw_confusion(np.array(routed["confusion"]), seen.names)}
    return replace(
        report,
        figures={**figures, **report.figures},
        facts={**report.facts, "router": routed},
    )


def realization(run: StudyRun) -> Report:
    """Direct, VAE and diffusion."""
    diffusion = "CAPS (diffusion)"
    rows = [
        _made(run, diffusion, "default"),
        Row("Direct source-residual injection", f"{PREFIX}direct", diffusion),
        _made(run, "VAE residual generator", "vae", diffusion),
    ]
    return _report(
        run,
        "realization",
        "Alternative realization mechanisms",
        rows,
        protocol=[budget(run), "Direct injection needs no weights; its modes are the families."],
    )


def architecture(run: StudyRun) -> Report:
    """TCN against Transformer."""
    rows = [
        Row("CAPS (TCN)", ALONE),
        Row("CAPS (Transformer)", f"{PREFIX}transformer", "CAPS (TCN)"),
    ]
    return _report(
        run,
        "architecture",
        "Detector architecture",
        rows,
        protocol=["Same pairs, same number of training steps."],
    )


def prior(run: StudyRun) -> Report:
    """Four families of priors."""
    names: dict[PriorKind, str] = {
        "diagonal": "Diagonal Gaussian",
        "isotropic": "Isotropic Gaussian",
        "full": "Full-covariance Gaussian",
        "student": "Student-t",
    }
    rows = []
    for kind in (each for each in names if each in PRIORS):
        against = None if kind == "diagonal" else names["diagonal"]
        made = with_prior(run, kind)
        rows.append(Row(names[kind], f"{PREFIX}{TRAINED}{made.name}", against))
    return _report(
        run,
        "prior",
        "Prior sensitivity",
        rows,
        protocol=[
            "All four priors are fitted to the codes of the same simulated pairs; the experts stay "
            "as they are, trained with samples of diagonal priors."
        ],
    )


def amount(run: StudyRun) -> Report:
    """5,000 to 48,000 simulated pairs."""
    most = f"{AMOUNTS[-1]:,} pairs"
    rows = [_made(run, most, f"pairs-{AMOUNTS[-1]}")]
    rows += [_made(run, f"{count:,} pairs", f"pairs-{count}", most) for count in AMOUNTS[:-1]]
    scaled = recipes(run)[f"pairs-{AMOUNTS[-1]}"].pairs
    note = "As many epochs for every amount, as in the paper: fewer pairs mean fewer updates too."
    if scaled != AMOUNTS[-1]:
        note += f" Scaled down for a quick study: {scaled:,} pairs stand for {AMOUNTS[-1]:,}."
    report = _report(
        run,
        "amount",
        "Amount of simulated data",
        rows,
        protocol=[budget(run), note],
        draw=_amount_curves,
    )
    costs = Table(
        "amount_cost",
        "Training time by amount",
        ["Pairs", "Simulated for this study", "Minutes", "Paper, minutes"],
        [
            [
                f"{count:,}",
                f"{recipes(run)[f'pairs-{count}'].pairs:,}",
                figure(trained(run, f"pairs-{count}").minutes),
                figure(theirs, digits=1),
            ]
            for count, theirs in zip(AMOUNTS, (23.6, 48.5, 95.1, 180.5), strict=True)
        ],
        ["By the clock, all stages, on this machine and beside whatever else it did."],
    )
    return replace(report, tables=[*report.tables, costs])


def multivariate(run: StudyRun) -> Report:
    """Max against Top5-mean over channels."""
    rows = [
        Row("CAPS (Max)", ALONE),
        Row("CAPS (Top5-mean)", f"{PREFIX}top5", "CAPS (Max)"),
    ]
    return _report(
        run,
        "multivariate",
        "Multivariate extension",
        rows,
        series=run.needed(datasets=MULTIVARIATE, quick=QUICK_MULTIVARIATE, most=1),
        by_dataset=True,
        protocol=["Channels are combined by their evidence, -log p of the detector's scores."],
    )


def _made(
    run: StudyRun, label: str, recipe: str, against: str | None = None, paper: str | None = None
) -> Row:
    """A row whose weights are made for the study, after those that it shares with."""
    trained(run, "default")
    return Row(label, f"{PREFIX}{TRAINED}{trained(run, recipe).name}", against, paper)


def _report(
    run: StudyRun,
    name: str,
    title: str,
    rows: Sequence[Row],
    *,
    series: Sequence[SeriesFile] | None = None,
    by_dataset: bool = False,
    protocol: Sequence[str] = (),
    draw: "Callable[[Comparison], Figure] | None" = None,
) -> Report:
    chosen = run.needed() if series is None else series
    compared = compare(name, run, rows, chosen)
    parts: list[tuple[str | None, Comparison]] = [(None, compared)]
    if by_dataset:
        found = sorted({file.dataset for file in chosen})
        parts = [(each, compared.only(each)) for each in found]
    tables, verdict = [], []
    for dataset, part in parts:
        tables.append(part.table(title if dataset is None else f"{title}: {dataset}"))
        start = "" if dataset is None else f"{dataset}: "
        verdict += [f"{start}{line}" for line in part.verdict()]
    figures = {CAPTION: compared.picture()}
    if draw is not None:
        figures["VUS-PR, ours and the paper's."] = draw(compared)
    names = [file.name for file in chosen]
    return Report(
        title,
        [*PROTOCOL, *protocol],
        tables,
        verdict,
        figures,
        {"series": names, "datasets": sorted({file.dataset for file in chosen})},
    )


def _amount_curves(compared: Comparison) -> "Figure":
    by_label = {row.label: row for row in compared.rows}
    ordered = [by_label[f"{count:,} pairs"] for count in AMOUNTS]
    vus_pr = list(METRICS).index("vus_pr")
    theirs = [compared.paper(row) for row in ordered]
    return draw_curves(
        AMOUNTS,
        {
            "ours": [float(compared.per_series(row.method, "vus_pr").mean()) for row in ordered],
            "paper": [float(values[vus_pr]) for values in theirs if values is not None],
        },
        across="simulated pairs (the paper's amounts)",
        up="VUS-PR, percent, mean over series",
        logarithmic=True,
    )
