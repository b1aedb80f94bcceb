"""Both sides of Proposition 1 on simulated targets, where the ideal supervision is known.

The simulator can do what real data cannot: draw anomalous counterparts of a given reference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from caps.arrays import FloatArray
from caps.bench.bootstrap import COVERAGE, DRAWS, mean_figure, over_series
from caps.bench.rendering import Entry, Number, Table
from caps.bench.studies.drawing import draw_bounds, draw_stacks
from caps.bench.studies.study import Report, StudyRun
from caps.bench.studies.supervision import (
    CAPS,
    DIRECT,
    IDEAL,
    INTERMEDIATE,
    SHUFFLED,
    TargetConfig,
    draw_targets,
)
from caps.bench.studies.transfer_targets import TransferConfig, measure_target
from caps.errors import InputError
from caps.simulate import FAMILIES, GENERATORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUICK = TransferConfig(
    targets=TargetConfig(count=2, length=1_536, drawn=32),
    references=3,
    each=3,
    train_references=16,
    candidates=2,
    untrained=1,
)
NAMES = {
    CAPS: "CAPS counterparts",
    SHUFFLED: "shuffled residuals",
    DIRECT: "direct injection",
    INTERMEDIATE: "intermediate law",
    IDEAL: "ideal pairs",
}
COMPARED = (CAPS, SHUFFLED, DIRECT)
INTERVALS = (
    f"Means over targets, seeds averaged first. In brackets: {COVERAGE} % bootstrap interval over "
    f"targets ({DRAWS:,} draws)."
)

Cell = Mapping[str, Any]  # what `measure_target` found
Cells = dict[tuple[str, int], Cell]  # by target and seed
Sides = dict[str, pd.DataFrame]  # by law, rows by target
Rows = dict[tuple[str, ...], pd.DataFrame]  # of a table, by what stands first in it


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


def sides_of(cell: Cell, law: str) -> dict[str, float]:
    """Every quantity of the proposition for supervision by a law, as far as the law has it."""
    detectors = cell["detectors"].values()
    risks = [each["risk"] for each in detectors]
    own = cell["detectors"][law]["risk"]
    steep = max(each["other_draws"]["loss"] for each in detectors)
    far, same, at_least = cell["to_ideal"], cell["same"], cell["at_least"]
    if law == DIRECT:  # its intermediate law is the ideal one
        coverage, realization = same[IDEAL], cell["direct_to_other_ideal"]
        parts = 0.0, at_least[f"{law} to {IDEAL}"]
    else:
        coverage, realization = far[INTERMEDIATE], cell["to_intermediate"].get(law, np.nan)
        left = at_least.get(f"{law} to {INTERMEDIATE}", np.nan)
        parts = at_least[f"{INTERMEDIATE} to {IDEAL}"], left
    gap = max(abs(risk[law] - risk[IDEAL]) for risk in risks)
    bound = steep / 2 * (coverage + realization)
    # How much more the detector trained on the law risks than the best one, under either law.
    excess = own[IDEAL] - min(risk[IDEAL] for risk in risks)
    learning = own[law] - min(risk[law] for risk in risks)
    return {
        "W₁ to ideal": far[law],
        "Same law": same[law],
        "W₁ above chance": far[law] - (same[IDEAL] + same[law]) / 2,
        "W₁ at least": 0.0 if law == IDEAL else at_least[f"{law} to {IDEAL}"],
        "Δ_cov": coverage,  # from the ideal law to the intermediate one
        "Δ_real": realization,  # from there to the law that teaches
        "Δ_cov at least": parts[0],
        "Δ_real at least": parts[1],
        "largest difference of risks": gap,
        "L": steep,
        "L/2 Δ": bound,
        "L/2 W₁ to ideal": steep / 2 * far[law],
        "left / right": gap / bound,
        "excess ideal risk": excess,
        "ε_learn": learning,
        "L Δ": 2 * bound,
        "holds": float(gap <= bound and excess <= 2 * bound + learning),
    }


def transfer_report(cells: Cells, settings: Mapping[str, Any]) -> Report:
    """The page."""
    sides = {law: _by_target(cells, partial(sides_of, law=law)) for law in NAMES}
    held = sum(int(sides[law]["holds"].sum()) for law in COMPARED)
    targets = list(dict.fromkeys(target for target, _ in cells))
    return Report(
        "Supervision transfer: both sides of Proposition 1",
        _protocol(targets, settings),
        [
            _distances(cells, sides),
            _without_bias(cells, sides),
            _first_inequality(cells, sides),
            _second_inequality(sides),
            _differences(sides),
            _detectors(cells),
            _families(cells),
        ],
        _verdict(sides),
        {
            "Distances as the inequalities take them. Two samples of the ideal law are as far "
            "apart as the first bar says.": _stacks(sides),
            "Both sides of the first inequality, a dot for each target.": draw_bounds(
                {
                    NAMES[law]: (
                        per_target(sides[law]["L/2 Δ"]),
                        per_target(sides[law]["largest difference of risks"]),
                    )
                    for law in COMPARED
                },
                across="L/2 (coverage + realization)",
                up="largest difference of risks",
            ),
        },
        {"targets": targets, "settings": dict(settings)},
        wanted=(
            "both inequalities hold for every target, seed and law with an L measured on other "
            f"draws ({held} of {len(cells) * len(COMPARED)} do)"
        ),
        passed=held == len(cells) * len(COMPARED),
    )


def _protocol(targets: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    made, network = settings["targets"], settings["detector"]
    draws = settings["each"] * len(FAMILIES)
    return [
        f"{len(targets)} simulated targets of {made['length']:,} rows, each of another kind "
        f"({', '.join(targets)}). Given {settings['references']} references of each, "
        f"{draws} effects and supports ({settings['each']} of each family) are drawn from every "
        "law, twice. All sizes are in the JSON beside this page, under `settings`.",
        "*Ideal*: the simulator itself on the same reference, operations by weight among those "
        "that can happen there, with its gate. *CAPS* and *direct*: `recover_pairs` as it is. "
        "*Shuffled*: CAPS's effects moved to another of the references. *Intermediate* (Q* of the "
        "paper, which leaves the choice open): modes, codes and supports as CAPS draws them; the "
        f"simulator realises each support {settings['candidates']} times on the reference and the "
        "result whose code is nearest counts. For direct injection the intermediate law is the "
        "ideal one: its operations and supports are the simulator's.",
        "Distance of two effects: the paper's d = ‖r - r'‖₂ + ‖m - m'‖₁ / T in units of the "
        "series' standard deviation, T = 256. W₁ by optimal assignment of equally many draws for "
        "each reference, then the mean over references.",
        "Detectors: one trained on each of the five laws "
        f"({settings['train_references']} other references, one counterpart of each family, "
        f"{network['steps']} steps, width {network['width']}), and {settings['untrained']} "
        "untrained. Risks are those of the proposition, on the references and draws of the "
        "distances. For the class of these detectors supremum and infimum are exact; for all "
        "networks of the kind the left sides are lower estimates. L: the largest |loss - loss'| / "
        "d over all pairs of the second draws of all laws given the same reference, largest over "
        "detectors: a lower estimate too.",
    ]


def _distances(cells: Cells, sides: Sides) -> Table:
    same = _mean(sides[IDEAL]["Same law"]).text
    size = _mean(_by_target(cells, lambda cell: {"size": cell["size"]})["size"]).text
    notes = [
        f"Two samples of the ideal law: {same}. Mean norm of an ideal effect: {size}. Distances "
        "between samples are too large on average, here mostly chance: *same law* says how far "
        "apart two samples of the one law are.",
    ]
    rows = _some(sides, COMPARED, "W₁ to ideal", "Same law", "Δ_cov", "Δ_real")
    title = "Distances as the inequalities take them"
    return _table("distances", title, ["Supervision"], rows, notes)


def _without_bias(cells: Cells, sides: Sides) -> Table:
    uncoded = _by_target(cells, lambda cell: cell["uncoded"])
    known, left = (_mean(uncoded[key]).text for key in ("to ideal", "caps to it"))
    notes = [
        "Above chance: W₁ less the mean of *same law* for both laws. At least: half the energy "
        "distance under d, which is no more than W₁ and has no bias; for parts of Δ likewise.",
        f"Another intermediate law, whose codes are ignored: coverage at least {known}, "
        f"realization of CAPS at least {left}.",
    ]
    shown = ("W₁ above chance", "W₁ at least", "Δ_cov at least", "Δ_real at least")
    title = "Distances without the bias of samples"
    rows = _some(sides, COMPARED, *shown)
    return _table("without bias", title, ["Supervision"], rows, notes)


def _first_inequality(cells: Cells, sides: Sides) -> Table:
    def sufficient(cell: Cell) -> dict[str, float]:
        slopes = [each["other_draws"] for each in cell["detectors"].values()]
        return {kind: max(each[kind] for each in slopes) for kind in ("by_logits", "by_paper")}

    medians = _by_target(cells, sufficient).median()
    notes = [
        f"Sufficient L of appendix A.3, max{{K_D/δ, log((1-δ)/δ)}} with K_D and δ as measured: "
        f"median {medians['by_paper']:.1e}, because some output is always nearly 0 or 1. With "
        "logits z instead of probabilities (the slope of the loss in them is at most 1/T), "
        f"max{{K_z, max z}}: median {medians['by_logits']:.1f}.",
    ]
    shown = ("largest difference of risks", "L", "L/2 Δ", "L/2 W₁ to ideal")
    rows = _some(sides, COMPARED, *shown)
    title = "First inequality: risks"
    table = _table("first inequality", title, ["Supervision"], rows, notes, digits=3)
    held = [
        [f"{each['left / right'].max():.3f}", f"{each['holds'].sum():.0f} of {len(each)}"]
        for each in (sides[law] for law in COMPARED)
    ]
    return replace(
        table,
        header=[*table.header, "largest left / right", "holds"],
        rows=[[*row, *more] for row, more in zip(table.rows, held, strict=True)],
    )


def _second_inequality(sides: Sides) -> Table:
    notes = [
        "Excess ideal risk: above the best of the detectors under the ideal law. ε_learn: above "
        "the best of them under the law that it was trained on.",
    ]
    rows = _some(sides, COMPARED, "excess ideal risk", "ε_learn", "L Δ")
    title = "Second inequality: excess ideal risk"
    return _table("second inequality", title, ["Trained on"], rows, notes, digits=3)


def _differences(sides: Sides) -> Table:
    less = {
        law: (each - sides[CAPS]).rename(columns={"excess ideal risk": "ideal risk"})
        for law, each in sides.items()
    }
    shown = ("W₁ at least", "largest difference of risks", "ideal risk")
    rows = _some(less, (SHUFFLED, DIRECT, INTERMEDIATE, IDEAL), *shown)
    notes = ["Above 0: worse than CAPS counterparts, paired by target and seed."]
    title = "Paired differences from CAPS"
    return _table("differences", title, ["Less CAPS"], rows, notes, digits=3)


def _detectors(cells: Cells) -> Table:
    def judged(cell: Cell, name: str) -> dict[str, float]:
        found = cell["detectors"][name]
        laws = {"R_ideal": IDEAL, "R_CAPS": CAPS, "R_shuffled": SHUFFLED, "R_direct": DIRECT}
        risks = {heading: found["risk"][law] for heading, law in laws.items()}
        return {**risks, "its own L": found["other_draws"]["loss"]}

    rows: Rows = {}
    for name in next(iter(cells.values()))["detectors"]:
        shown = f"trained on {NAMES[name]}" if name in NAMES else name
        rows[(shown,)] = _by_target(cells, partial(judged, name=name))
    return _table("detectors", "Risks of the detectors", ["Detector"], rows, [], digits=3)


def _families(cells: Cells) -> Table:
    def parts(cell: Cell, family: str, kind: str) -> dict[str, float]:
        found = cell["families"][family]
        return {
            "Same law": found["same"],
            "Δ_cov": found[f"cov_{kind}"],
            "Δ_real": found[f"real_{kind}"],
            "Δ_cov at least": found[f"cov_{kind}_at_least"],
            "Δ_real at least": found[f"real_{kind}_at_least"],
        }

    rows: Rows = {
        (family, modes): _by_target(cells, partial(parts, family=family, kind=kind))
        for family in FAMILIES
        for modes, kind in (("all modes", "all"), (f"mode {family} alone", "own"))
    }
    first = ["Anomalies of the target", "CAPS with"]
    notes = ["A third of the draws, so that raw distances are larger by chance."]
    return _table("families", "Targets with anomalies of one family", first, rows, notes)


def _verdict(sides: Sides) -> list[str]:
    lines = []
    for law in COMPARED:
        shares = sides[law]["left / right"]
        lines.append(
            f"{NAMES[law]}: the right side of the first inequality is {1 / shares.median():.0f} "
            f"times the left one (median), {1 / shares.max():.1f} times where it is tightest."
        )
    ours = sides[CAPS]
    cov, real = ours["Δ_cov at least"], ours["Δ_real at least"]
    lines.append(
        f"CAPS: coverage is at least {_mean(cov).text}, realization at least {_mean(real).text}; "
        f"realization less coverage {_told(real - cov, digits=2)}."
    )
    for law in (SHUFFLED, DIRECT):
        less = sides[law] - ours
        lines.append(
            f"{NAMES[law]} less CAPS: distance to the ideal law {_told(less['W₁ at least'])}, "
            f"ideal risk of the detector {_told(less['excess ideal risk'])}."
        )
    ideal, known, caps = (sides[law]["excess ideal risk"] for law in (IDEAL, INTERMEDIATE, CAPS))
    of_coverage = "; trained on the intermediate law, not on ideal pairs"
    of_realization = "; trained on CAPS, not on the intermediate law"
    lines.append(
        f"Ideal risk lost by coverage {_told(known - ideal, of_coverage)}, by realization "
        f"{_told(caps - known, of_realization)}."
    )
    return [
        *lines,
        *_ranks(ours),
        "The paper proves the inequalities and gives no figure of either side.",
        "Limits: the targets come from the simulator that the experts learned from, the best case "
        "for coverage. With so few draws in 256 dimensions the raw distances are mostly chance "
        "and favour laws of small effects: only those without bias compare laws. "
        "The split into coverage and realization depends on the intermediate law, and nearest "
        "codes are no exact conditioning. L is that of the draws; unseen effects can be steeper. "
        "The detectors are small and briefly trained.",
    ]


def _ranks(ours: pd.DataFrame) -> list[str]:
    """Whether the bound orders the targets as the excess risk does."""
    right, left = per_target(ours["L/2 Δ"]), per_target(ours["excess ideal risk"])
    if min(np.ptp(right), np.ptp(left)) == 0:  # one target has no order
        return []
    rank = float(spearmanr(right, left).statistic)
    return [
        f"Over the {len(right)} targets, L Δ and the excess ideal risk of CAPS have a rank "
        f"correlation of {rank:+.2f}."
    ]


def _stacks(sides: Sides) -> "Figure":
    names = ["ideal law, twice", *(NAMES[law] for law in COMPARED)]
    means = {law: each.groupby(level=0).mean().mean() for law, each in sides.items()}
    parts = {
        "coverage": [means[IDEAL]["Same law"], *(means[law]["Δ_cov"] for law in COMPARED)],
        "realization": [0.0, *(means[law]["Δ_real"] for law in COMPARED)],
    }
    return draw_stacks(names, parts, across="W₁, mean over targets")


def _by_target(cells: Cells, values: Callable[[Cell], dict[str, float]]) -> pd.DataFrame:
    """What was measured: a row for each cell, by target."""
    return pd.DataFrame(map(values, cells.values()), index=[target for target, _ in cells])


def per_target(values: "pd.Series[float]") -> FloatArray:
    """One figure for each target, the mean over its seeds."""
    return np.asarray(values.groupby(level=0, sort=False).mean(), dtype=np.float64)


def _mean(values: "pd.Series[float]", digits: int = 2) -> Number:
    """The mean over targets with its interval."""
    means = per_target(values)
    return mean_figure(means, pd.Series([""] * len(means)), over_series, digits)


def _told(difference: "pd.Series[float]", more: str = "", digits: int = 3) -> str:
    """The mean, and whether it is clear."""
    shown = _mean(difference, digits)
    low, high = shown.beside["low"], shown.beside["high"]
    says = "the interval excludes 0" if low > 0 or high < 0 else "not beyond noise"
    return f"{shown.text} ({says}{more})"


def _some(sides: Sides, laws: Sequence[str], *shown: str) -> Rows:
    """The quantities of some laws that a table shows."""
    return {(NAMES[law],): sides[law][list(shown)] for law in laws}


def _table(
    name: str,
    title: str,
    first: Sequence[str],
    rows: Rows,
    notes: Sequence[str],
    digits: int = 2,
) -> Table:
    """The mean over targets of every column, a row for each frame."""
    header = [*first, *next(iter(rows.values())).columns]
    entries: list[list[Entry]] = [
        [*names, *(_mean(each[column], digits) for column in each)] for names, each in rows.items()
    ]
    return Table(name, title, header, entries, [*notes, INTERVALS])
