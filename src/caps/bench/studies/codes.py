"""Studies of the codes: latent spaces, and one semantics under several contexts."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from caps.bench.rendering import Entry, Table, figure, frame_table
from caps.bench.studies.study import Report, StudyRun
from caps.inspection import code_clouds, draw_clouds, draw_panels, recombined, view
from caps.realize import realization_checks
from caps.represent import representation_checks
from caps.simulate import FAMILIES, simulate_pairs

NOISE, STRUCTURE = "change by new noise", "change by another structure"
SAMPLES = (0, 1)  # two independent samples of pairs, as the paper draws two projections


def latent(run: StudyRun) -> Report:
    """Where normal and anomalous, and the families, lie in z_s and z_a."""
    count = 300 if run.quick else 1_500
    rows: list[list[Entry]] = []
    figures, facts = {}, {}
    for sample in SAMPLES:
        seed = _unseen(run) + sample
        run.say(f"encoding {count} unseen pairs, seed {seed}")
        seen = view(run.pretrained, simulate_pairs(count, seed=seed))
        clouds, shares = code_clouds(seen, seed=seed)
        probes = representation_checks(run.pretrained.representation, seen.pairs)
        shown = {**shares, **{k: v for k, v in probes.items() if k.startswith("probe")}}
        facts[str(seed)] = shown
        caption = f"t-SNE of the codes of {count} unseen pairs, seed {seed}."
        figures[caption] = draw_clouds(clouds)
        for name, value in shown.items():
            chance = 1 / len(FAMILIES) if "family" in name else 1 / 2
            rows.append([name, str(seed), figure(100 * value), figure(100 * chance)])
    table = Table(
        "latent",
        "Who are the neighbours of a code?",
        ["Figure", "Seed of the pairs", "Percent", "By chance"],
        rows,
        [
            "Neighbours: share of the 15 nearest codes with the same label, a pair's own partner "
            "left out. Probe: a linear classifier on the codes."
        ],
    )
    return Report(
        "Latent spaces",
        [
            f"{count} unseen simulated pairs for each of two seeds, projected by t-SNE (the paper "
            "uses UMAP). The neighbours are counted in the full spaces."
        ],
        [table],
        _latent_verdict(facts),
        figures,
        {"measured": facts},
    )


def recombination(run: StudyRun) -> Report:
    """Each semantic code on three references."""
    count = 240 if run.quick else 1_200
    seed = _unseen(run)
    pretrained = run.pretrained
    run.say(f"recombining codes of {count} unseen pairs")
    seen = view(pretrained, simulate_pairs(count, seed=seed))
    made, _ = recombined(seen, seed=seed)
    checks = run.kept(
        "recombination",
        {"pairs": count, "seed": seed, "weights": run.weights_facts()},
        lambda: realization_checks(pretrained, seen.pairs),
    )
    modes = {name: values for name, values in checks.items() if name != "router"}
    table = pd.DataFrame.from_dict(
        {
            name: {
                "Change by new noise": values[NOISE],
                "By another reference": values[STRUCTURE],
                "Ratio": values[STRUCTURE] / values[NOISE],
                "Outside the support": values["rms outside over inside before masking"],
            }
            for name, values in modes.items()
        },
        orient="index",
    )
    note = (
        "Root mean square change of the effect, in units of its own size, when only the noise or "
        "also the reference's structure is exchanged. Outside: size of the effect outside its "
        "support over inside, before it is cut off; afterwards it is exactly 0."
    )
    digits = {name: 3 for name in table.columns if name != "Ratio"}
    title = "One semantic code under other contexts"
    return Report(
        "Cross-context recombination",
        [f"{count} unseen simulated pairs, seed {seed}. The pairs drawn are the first clear ones."],
        [frame_table("recombination", title, table, "Mode", digits, [note])],
        _recombination_verdict(modes),
        {
            "Rows: references. Columns: codes. Framed: the original pairings.": draw_panels(
                made, width=2.6, height=1.4
            )
        },
        {"measured": checks},
    )


def _unseen(run: StudyRun) -> int:
    return int(run.pretrained.facts.get("seed") or 0) + 1


def _latent_verdict(facts: Mapping[str, Mapping[str, float]]) -> list[str]:
    overlap = max(shown["same status among neighbours in z_s"] for shown in facts.values())
    least = min(shown["same family among neighbours in z_a"] for shown in facts.values())
    overlaps = "overlap, as in the paper" if overlap < 0.6 else "**do not overlap** as in the paper"
    organised = (
        "is organised by family, as in the paper" if least > 0.5 else "is **hardly organised**"
    )
    return [
        f"Normal and anomalous structure codes {overlaps}: {100 * overlap:.0f} % of neighbours "
        "have the same status, 50 % if the code does not know it.",
        f"z_a {organised}: {100 * least:.0f} % of neighbours are of the same family.",
        "The paper shows projections only and gives no figures.",
    ]


def _recombination_verdict(modes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = []
    for name, values in modes.items():
        ratio = values[STRUCTURE] / values[NOISE]
        says = "depends on the reference, as the paper shows"
        if ratio <= 1.02:
            says = "does **not** depend on the reference beyond the noise, against the paper"
        lines.append(f"{name}: the effect {says} (ratio {ratio:.2f}).")
    noise = [values[NOISE] for values in modes.values()]
    return [
        *lines,
        f"With code and reference the same, new noise alone changes an effect by {min(noise):.2f} "
        f"to {max(noise):.2f} of its size: a code fixes the kind of an effect more than its "
        "course. The paper shows examples and gives no figures.",
    ]
