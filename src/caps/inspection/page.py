"""A look at a pretraining, as PNG files and one HTML page, and at all operations of simulation."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.artifacts import write_text
from caps.errors import InputError
from caps.inspection import figures, tables
from caps.inspection.views import View, code_clouds, expert_samples, recombined, view
from caps.plots import FAMILY_COLOURS, Picture, Section, need_matplotlib, sections_page, write_png
from caps.realize import Pretrained, Sampler, router_figures, sampler_table
from caps.replacing import check_file, check_room
from caps.simulate import FAMILIES, GENERATORS, OPERATIONS, simulate_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Add = Callable[[str, "Figure", str], Picture]  # writes a figure by name and caption

PAGE = "index.html"
KIND = "CAPS inspection"
SIMULATED = 4608  # pairs of the gallery, so that every operation comes on many generators
FEWEST_PAIRS = 30  # below, a projection or a neighbourhood says nothing
SAMPLERS = (
    *(Sampler("dpm++", steps) for steps in (5, 10, 20, 50)),
    *(Sampler("ddim", steps) for steps in (20, 50)),
    *(Sampler("ddpm", steps) for steps in (50, 200)),
)


def inspect_pretrained(
    pretrained: Pretrained,
    out: Path,
    *,
    pairs: int = 900,
    seed: int | None = None,
    samplers: Sequence[Sampler] = (),
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Draw what `pretrained` makes of unseen pairs into `out`; returns the figures shown.

    Without a `seed` the pairs come from the one after the training's.
    """
    facts = pretrained.facts
    trained: int | None = facts.get("seed")
    if seed is None:
        seed = 1 if trained is None else trained + 1
    _check(pretrained, out, pairs, seed, samplers)
    written: list[Path] = []

    def add(name: str, figure: "Figure", caption: str) -> Picture:
        path = out / f"{name}.png"
        write_png(figure, path)
        written.append(path)
        say(f"drawn {path}")
        return Picture(path, caption)

    sections = [_training(facts.get("stages", {}), add)]
    say(f"simulating and encoding {pairs:,} unseen pairs")
    seen = view(pretrained, simulate_pairs(pairs, seed=seed))
    codes, shares = _codes(seen, add, seed)
    routing, router = _routing(seen, add)
    sections += [codes, _recombination(seen, add, seed), _experts(seen, add, seed), routing]
    result = {
        "page": str(out / PAGE),
        "figures": [str(path) for path in written],
        "pairs": pairs,
        "seed": seed,
        "modes": list(seen.names),
        "neighbours": shares,
        "router": router,
        "checks": facts.get("checks", {}),
    }
    if samplers:
        section, result["samplers"] = _samplers(seen, samplers, say)
        sections.append(section)
    sections += _tables(pretrained)
    preset = pretrained.preset
    versions = [f"{name} {version}" for name, version in facts.get("versions", {}).items()]
    shown = {
        "Preset": f"{preset.name}, {preset.realize.mechanism} experts",
        "Modes": ", ".join(seen.names),
        "Trained with": ", ".join([f"seed {facts.get('seed', 'unknown')}", *versions]),
        "Figures on": f"{pairs:,} unseen pairs of seed {seed}",
    }
    write_text(out / PAGE, sections_page("Pretraining", sections, kind=KIND, facts=shown))
    return result


def draw_gallery(
    path: Path | str, *, seed: int = 0, columns: int = 5, families: tuple[str, ...] = FAMILIES
) -> None:
    """Draw `columns` pairs of every operation to a PNG file, each on another generator if it can.

    The normal member is grey, the anomalous one coloured, the support shaded.
    """
    need_matplotlib()
    pairs = simulate_pairs(SIMULATED, seed=seed, families=families)
    panels, names = [], []
    for operation in np.unique(pairs.operation):
        rows = np.flatnonzero(pairs.operation == operation)
        names.append(OPERATIONS[operation].replace(" ", "\n", 1))
        panels.append(
            [
                figures.Panel(
                    pairs.normal[row],
                    pairs.anomalous[row],
                    pairs.support[row],
                    FAMILY_COLOURS[FAMILIES[pairs.family[row]]],
                    title=GENERATORS[pairs.generator[row]],
                )
                for row in figures.varied(rows, pairs.generator[rows], columns)
            ]
        )
    grid = figures.PanelGrid(panels, names, [""] * columns, made="anomalous member")
    write_png(figures.draw_panels(grid, width=2.8, height=1.25), Path(path))


def _check(
    pretrained: Pretrained, out: Path, pairs: int, seed: int, samplers: Sequence[Sampler]
) -> None:
    if seed == pretrained.facts.get("seed"):
        raise InputError(
            f"seed {seed} gives the very pairs it was trained on", "choose another seed"
        )
    if pairs < FEWEST_PAIRS:
        raise InputError(f"{pairs} pairs show too little", f"ask for {FEWEST_PAIRS} or more")
    check_room(out)
    check_file(out / PAGE)
    need_matplotlib()
    if samplers and pretrained.preset.realize.mechanism == "vae":
        raise InputError("a VAE draws in one pass, without a sampler", "leave the samplers out")


def _training(stages: Mapping[str, Any], add: Add) -> Section:
    if not stages:
        return Section("Training", "The manifest holds no loss curves.")
    curves = {name: facts["curves"] for name, facts in stages.items()}
    return Section(
        "Training",
        "The losses of every stage as its manifest holds them: the representation first, then one "
        "expert for each mode, then the router. Faint: means over intervals of steps; strong: "
        "their running mean.",
        "every curve falls and then levels off; none climbs at the end, and the experts' outside "
        "loss ends far below their main loss.",
        [add("losses", figures.draw_losses(curves), "Loss curves by stage.")],
        [tables.stage_table(stages)],
    )


