"""`Pretrained`: what it makes of references, and what becomes of it on disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from finished_run import FinishedRun
from torch import Tensor

from caps.artifacts import MANIFEST, read_folder, write_folder
from caps.errors import ArtifactError
from caps.realize import Pretrained, Sampler
from caps.simulate import PairBatch

KIND = {"kind": "caps.pretrained", "version": 1}


def counterparts(
    pretrained: Pretrained, references: Tensor, seed: int = 0, **options: Any
) -> list[tuple[Tensor, Tensor]]:
    """Counterparts and supports of every mode."""
    z_s, _ = pretrained.encode(references)
    rng = np.random.default_rng(seed)
    return [
        pretrained.counterparts(mode, references, z_s, rng, **options) for mode in pretrained.modes
    ]


@pytest.fixture(scope="module")
def references(unseen: PairBatch) -> Tensor:
    return torch.from_numpy(unseen.normal[:8])


def test_counterparts_equal_their_references_outside_the_supports(
    pretrained: Pretrained, references: Tensor
) -> None:
    for made, support in counterparts(pretrained, references):
        assert made.shape == support.shape == references.shape
        assert set(support.unique().tolist()) == {0, 1}
        assert torch.equal(made[support == 0], references[support == 0])
        assert (made != references)[support == 1].float().mean() > 0.99


def test_supports_have_lengths_that_the_mode_has_seen(
    pretrained: Pretrained, references: Tensor
) -> None:
    made = counterparts(pretrained, references)
    for mode, (_, support) in zip(pretrained.modes, made, strict=True):
        seen = set(mode.pool.supports.sum(axis=1).tolist())
        assert set(support.sum(dim=1).int().tolist()) <= seen


@pytest.mark.parametrize("sampler", [None, Sampler("ddpm", 20), Sampler("ddim", 3)])
def test_the_same_seed_gives_the_same_counterparts(
    pretrained: Pretrained, references: Tensor, sampler: Sampler | None
) -> None:
    first, again, other = (
        counterparts(pretrained, references, seed=seed, sampler=sampler) for seed in (1, 1, 2)
    )
    for one, two, three in zip(first, again, other, strict=True):
        assert torch.equal(one[0], two[0])
        assert torch.equal(one[1], two[1])
        assert not torch.equal(one[0], three[0])


def realized(pretrained: Pretrained, z_s: Tensor, z_a: Tensor, seed: int = 0) -> Tensor:
    return pretrained.realize(
        pretrained.modes[0],
        z_s,
        z_a,
        torch.ones(len(z_s), 256),
        blur=0.5,
        generator=torch.Generator().manual_seed(seed),
    )


def test_residuals_depend_on_structure_semantics_and_noise(
    pretrained: Pretrained, references: Tensor
) -> None:
    z_s, z_a = pretrained.encode(references)
    residual = realized(pretrained, z_s, z_a)
    assert torch.equal(realized(pretrained, z_s, z_a), residual)
    assert not torch.equal(realized(pretrained, z_s.roll(1, 0), z_a), residual)
    assert not torch.equal(realized(pretrained, z_s, z_a + 1), residual)
    assert not torch.equal(realized(pretrained, z_s, z_a, seed=1), residual)


def test_residuals_are_drawn_in_the_size_of_their_mode(
    pretrained: Pretrained, references: Tensor
) -> None:
    z_s, z_a = pretrained.encode(references)
    size = realized(pretrained, z_s, z_a).abs().max().item()
    assert size <= 5 * pretrained.modes[0].scale * (1 + 1e-6), "scaled residuals end at 5"
    assert size > 0.2 * pretrained.modes[0].scale


def test_associations_are_shares_over_the_modes(pretrained: Pretrained, unseen: PairBatch) -> None:
    support = torch.from_numpy(unseen.support).float()
    scores = pretrained.associate(torch.from_numpy(unseen.anomalous), support)
    assert scores.shape == (60, 3)
    assert (scores >= 0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_a_loaded_folder_is_ready_for_use_and_not_for_training(pretrained: Pretrained) -> None:
    networks = [pretrained.representation, pretrained.router]
    networks += [mode.expert for mode in pretrained.modes]
    for network in networks:
        assert not network.training
        assert not any(parameter.requires_grad for parameter in network.parameters())


def test_saving_and_loading_again_changes_no_bit_of_any_output(
    pretrained: Pretrained, references: Tensor, tmp_path: Path
) -> None:
    pretrained.save(tmp_path / "copy")
    again = Pretrained.load(tmp_path / "copy")
    assert again.preset == pretrained.preset
    assert [mode.name for mode in again.modes] == [mode.name for mode in pretrained.modes]
    for key in ("seed", "versions", "stages", "checks"):
        assert again.facts[key] == pretrained.facts[key]
    for ours, theirs in zip(pretrained.encode(references), again.encode(references), strict=True):
        assert torch.equal(ours, theirs)
    support = torch.ones_like(references)
    np.testing.assert_array_equal(
        pretrained.associate(references, support), again.associate(references, support)
    )
    made, remade = counterparts(pretrained, references), counterparts(again, references)
    for one, two in zip(made, remade, strict=True):
        assert torch.equal(one[0], two[0])
        assert torch.equal(one[1], two[1])


def test_half_precision_on_disk_hardly_changes_what_was_trained(
    tiny_run: FinishedRun, pretrained: Pretrained, references: Tensor
) -> None:
    trained = counterparts(tiny_run.returned, references)
    for (before, _), (after, support) in zip(
        trained, counterparts(pretrained, references), strict=True
    ):
        error = ((before - after) * support).norm() / ((after - references) * support).norm()
        assert error < 0.01


Edit = Callable[[dict[str, Any], dict[str, dict[str, np.ndarray]]], object]


def rewritten(folder: Path, target: Path, edit: Edit) -> Path:
    """A copy whose manifest and arrays were edited, with hashes that fit again."""
    manifest, arrays = read_folder(folder, **KIND)
    edit(manifest, arrays)
    facts = {k: v for k, v in manifest.items() if k not in ("kind", "version", "sha256")}
    write_folder(target, **KIND, facts=facts, arrays=arrays)
    return target


def change(group: str, name: str, array: Callable[[np.ndarray], np.ndarray]) -> Edit:
    def edit(manifest: dict[str, Any], arrays: dict[str, dict[str, np.ndarray]]) -> None:
        arrays[group][name] = array(arrays[group][name])

    return edit


EDITS: dict[str, Any] = {
    "an unknown preset field": lambda m, a: m["preset"].update(colour="red"),
    "an unknown field deeper down": lambda m, a: m["preset"]["realize"].update(colour="red"),
    "a missing preset field": lambda m, a: m["preset"]["represent"].pop("window"),
    "a preset that is no object": lambda m, a: m.update(preset="tiny"),
    "no preset": lambda m, a: m.pop("preset"),
    "no modes": lambda m, a: m.pop("modes"),
    "a mode too few": lambda m, a: m["modes"].pop(),
    "a mode too many": lambda m, a: m["modes"].append(m["modes"][0]),
    "modes that are no list": lambda m, a: m.update(modes=3),
    "a mode without a name": lambda m, a: m["modes"][0].pop("name"),
    "another window": lambda m, a: m["preset"]["represent"].update(window=512),
    "a window that is text": lambda m, a: m["preset"]["represent"].update(window="256"),
    "a patch that does not divide": lambda m, a: m["preset"]["represent"].update(patch=7),
    "another mechanism": lambda m, a: m["preset"]["realize"].update(mechanism="vae"),
    "an unknown mechanism": lambda m, a: m["preset"]["realize"].update(mechanism="gan"),
    "an unknown sampler": lambda m, a: m["preset"]["sampler"].update(method="euler"),
    "no expert": lambda m, a: a.pop("expert-1"),
    "no prior": lambda m, a: a.pop("prior-2"),
    "no codes": lambda m, a: a.pop("codes"),
    "no router": lambda m, a: a.pop("router"),
    "weights of another shape": change("router", "layers.0.weight", lambda w: w[:, :-1]),
    "a weight too few": lambda m, a: a["representation"].pop("base.lift.weight"),
    "a weight too many": lambda m, a: a["expert-0"].update(extra=np.ones(3)),
    "codes without their spread": lambda m, a: a["codes"].pop("spread"),
    "two hidden widths": lambda m, a: m["preset"]["represent"].update(hidden=[16, 16]),
    "an unknown prior": lambda m, a: m["modes"][0].update(prior="cauchy"),
    "a scale that is text": lambda m, a: m["modes"][0].update(scale="big"),
    "a prior of another size": change("prior-0", "mean", lambda mean: mean[:-1]),
    "codes of another size": change("codes", "mean", lambda mean: mean[:-1]),
    "supports of another window": change("prior-0", "supports", lambda bits: bits[:, :-4]),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=[name.replace(" ", "-") for name in EDITS])
def test_a_folder_that_is_not_what_its_manifest_says_is_refused(
    tiny_run: FinishedRun, tmp_path: Path, edit: Edit
) -> None:
    folder = rewritten(tiny_run.folder, tmp_path / "edited", edit)
    with pytest.raises(ArtifactError) as caught:
        Pretrained.load(folder)
    assert caught.value.remedy in (
        "pretrain it again",
        "load it with the version of caps-tsad that wrote it",
    )


def truncate(folder: Path) -> None:
    path = folder / "expert-0.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def flip(folder: Path) -> None:
    path = folder / "router.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def lose(folder: Path) -> None:
    (folder / "representation.safetensors").unlink()


def foreign(folder: Path) -> None:
    shutil.rmtree(folder)
    write_folder(folder, kind="caps pairs", version=1, facts={}, arrays={})


def newer(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"version": 2}))


def garbage(folder: Path) -> None:
    (folder / MANIFEST).write_bytes(b"\x00\xff\x00")


def empty(folder: Path) -> None:
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("damage", "problem", "remedy"),
    [
        (truncate, "truncated or edited", "restore the file"),
        (flip, "truncated or edited", "restore the file"),
        (lose, "missing", "write the folder again"),
        (foreign, "holds 'caps pairs'", "name a caps.pretrained folder"),
        (newer, "format version 2", "upgrade caps-tsad"),
        (garbage, "not valid JSON", "write the folder again"),
        (empty, "has no manifest.json", "name a folder written by CAPS"),
    ],
)
def test_damaged_foreign_and_newer_folders_are_refused_with_a_remedy(
    tiny_run: FinishedRun,
    tmp_path: Path,
    damage: Callable[[Path], None],
    problem: str,
    remedy: str,
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(tiny_run.folder, folder)
    damage(folder)
    with pytest.raises(ArtifactError) as caught:
        Pretrained.load(folder)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_a_folder_of_an_older_format_is_saved_in_the_current_one(
    tiny_run: FinishedRun, tmp_path: Path
) -> None:
    loaded = Pretrained.load(tiny_run.folder)
    loaded.facts["version"] = 0  # as read from a folder of format 0
    loaded.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / MANIFEST).read_text())["version"] == 1
