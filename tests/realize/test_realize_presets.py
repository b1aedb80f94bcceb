"""Presets: their JSON form, other sizes, and the table beside the paper's."""

import json
from dataclasses import asdict, replace

import pytest

from caps.configuration import from_json
from caps.errors import ArtifactError, InputError
from caps.realize import PRESETS, preset_named
from caps.realize.presets import Preset, resized, size_table

# The paper's table "Main architectural and optimization configurations of CAPS".
PAPER_TABLE = {
    "input shape": "[B, 1, 256]",
    "modes": "3 families",
    "prior": "diagonal",
    "latent dimensions": "z_s 128, z_a 48",
    "encoder": "hidden (64, 128, 256), dropout 0.1",
    "multi-scale extractor": "kernels (3, 5, 7, 9), dilations (1, 2, 3, 4)",
    "router hidden": "128",
    "location embedding": "64",
    "diffusion": "200 steps, predicts noise",
    "reverse process": "ddpm, 200 steps",
    "U-Net": "channels (64, 128, 256, 256), patch 1",
    "base decoder width": "256",
    "residual decoder width": "192, patch 1",
    "optimiser": "Adam 0.001 / 0.001",
    "batch size": "32 / 32",
    "representation epochs": "60",
    "generation epochs": "100",
}


def test_the_paper_preset_has_exactly_the_sizes_of_the_papers_table() -> None:
    rows = {component: ours for component, _, ours in size_table(preset_named("paper"))}
    assert {name: rows[name] for name in PAPER_TABLE} == PAPER_TABLE
    # Not in the table: nothing is shortened, and the pairs are the simulator's.
    assert rows.keys() - PAPER_TABLE.keys() == {"encoder strides", "simulated pairs"}
    assert rows["encoder strides"] == "(1, 1, 1)"
    assert rows["simulated pairs"] == "48,000"


def test_every_preset_is_shown_beside_the_paper() -> None:
    for name in PRESETS:
        theirs = {component: value for component, value, _ in size_table(preset_named(name))}
        assert {part: theirs[part] for part in PAPER_TABLE} == PAPER_TABLE
    tiny = {component: ours for component, _, ours in size_table(preset_named("tiny"))}
    assert tiny["encoder"] == "hidden (16, 16, 24), dropout 0.1"
    assert tiny["representation epochs"] == "1.25"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_json(name: str) -> None:
    preset = preset_named(name)
    assert preset.name == name
    assert from_json(Preset, json.loads(json.dumps(asdict(preset)))) == preset


def test_unknown_names_and_fields_are_refused() -> None:
    with pytest.raises(InputError, match="choose from cpu, paper, tiny"):
        preset_named("gpu")
    values = asdict(preset_named("tiny"))
    with pytest.raises(ArtifactError, match="colour"):
        from_json(Preset, values | {"colour": "red"})
    with pytest.raises(ArtifactError, match="Schedule"):
        from_json(Preset, values | {"router": {"steps": 3}})
    with pytest.raises(ArtifactError, match="Sampler is 20"):
        from_json(Preset, values | {"sampler": 20})


def test_resizing_changes_the_pairs_and_the_steps_and_nothing_else() -> None:
    preset = preset_named("cpu")
    assert resized(preset, pairs=None, steps=None) == preset
    shorter = resized(preset, pairs=90, steps=50)
    assert shorter.pairs == 90
    for name in ("representation", "expert", "router"):
        before, after = getattr(preset, name), getattr(shorter, name)
        assert after == replace(before, steps=50, warmup=min(before.warmup, 5))
    assert (
        replace(
            shorter,
            pairs=preset.pairs,
            representation=preset.representation,
            expert=preset.expert,
            router=preset.router,
        )
        == preset
    )
    with pytest.raises(InputError, match="steps is 0"):
        resized(preset, pairs=None, steps=0)