def _codes(seen: View, add: Add, seed: int) -> tuple[Section, dict[str, float]]:
    clouds, shares = code_clouds(seen, seed=seed)
    status, family = shares.values()
    caption = f"t-SNE: {', '.join(cloud.title for cloud in clouds)}."
    section = Section(
        "Codes",
        "Structure codes z_s of both members of every pair, and semantic codes z_a of what the "
        "anomalous member shows on its support, projected to two dimensions by t-SNE. Distances "
        "between groups in such a projection mean little, so the neighbours are counted in the "
        "full spaces too: of a structure code's nearest neighbours, its own partner left out, "
        f"{status:.0%} have its status (50% when the code does not know it); of a semantic code's, "
        f"{family:.0%} have its family (33% by chance).",
        "normal and anomalous lie on top of each other in z_s, while z_a falls into regions of one "
        "colour. This is qualitative evidence; it does not prove independence.",
        [add("codes", figures.draw_clouds(clouds), caption)],
    )
    return section, shares


def _recombination(seen: View, add: Add, seed: int) -> Section:
    made, decoded = recombined(seen, seed=seed)
    caption = "Counterparts made by the experts."
    if seen.pretrained.preset.realize.mechanism == "sequence":
        caption += " These draw the whole sequence, so the background changes too."
    smoother = (
        "Dec(z_s, z_a, m), the decoder of representation learning: smoother, as it rebuilds the "
        "reference from its code as well."
    )
    return Section(
        "Cross-context recombination",
        "Rows are three references, and each column reuses one semantic code z_a, of one pair of "
        "each family, with that pair's support. Coloured frames on the diagonal mark the original "
        "pairings; there the simulated anomaly is drawn too. The pairs are the first clear ones, "
        "not the best looking.",
        "a column shows recognisably the same kind of anomaly, each time fitted to its reference; "
        "the diagonal comes close to the simulated anomaly, and outside the support nothing "
        "changes.",
        [
            add("recombination", figures.draw_panels(made), caption),
            add("recombination-decoder", figures.draw_panels(decoded), smoother),
        ],
    )


def _experts(seen: View, add: Add, seed: int) -> Section:
    grids = {name: expert_samples(seen, k, seed=seed) for k, name in enumerate(seen.names)}
    return Section(
        "Samples of the experts",
        "Unseen simulated pairs, and what the expert of their mode makes of the same structures "
        "and supports: with the pair's own code, and with codes drawn from the mode's prior, which "
        "is how counterparts are made for a user's series. One row is one pair.",
        "counterparts are as large and as smooth as the simulated anomalies and join their "
        "reference at the support's edges. With the pair's own code they resemble its anomaly; "
        "with codes of the prior they differ from draw to draw.",
        [
            add(
                f"expert-{name.replace(' ', '-')}",
                figures.draw_panels(grid, width=3.0, height=1.45),
                f"Expert of mode {name}.",
            )
            for name, grid in grids.items()
            if grid is not None
        ],
    )


def _routing(seen: View, add: Add) -> tuple[Section, dict[str, Any]]:
    routed = router_figures(seen.pretrained, seen.source)
    figure = figures.draw_confusion(np.array(routed["confusion"]), seen.names)
    section = Section(
        "Router",
        "Which mode the router associates with every unseen pair, from its structure code and its "
        "semantic code. It agrees with the pair's own mode in "
        f"{routed['accuracy']:.1%} of the pairs.",
        "most of every row is on the diagonal. It does not say that anomalies of real series fall "
        "into the same modes.",
        [add("router", figure, "Percent of the pairs of each mode, counts in parentheses.")],
    )
    return section, routed


def _samplers(
    seen: View, samplers: Sequence[Sampler], say: Callable[[str], None]
) -> tuple[Section, list[dict[str, Any]]]:
    steps = seen.pretrained.preset.realize.diffusion_steps
    missing = [name for k, name in enumerate(seen.names) if not (seen.mode == k).any()]
    if missing:
        raise InputError(f"no pair is of mode {missing[0]}", "ask for more pairs")
    table: list[dict[str, Any]] = []
    for sampler in samplers:
        if sampler.steps <= steps:
            say(f"timing {sampler.method} with {sampler.steps} steps")
            table += sampler_table(seen.pretrained, seen.pairs, [sampler])
    default = seen.pretrained.preset.sampler
    section = Section(
        "Samplers",
        "Residuals drawn with codes of the prior: their size and roughness over those of real "
        "residuals, and the time for one pair in batches on this machine.",
        "both ratios are near 1, and hardly change beyond the default's steps.",
        tables=[tables.samplers_table(table, f"{default.method}, {default.steps} steps")],
    )
    return section, table


def _tables(pretrained: Pretrained) -> list[Section]:
    checks = pretrained.facts.get("checks", {})
    text = "The sizes of this pretraining beside those of the paper."
    sizes = Section("Sizes", text, tables=[tables.sizes_table(pretrained.preset)])
    if not checks:
        return [sizes]
    measured = Section(
        "Checks",
        "Measured on unseen pairs at the end of pretraining and kept in the manifest. Figures with "
        "a goal are marked: ✓ within it, ✗ not.",
        tables=[
            tables.representation_table(checks["representation"]),
            tables.realization_table(checks["realization"]),
        ],
    )
    return [measured, sizes]
