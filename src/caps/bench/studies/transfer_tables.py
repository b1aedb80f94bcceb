"""Tables, figures and words of the study of Proposition 1."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr

from caps.bench.bootstrap import COVERAGE, DRAWS
from caps.bench.rendering import Entry, Figure, Table
from caps.bench.studies.drawing import draw_bounds, draw_stacks
from caps.bench.studies.study import Report
from caps.bench.studies.supervision import CAPS, DIRECT, IDEAL, INTERMEDIATE, SHUFFLED
from caps.bench.studies.transfer_sides import (
    Cell,
    Cells,
    Side,
    Value,
    coverage,
    coverage_at_least,
    distance_above_chance,
    distance_at_least,
    excess,
    found_at,
    holds,
    learning_error,
    lipschitz,
    mean_of,
    per_target,
    realization,
    realization_at_least,
    risk_bound,
    risk_gap,
    side_of,
)
from caps.simulate import FAMILIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

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


def transfer_report(cells: Cells, settings: Mapping[str, Any]) -> Report:
    """The page."""
    held = sum(holds(cell, law) for cell in cells.values() for law in COMPARED)
    targets = list(dict.fromkeys(target for target, _ in cells))
    sides = {
        NAMES[law]: (
            per_target(cells, side_of(risk_bound, law)),
            per_target(cells, side_of(risk_gap, law)),
        )
        for law in COMPARED
    }
    return Report(
        "Supervision transfer: both sides of Proposition 1",
        _protocol(targets, settings),
        [
            _distances(cells),
            _without_bias(cells),
            _first_inequality(cells),
            _second_inequality(cells),
            _differences(cells),
            _detectors(cells),
            _families(cells),
        ],
        _verdict(cells),
        {
            "Distances as the inequalities take them. Two samples of the ideal law are as far "
            "apart as the first bar says.": _stacks(cells),
            "Both sides of the first inequality, a dot for each target.": draw_bounds(
                sides, across="L/2 (coverage + realization)", up="largest difference of risks"
            ),
        },
        {
            "targets": targets,
            "settings": dict(settings),
            "cells": [
                {"target": target, "seed": seed, **cell} for (target, seed), cell in cells.items()
            ],
        },
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


def _distances(cells: Cells) -> Table:
    values = (_to_ideal, _same, coverage, realization)
    same = mean_of(cells, side_of(_same, IDEAL)).text
    size = mean_of(cells, found_at("size")).text
    notes = [
        f"Two samples of the ideal law: {same}. Mean norm of an ideal effect: {size}. Distances "
        "between samples are too large on average, here mostly chance: *same law* says how far "
        "apart two samples of the one law are.",
        INTERVALS,
    ]
    header = ["Supervision", "W₁ to ideal", "Same law", "Δ_cov", "Δ_real"]
    rows = _rows(cells, *values)
    return Table("distances", "Distances as the inequalities take them", header, rows, notes)


def _without_bias(cells: Cells) -> Table:
    values = (distance_above_chance, distance_at_least, coverage_at_least, realization_at_least)
    known, left = (
        mean_of(cells, found_at("uncoded", key)).text for key in ("to ideal", "caps to it")
    )
    notes = [
        "Above chance: W₁ less the mean of *same law* for both laws. At least: half the energy "
        "distance under d, which is no more than W₁ and has no bias; for parts of Δ likewise.",
        f"Another intermediate law, whose codes are ignored: coverage at least {known}, "
        f"realization of CAPS at least {left}.",
        INTERVALS,
    ]
    header = ["Supervision", "W₁ above chance", "W₁ at least", "Δ_cov at least", "Δ_real at least"]
    rows = _rows(cells, *values)
    return Table("without bias", "Distances without the bias of samples", header, rows, notes)


def _first_inequality(cells: Cells) -> Table:
    rows: list[list[Entry]] = []
    for law in COMPARED:
        steep = mean_of(cells, lipschitz, 3)
        left, right, closer = _figures(cells, law, risk_gap, risk_bound, _closer_bound, digits=3)
        held = sum(holds(cell, law) for cell in cells.values())
        shown = f"{max(_shares(cells, law)):.3f}", f"{held} of {len(cells)}"
        rows.append([NAMES[law], left, steep, right, closer, *shown])
    logits, paper = (
        np.median([_sufficient(cell, kind) for cell in cells.values()])
        for kind in ("by_logits", "by_paper")
    )
    notes = [
        f"Sufficient L of appendix A.3, max{{K_D/δ, log((1-δ)/δ)}} with K_D and δ as measured: "
        f"median {paper:.1e}, because some output is always nearly 0 or 1. With logits z instead "
        f"of probabilities (the slope of the loss in them is at most 1/T), max{{K_z, max z}}: "
        f"median {logits:.1f}.",
        INTERVALS,
    ]
    header = ["Supervision", "largest difference of risks", "L", "L/2 Δ", "L/2 W₁ to ideal"]
    header += ["largest left / right", "holds"]
    return Table("first inequality", "First inequality: risks", header, rows, notes)


def _second_inequality(cells: Cells) -> Table:
    notes = [
        "Excess ideal risk: above the best of the detectors under the ideal law. ε_learn: above "
        "the best of them under the law that it was trained on.",
        INTERVALS,
    ]
    values = (excess, learning_error, _twice_bound)
    header = ["Trained on", "excess ideal risk", "ε_learn", "L Δ"]
    rows = _rows(cells, *values, digits=3)
    title = "Second inequality: excess ideal risk"
    return Table("second inequality", title, header, rows, notes)


def _differences(cells: Cells) -> Table:
    rows: list[list[Entry]] = []
    for law in (SHUFFLED, DIRECT, INTERMEDIATE, IDEAL):
        values = [_less_caps(side, law) for side in (distance_at_least, risk_gap, excess)]
        rows.append([NAMES[law], *(mean_of(cells, value, 3) for value in values)])
    header = ["Less CAPS", "W₁ at least", "largest difference of risks", "ideal risk"]
    notes = ["Above 0: worse than CAPS counterparts, paired by target and seed.", INTERVALS]
    return Table("differences", "Paired differences from CAPS", header, rows, notes)


def _detectors(cells: Cells) -> Table:
    rows: list[list[Entry]] = []
    for name in next(iter(cells.values()))["detectors"]:
        own = ("detectors", name)
        values = [found_at(*own, "risk", law) for law in (IDEAL, *COMPARED)]
        values.append(found_at(*own, "other_draws", "loss"))
        shown = f"trained on {NAMES[name]}" if name in NAMES else name
        rows.append([shown, *(mean_of(cells, value, 3) for value in values)])
    header = ["Detector", "R_ideal", "R_CAPS", "R_shuffled", "R_direct", "its own L"]
    return Table("detectors", "Risks of the detectors", header, rows, [INTERVALS])


def _families(cells: Cells) -> Table:
    rows: list[list[Entry]] = []
    for family in FAMILIES:
        for modes, kind in (("all modes", "all"), (f"mode {family} alone", "own")):
            keys = ["same", f"cov_{kind}", f"real_{kind}"]
            keys += [f"cov_{kind}_at_least", f"real_{kind}_at_least"]
            values = [found_at("families", family, key) for key in keys]
            rows.append([family, modes, *(mean_of(cells, value) for value in values)])
    header = ["Anomalies of the target", "CAPS with", "Same law", "Δ_cov", "Δ_real"]
    header += ["Δ_cov at least", "Δ_real at least"]
    notes = ["A third of the draws, so that raw distances are larger by chance.", INTERVALS]
    return Table("families", "Targets with anomalies of one family", header, rows, notes)


def _verdict(cells: Cells) -> list[str]:
    lines = []
    for law in COMPARED:
        shares = _shares(cells, law)
        lines.append(
            f"{NAMES[law]}: the right side of the first inequality is {1 / np.median(shares):.0f} "
            f"times the left one (median), {1 / max(shares):.1f} times where it is tightest."
        )
    cov, real = (
        mean_of(cells, side_of(part, CAPS)) for part in (coverage_at_least, realization_at_least)
    )
    gap = mean_of(cells, lambda c: realization_at_least(c, CAPS) - coverage_at_least(c, CAPS))
    lines.append(
        f"CAPS: coverage is at least {cov.text}, realization at least {real.text}; realization "
        f"less coverage {gap.text} ({_clear(gap)})."
    )
    for law in (SHUFFLED, DIRECT):
        far, lost = (
            mean_of(cells, _less_caps(side, law), 3) for side in (distance_at_least, excess)
        )
        lines.append(
            f"{NAMES[law]} less CAPS: distance to the ideal law {far.text} ({_clear(far)}), ideal "
            f"risk of the detector {lost.text} ({_clear(lost)})."
        )
    by_coverage = mean_of(cells, lambda c: excess(c, INTERMEDIATE) - excess(c, IDEAL), 3)
    by_realization = mean_of(cells, lambda c: excess(c, CAPS) - excess(c, INTERMEDIATE), 3)
    lines.append(
        f"Ideal risk lost by coverage {by_coverage.text} ({_clear(by_coverage)}; trained on the "
        f"intermediate law, not on ideal pairs), by realization {by_realization.text} "
        f"({_clear(by_realization)}; trained on CAPS, not on the intermediate law)."
    )
    return [
        *lines,
        *_ranks(cells),
        "The paper proves the inequalities and gives no figure of either side.",
        "Limits: the targets come from the simulator that the experts learned from, the best case "
        "for coverage. With so few draws in 256 dimensions the raw distances are mostly chance "
        "and favour laws of small effects: only those without bias compare laws. "
        "The split into coverage and realization depends on the intermediate law, and nearest "
        "codes are no exact conditioning. L is that of the draws; unseen effects can be steeper. "
        "The detectors are small and briefly trained.",
    ]


def _ranks(cells: Cells) -> list[str]:
    """Whether the bound orders the targets as the excess risk does."""
    right, left = (per_target(cells, side_of(side, CAPS)) for side in (risk_bound, excess))
    if min(np.ptp(right), np.ptp(left)) == 0:  # one target has no order
        return []
    rank = float(spearmanr(right, left).statistic)
    return [
        f"Over the {len(right)} targets, L Δ and the excess ideal risk of CAPS have a rank "
        f"correlation of {rank:+.2f}."
    ]


def _stacks(cells: Cells) -> "Picture":
    names = ["ideal law, twice", *(NAMES[law] for law in COMPARED)]
    parts = {
        name: [first, *(per_target(cells, side_of(part, law)).mean() for law in COMPARED)]
        for name, part, first in (
            ("coverage", coverage, per_target(cells, side_of(_same, IDEAL)).mean()),
            ("realization", realization, 0.0),
        )
    }
    return draw_stacks(names, parts, across="W₁, mean over targets")


def _figures(cells: Cells, law: str, *sides: Side, digits: int = 2) -> list[Figure]:
    return [mean_of(cells, side_of(side, law), digits) for side in sides]


def _rows(cells: Cells, *sides: Side, digits: int = 2) -> list[list[Entry]]:
    return [[NAMES[law], *_figures(cells, law, *sides, digits=digits)] for law in COMPARED]


def _less_caps(side: Side, law: str) -> Value:
    return lambda cell: side(cell, law) - side(cell, CAPS)


def _to_ideal(cell: Cell, law: str) -> float:
    return float(cell["to_ideal"][law])


def _same(cell: Cell, law: str) -> float:
    return float(cell["same"][law])


def _closer_bound(cell: Cell, law: str) -> float:
    return lipschitz(cell) / 2 * _to_ideal(cell, law)


def _twice_bound(cell: Cell, law: str) -> float:
    return 2 * risk_bound(cell, law)


def _shares(cells: Cells, law: str) -> list[float]:
    """Left over right side of every cell."""
    return [risk_gap(cell, law) / risk_bound(cell, law) for cell in cells.values()]


def _sufficient(cell: Cell, kind: str) -> float:
    return float(max(each["other_draws"][kind] for each in cell["detectors"].values()))


def _clear(difference: Figure) -> str:
    low, high = difference.beside["low"], difference.beside["high"]
    return "the interval excludes 0" if low > 0 or high < 0 else "not beyond noise"
