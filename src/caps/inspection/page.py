"""`inspect_pretrained`: a look at a pretraining, as PNG files and one HTML page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.artifacts import write_text
from caps.errors import InputError
from caps.inspection.figures import draw_clouds, draw_confusion, draw_losses, draw_panels
from caps.inspection.tables import (
    realization_table,
    representation_table,
    samplers_table,
    sizes_table,
    stage_table,
)
from caps.inspection.views import View, code_clouds, expert_samples, recombined, view
from caps.plots import Picture, Section, need_matplotlib, sections_page, write_png
from caps.realize import Pretrained, Sampler, router_figures, sampler_table
from caps.replacing import check_file, check_room
from caps.simulate import simulate_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "index.html"
KIND = "CAPS inspection"
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
    seed = _unseen_seed(pretrained, seed)
    _check(pretrained, out, pairs, samplers)
    gallery = _Gallery(out, say)
    sections = [_training(pretrained, gallery)]
    say(f"simulating and encoding {pairs:,} unseen pairs")
    seen = view(pretrained, simulate_pairs(pairs, seed=seed))
    codes, shares = _codes(seen, gallery, seed)
    routing, router = _routing(seen, gallery)
    sections += [codes, _recombination(seen, gallery, seed), _experts(seen, gallery, seed), routing]
    result = {
        "page": str(out / PAGE),
        "figures": [str(path) for path in gallery.written],
        "pairs": pairs,
        "seed": seed,
        "modes": list(seen.names),
        "neighbours": shares,
        "router": router,
        "checks": pretrained.facts.get("checks", {}),
    }
    if samplers:
        section, result["samplers"] = _samplers(seen, samplers, say)
        sections.append(section)
    sections += _tables(pretrained)
    facts = _facts(seen, pairs, seed)
    write_text(out / PAGE, sections_page("Pretraining", sections, kind=KIND, facts=facts))
    return result


class _Gallery:
    """Writes figures to a folder."""

    def __init__(self, out: Path, say: Callable[[str], None]) -> None:
        self.out, self.say = out, say
        self.written: list[Path] = []

    def add(self, name: str, figure: "Figure", caption: str) -> Picture:
        path = self.out / f"{name}.png"
        write_png(figure, path)
        self.written.append(path)
        self.say(f"drawn {path}")
        return Picture(path, caption)


def _unseen_seed(pretrained: Pretrained, seed: int | None) -> int:
    trained: int | None = pretrained.facts.get("seed")
    if seed is None:
        return 1 if trained is None else trained + 1
    if seed == trained:
        raise InputError(
            f"seed {seed} gives the very pairs it was trained on", "choose another seed"
        )
    return seed


def _check(pretrained: Pretrained, out: Path, pairs: int, samplers: Sequence[Sampler]) -> None:
    if pairs < FEWEST_PAIRS:
        raise InputError(f"{pairs} pairs show too little", f"ask for {FEWEST_PAIRS} or more")
    check_room(out)
    check_file(out / PAGE)
    need_matplotlib()
    if samplers and pretrained.preset.realize.mechanism == "vae":
        raise InputError("a VAE draws in one pass, without a sampler", "leave the samplers out")


def _training(pretrained: Pretrained, gallery: _Gallery) -> Section:
    stages = pretrained.facts.get("stages", {})
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
        [gallery.add("losses", draw_losses(curves), "Loss curves by stage.")],
        [stage_table(stages)],
    )


def _codes(seen: View, gallery: _Gallery, seed: int) -> tuple[Section, dict[str, float]]:
    clouds, shares = code_clouds(seen, seed=seed)
    status, family = shares.values()
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
    )
    caption = f"t-SNE: {', '.join(cloud.title for cloud in clouds)}."
    section.pictures.append(gallery.add("codes", draw_clouds(clouds), caption))
    return section, shares


def _recombination(seen: View, gallery: _Gallery, seed: int) -> Section:
    made, decoded = recombined(seen, seed=seed)
    section = Section(
        "Cross-context recombination",
        "Rows are three references, and each column reuses one semantic code z_a, of one pair of "
        "each family, with that pair's support. Coloured frames on the diagonal mark the original "
        "pairings; there the simulated anomaly is drawn too. The pairs are the first clear ones, "
        "not the best looking.",
        "a column shows recognisably the same kind of anomaly, each time fitted to its reference; "
        "the diagonal comes close to the simulated anomaly, and outside the support nothing "
        "changes.",
    )
    caption = "Counterparts made by the experts."
    if seen.pretrained.preset.realize.mechanism == "sequence":
        caption += " These draw the whole sequence, so the background changes too."
    section.pictures.append(gallery.add("recombination", draw_panels(made), caption))
    caption = (
        "Dec(z_s, z_a, m), the decoder of representation learning: smoother, as it rebuilds the "
        "reference from its code as well."
    )
    section.pictures.append(gallery.add("recombination-decoder", draw_panels(decoded), caption))
    return section


def _experts(seen: View, gallery: _Gallery, seed: int) -> Section:
    section = Section(
        "Samples of the experts",
        "Unseen simulated pairs, and what the expert of their mode makes of the same structures "
        "and supports: with the pair's own code, and with codes drawn from the mode's prior, which "
        "is how counterparts are made for a user's series. One row is one pair.",
        "counterparts are as large and as smooth as the simulated anomalies and join their "
        "reference at the support's edges. With the pair's own code they resemble its anomaly; "
        "with codes of the prior they differ from draw to draw.",
    )
    for k, name in enumerate(seen.names):
        grid = expert_samples(seen, k, seed=seed)
        if grid is not None:
            figure = draw_panels(grid, width=3.0, height=1.45)
            file = f"expert-{name.replace(' ', '-')}"
            section.pictures.append(gallery.add(file, figure, f"Expert of mode {name}."))
    return section


def _routing(seen: View, gallery: _Gallery) -> tuple[Section, dict[str, Any]]:
    figures = router_figures(seen.pretrained, seen.source)
    section = Section(
        "Router",
        "Which mode the router associates with every unseen pair, from its structure code and its "
        "semantic code. It agrees with the pair's own mode in "
        f"{figures['accuracy']:.1%} of the pairs.",
        "most of every row is on the diagonal. It does not say that anomalies of real series fall "
        "into the same modes.",
    )
    figure = draw_confusion(np.array(figures["confusion"]), seen.names)
    caption = "Percent of the pairs of each mode, counts in parentheses."
    section.pictures.append(gallery.add("router", figure, caption))
    return section, figures


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
        tables=[samplers_table(table, f"{default.method}, {default.steps} steps")],
    )
    return section, table


def _tables(pretrained: Pretrained) -> list[Section]:
    checks = pretrained.facts.get("checks", {})
    sizes = Section(
        "Sizes",
        "The sizes of this pretraining beside those of the paper.",
        tables=[sizes_table(pretrained.preset)],
    )
    if not checks:
        return [sizes]
    measured = Section(
        "Checks",
        "Measured on unseen pairs at the end of pretraining and kept in the manifest. Figures with "
        "a goal are marked: ✓ within it, ✗ not.",
        tables=[
            representation_table(checks["representation"]),
            realization_table(checks["realization"]),
        ],
    )
    return [measured, sizes]


def _facts(seen: View, pairs: int, seed: int) -> dict[str, str]:
    facts, preset = seen.pretrained.facts, seen.pretrained.preset
    versions = [f"{name} {version}" for name, version in facts.get("versions", {}).items()]
    return {
        "Preset": f"{preset.name}, {preset.realize.mechanism} experts",
        "Modes": ", ".join(seen.names),
        "Trained with": ", ".join([f"seed {facts.get('seed', 'unknown')}", *versions]),
        "Figures on": f"{pairs:,} unseen pairs of seed {seed}",
    }
