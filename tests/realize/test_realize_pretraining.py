"""A tiny pretraining run from simulation to a folder, in one sitting or in several."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from finished_run import SEED, FinishedRun

from caps.artifacts import MANIFEST, read_manifest
from caps.errors import InputError
from caps.realize import Pretrained, preset_named
from caps.realize.checks import realization_checks, sampler_table
from caps.realize.presets import resized
from caps.realize.pretrain import Pretraining
from caps.realize.samplers import Sampler
from caps.realize.source import encode_source, mode_sources, organise
from caps.represent import RepresentConfig
from caps.simulate import FAMILIES, PairBatch, load_pairs

TINY = preset_named("tiny")
SHORT = resized(TINY, pairs=48, steps=2)
STAGES = ["representation", *(f"expert-{family}" for family in FAMILIES), "router"]


def hashes(folder: Path) -> dict[str, str]:
    manifest = read_manifest(folder, kind="caps.pretrained", version=1)
    return dict(manifest["sha256"])


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [float(value)]


def test_a_run_trains_every_stage_and_notes_how(tiny_run: FinishedRun) -> None:
    facts = Pretrained.load(tiny_run.folder).facts
    assert list(facts["stages"]) == STAGES
    for name, stage in facts["stages"].items():
        schedule = {"representation": TINY.representation, "router": TINY.router}
        steps = schedule.get(name, TINY.expert).steps
        assert stage["steps"] == steps
        assert stage["curves"]["step"] == list(range(1, steps + 1))
        assert all(math.isfinite(value) for value in stage["curves"]["loss"])
    assert facts["seed"] == SEED
    assert facts["versions"]["torch"] == torch.__version__
    checks = facts["checks"]
    assert list(checks["realization"]) == [*FAMILIES, "router"]
    assert all(math.isfinite(value) for value in numbers(checks))
    assert np.sum(checks["realization"]["router"]["confusion"]) == 240


def test_a_run_keeps_its_pairs_and_checkpoints_beside_the_result(tiny_run: FinishedRun) -> None:
    assert tiny_run.work == tiny_run.folder.with_name("tiny-work")
    pairs = load_pairs(tiny_run.work / "pairs")
    assert np.bincount(pairs.family).tolist() == [128, 128, 128]
    for name in STAGES:
        (checkpoint,) = (tiny_run.work / name).iterdir()
        assert checkpoint.name.startswith("step-")
    assert "simulating 384 pairs" in tiny_run.said


def test_the_modes_are_fitted_to_the_pairs_of_their_family(tiny_run: FinishedRun) -> None:
    pairs = load_pairs(tiny_run.work / "pairs")
    returned = tiny_run.returned
    source = encode_source(returned.representation, pairs)
    torch.testing.assert_close(source.code_scale.mean, returned.code_scale.mean)
    for k, mode in enumerate(returned.modes):
        rows = pairs.family == k
        assert mode.name == FAMILIES[k]
        codes = source.semantic_code[torch.from_numpy(rows)].numpy()
        np.testing.assert_allclose(mode.prior.mean, codes.mean(axis=0), atol=1e-4)
        inside = pairs.residual[rows][pairs.support[rows]]
        assert mode.scale == pytest.approx(np.sqrt(np.mean(inside**2)), rel=1e-4)
        seen = {row.tobytes() for row in pairs.support[rows]}
        assert len(mode.pool.supports) == TINY.mask_pool
        assert {row.tobytes() for row in mode.pool.supports} <= seen


def test_batches_of_an_expert_hold_scaled_residuals_of_its_mode_only(tiny_run: FinishedRun) -> None:
    pairs = load_pairs(tiny_run.work / "pairs")
    source = encode_source(tiny_run.returned.representation, pairs)
    modes = organise(pairs.family, source.semantic_code.numpy(), 0, seed=0)
    fitted = mode_sources(source, modes, pool=8, seed=0)
    for k, mode in enumerate(fitted):
        residual = mode.batches("diffusion")(64, np.random.default_rng(0))
        sequence = mode.batches("sequence")(64, np.random.default_rng(0))
        own = (pairs.residual[pairs.family == k] / mode.scale).clip(-5, 5)
        for row in residual["clean"].numpy():
            assert np.abs(own - row).max(axis=1).min() < 1e-5
        outside = residual["support"] == 0
        assert torch.count_nonzero(residual["clean"][outside]) == 0
        assert torch.count_nonzero(residual["background"]) == 0
        assert torch.equal(sequence["clean"][outside], sequence["background"][outside])
        assert not torch.equal(sequence["clean"], sequence["background"])


@pytest.mark.slow
def test_several_sittings_end_in_the_same_bits_as_one(
    tiny_run: FinishedRun, tmp_path: Path, few_checks: None
) -> None:
    settings: dict[str, Any] = {"preset": TINY, "folder": tmp_path / "tiny", "seed": SEED}
    assert Pretraining(**settings, workers=1, minutes=0).result() is None
    assert Pretraining(**settings, workers=1, minutes=0.01, resume=True).result() is None
    assert not (tmp_path / "tiny").exists()
    assert Pretraining(**settings, workers=1, resume=True).result() is not None
    assert hashes(tmp_path / "tiny") == hashes(tiny_run.folder)


@pytest.mark.slow
def test_another_seed_gives_other_weights_and_the_number_of_workers_changes_nothing(
    tmp_path: Path, few_checks: None
) -> None:
    found = {}
    for seed, workers in ((0, 1), (0, 2), (1, 1)):
        folder = tmp_path / f"{seed}-{workers}"
        Pretraining(SHORT, folder, seed=seed, workers=workers).result()
        found[seed, workers] = hashes(folder)
    assert found[0, 1] == found[0, 2]
    assert all(found[0, 1][group] != found[1, 1][group] for group in found[0, 1])


def test_a_finished_run_is_not_overwritten_without_resume(tiny_run: FinishedRun) -> None:
    before = hashes(tiny_run.folder)
    with pytest.raises(InputError, match="another folder or --resume"):
        Pretraining(TINY, tiny_run.folder, seed=SEED).result()
    assert hashes(tiny_run.folder) == before


@pytest.mark.parametrize("change", ["seed", "pairs", "objective", "prediction"])
def test_a_run_is_not_resumed_with_other_settings(tiny_run: FinishedRun, change: str) -> None:
    changed = {
        "seed": TINY,
        "pairs": replace(TINY, pairs=390),
        "objective": replace(TINY, objective=replace(TINY.objective, recombination=0.0)),
        "prediction": replace(TINY, realize=replace(TINY.realize, prediction="noise")),
    }
    seed = SEED + 1 if change == "seed" else SEED
    before = hashes(tiny_run.folder)
    with pytest.raises(InputError, match="other settings"):
        Pretraining(changed[change], tiny_run.folder, seed=seed, resume=True).result()
    assert hashes(tiny_run.folder) == before


def test_a_run_in_progress_is_left_alone_by_one_that_does_not_resume_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    unfinished = replace(SHORT, representation=replace(SHORT.representation, steps=100_000))
    assert Pretraining(unfinished, folder, workers=1, minutes=0.01).result() is None
    work = folder.with_name("run-work")
    before = {path.name: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    assert any((work / "representation").iterdir())
    with pytest.raises(InputError):
        Pretraining(unfinished, folder, seed=1, workers=1, minutes=0.01).result()
    after = {path.name: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    assert after == before


def test_checks_on_unseen_pairs_compare_drawn_with_real_residuals(
    pretrained: Pretrained, unseen: PairBatch
) -> None:
    figures = realization_checks(pretrained, unseen)
    assert figures == realization_checks(pretrained, unseen)
    for family in FAMILIES:
        assert figures[family]["real codes: rms ratio"] > 0
    table = sampler_table(pretrained, unseen, [Sampler("ddim", 2), Sampler("dpm++", 3)], rows=4)
    assert [(row["sampler"], row["steps"], row["mode"]) for row in table] == [
        (method, steps, family)
        for method, steps in (("ddim", 2), ("dpm++", 3))
        for family in FAMILIES
    ]


@pytest.mark.slow
def test_the_paper_preset_runs_from_simulation_to_a_counterpart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The checks draw a thousand residuals by 200 steps each: hours on a CPU.
    for name in ("representation_checks", "realization_checks"):
        monkeypatch.setattr(f"caps.realize.pretrain.{name}", lambda *_: {})
    preset = resized(preset_named("paper"), pairs=12, steps=1)
    assert preset.represent == RepresentConfig()
    assert (preset.representation.batch, preset.expert.batch) == (32, 32)
    assert Pretraining(preset, tmp_path / "paper", workers=1).result() is not None
    pretrained = Pretrained.load(tmp_path / "paper")
    reference = torch.from_numpy(load_pairs(tmp_path / "paper-work" / "pairs").normal[:1])
    z_s, z_a = pretrained.encode(reference)
    assert (z_s.shape, z_a.shape) == ((1, 128), (1, 48))
    assert pretrained.preset.sampler == Sampler("ddpm", 200)
    made, support = pretrained.counterparts(
        pretrained.modes[0], reference, z_s, np.random.default_rng(0)
    )
    assert made.isfinite().all()
    assert torch.equal(made[support == 0], reference[support == 0])


def test_settings_of_a_run_are_readable(tiny_run: FinishedRun) -> None:
    settings = json.loads((tiny_run.work / "settings.json").read_text())
    assert settings["seed"] == SEED
    assert settings["preset"]["pairs"] == TINY.pairs
    assert (tiny_run.folder / MANIFEST).exists()
