"""Presets: every size and schedule of pretraining in one frozen value."""

from dataclasses import dataclass, replace
from typing import Literal

from caps.errors import check_known
from caps.realize.config import RealizeConfig
from caps.realize.samplers import Sampler
from caps.represent import Objective, RepresentConfig
from caps.training import Schedule


@dataclass(frozen=True, slots=True)
class Preset:
    """What `caps pretrain` needs to know."""

    name: str
    pairs: int  # simulated source pairs, a third for each family
    represent: RepresentConfig
    objective: Objective
    realize: RealizeConfig
    sampler: Sampler  # the default for generation
    representation: Schedule
    expert: Schedule  # each of the K experts
    router: Schedule
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    mask_pool: int = 4096  # supports kept for each mode


# The paper's table: batch 32, Adam 1e-3, 60 epochs of 48,000 pairs, then 100 epochs of the 16,000
# pairs of each mode. The paper gives no weight average, decay or warm-up: there are none.
PAPER = Preset(
    name="paper",
    pairs=48_000,
    represent=RepresentConfig(),
    objective=Objective(),
    realize=RealizeConfig(),
    sampler=Sampler("ddpm", 200),
    representation=Schedule(steps=60 * 48_000 // 32, batch=32),
    expert=Schedule(steps=100 * 16_000 // 32, batch=32),
    router=Schedule(steps=3_000, batch=256),
)

# The same method on two CPU cores: nets see the window in patches, larger batches, fewer steps.
# docs/model-card.md has the measurements behind these values.
CPU = Preset(
    name="cpu",
    pairs=144_000,
    represent=RepresentConfig(strides=(4, 2, 1), residual_blocks=4, patch=8),
    objective=Objective(organisation=0.4),
    realize=RealizeConfig(
        channels=(64, 96, 128),
        patch=4,
        prediction="velocity",
        outside_spread=0.05,
        semantic_blur=0.9,
    ),
    sampler=Sampler("dpm++", 12),
    representation=Schedule(
        steps=3_600, batch=128, learning_rate=2e-3, warmup=200, decay="cosine", ema=0.998
    ),
    expert=Schedule(
        steps=2_000, batch=128, learning_rate=2e-3, warmup=200, decay="cosine", ema=0.998
    ),
    router=Schedule(steps=3_000, batch=256, decay="cosine"),
    precision="bf16-mixed",
)

TINY = Preset(
    name="tiny",
    pairs=384,
    represent=RepresentConfig(
        hidden=(16, 16, 24),
        strides=(4, 2, 1),
        location=8,
        base_width=16,
        residual_width=24,
        residual_blocks=2,
        patch=8,
    ),
    objective=Objective(organisation=0.2),
    realize=RealizeConfig(
        channels=(16, 24),
        patch=8,
        diffusion_steps=20,
        prediction="velocity",
        outside_spread=0.05,
        semantic_blur=0.5,
        location=8,
        time_embedding=16,
        router_hidden=16,
    ),
    sampler=Sampler("dpm++", 4),
    representation=Schedule(steps=30, batch=16, ema=0.9, checkpoint_seconds=0),
    expert=Schedule(steps=20, batch=16, ema=0.9, checkpoint_seconds=0),
    router=Schedule(steps=30, batch=32, checkpoint_seconds=0),
    mask_pool=64,
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (CPU, PAPER, TINY)}


def preset_named(name: str) -> Preset:
    """The preset called `name`."""
    check_known("preset", name, PRESETS)
    return PRESETS[name]


def resized(preset: Preset, *, pairs: int | None, steps: int | None) -> Preset:
    """The preset with another number of pairs or of training steps in every stage."""
    if pairs is not None:
        preset = replace(preset, pairs=pairs)
    if steps is None:
        return preset
    return replace(
        preset,
        representation=preset.representation.shortened(steps),
        expert=preset.expert.shortened(steps),
        router=preset.router.shortened(steps),
    )


def size_table(preset: Preset) -> list[tuple[str, str, str]]:
    """The rows of the paper's table of sizes: component, the paper's value, this preset's."""
    return [
        (component, theirs, ours)
        for (component, theirs), (_, ours) in zip(_sizes(PAPER), _sizes(preset), strict=True)
    ]


def _sizes(preset: Preset) -> list[tuple[str, str]]:
    represent, realize = preset.represent, preset.realize
    stage_one, stage_two = preset.representation, preset.expert
    return [
        ("input shape", f"[B, 1, {represent.window}]"),
        ("modes", f"{realize.clusters} clusters" if realize.clusters else "3 families"),
        ("prior", realize.prior),
        ("latent dimensions", f"z_s {represent.structure}, z_a {represent.semantic}"),
        ("encoder", f"hidden {represent.hidden}, dropout {represent.dropout}"),
        ("encoder strides", f"{represent.strides}"),
        ("multi-scale extractor", f"kernels {represent.kernels}, dilations {represent.dilations}"),
        ("router hidden", f"{realize.router_hidden}"),
        ("location embedding", f"{represent.location}"),
        ("diffusion", f"{realize.diffusion_steps} steps, predicts {realize.prediction}"),
        ("reverse process", f"{preset.sampler.method}, {preset.sampler.steps} steps"),
        ("U-Net", f"channels {realize.channels}, patch {realize.patch}"),
        ("base decoder width", f"{represent.base_width}"),
        ("residual decoder width", f"{represent.residual_width}, patch {represent.patch}"),
        ("simulated pairs", f"{preset.pairs:,}"),
        ("optimiser", f"Adam {stage_one.learning_rate:g} / {stage_two.learning_rate:g}"),
        ("batch size", f"{stage_one.batch} / {stage_two.batch}"),
        ("representation epochs", f"{stage_one.steps * stage_one.batch / preset.pairs:.3g}"),
        ("generation epochs", f"{stage_two.steps * stage_two.batch / (preset.pairs / 3):.3g}"),
    ]
