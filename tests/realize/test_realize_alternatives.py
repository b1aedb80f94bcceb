"""What the paper compares with: the VAE, direct injection and whole sequences."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.realize import Preset, Pretrained, draw_source_residuals, preset_named
from caps.realize.experts import ResidualVae, VaeStage
from caps.realize.presets import resized
from caps.realize.pretrain import Pretraining
from caps.realize.unet import Condition
from caps.simulate import FAMILIES, simulate_pairs
from caps.training import Schedule, seeded, train

TINY = preset_named("tiny")


def tiny_vae() -> ResidualVae:
    with seeded(0, "vae"):
        return ResidualVae(TINY.represent)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def condition(rows: int) -> Condition:
    support = torch.zeros(rows, 256)
    support[:, 96:160] = 1
    return Condition(
        drawn(rows, 128), drawn(rows, 48), support, drawn(rows, 256), torch.zeros(rows)
    )


def test_vae_samples_are_zero_outside_the_support_and_follow_their_generator() -> None:
    vae, given = tiny_vae(), condition(4)
    first, again, other = (
        vae.sample(given, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert first.shape == (4, 256)
    assert torch.count_nonzero(first[given.support == 0]) == 0
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_training_the_vae_reduces_its_error() -> None:
    pairs = simulate_pairs(48, seed=0, families=["trend"])
    stage = VaeStage(tiny_vae())

    def batches(count: int, rng: np.random.Generator) -> dict[str, Tensor]:
        rows = rng.integers(len(pairs), size=count)
        return {
            "clean": torch.from_numpy(pairs.residual[rows]).clamp(-5, 5),
            "support": torch.from_numpy(pairs.support[rows]).float(),
            "structure": torch.from_numpy(pairs.normal[rows]),
            "structure_code": torch.from_numpy(pairs.normal[rows, ::2]),
            "semantic_code": torch.zeros(count, 48),
        }

    schedule = Schedule(steps=60, batch=16, learning_rate=5e-3)
    curves = train(stage, batches, schedule, seed=0, name="vae").curves
    assert np.mean(curves["error"][-5:]) < 0.7 * np.mean(curves["error"][:5])
    expected = np.add(curves["error"], np.multiply(stage.divergence_weight, curves["divergence"]))
    np.testing.assert_allclose(curves["loss"], expected, rtol=1e-4)
    assert min(curves["divergence"]) >= 0


def test_the_divergence_is_zero_for_a_posterior_equal_to_the_prior() -> None:
    stage = VaeStage(tiny_vae())
    torch.nn.init.zeros_(stage.vae.posterior.weight)
    torch.nn.init.zeros_(stage.vae.posterior.bias)
    given = condition(3)
    batch = {
        "clean": drawn(3, 256),
        "support": given.support,
        "structure": given.structure,
        "structure_code": given.structure_code,
        "semantic_code": given.semantic_code,
    }
    assert stage(batch)["divergence"].item() == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_source_residuals_are_those_of_simulated_pairs_of_one_family(family: str) -> None:
    residual, support = draw_source_residuals(family, 5, np.random.default_rng(0))
    assert residual.shape == support.shape == (5, 256)
    assert (residual[~support] == 0).all()
    assert (np.abs(residual).max(axis=1) > 0).all()
    again, _ = draw_source_residuals(family, 5, np.random.default_rng(0))
    other, _ = draw_source_residuals(family, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(again, residual)
    assert not np.array_equal(other, residual)


def with_mechanism(mechanism: str, **changes: object) -> Preset:
    short = resized(TINY, pairs=48, steps=2)
    return replace(short, realize=replace(short.realize, mechanism=mechanism, **changes))


@pytest.mark.parametrize("mechanism", ["vae", "sequence"])
def test_the_alternatives_run_from_simulation_to_counterparts(
    tmp_path: Path, few_checks: None, mechanism: str
) -> None:
    run = Pretraining(with_mechanism(mechanism), tmp_path / "run", workers=1)
    assert run.result() is not None
    pretrained = Pretrained.load(tmp_path / "run")
    assert pretrained.preset.realize.mechanism == mechanism
    references = torch.from_numpy(simulate_pairs(6, seed=9).normal)
    z_s, _ = pretrained.encode(references)
    for mode in pretrained.modes:
        counterparts, support = pretrained.counterparts(
            mode, references, z_s, np.random.default_rng(0)
        )
        assert counterparts.shape == references.shape
        assert counterparts.isfinite().all()
        untouched = torch.equal(counterparts[support == 0], references[support == 0])
        assert untouched == (mechanism == "vae"), "a whole sequence is generated anew"


@pytest.mark.parametrize(("clusters", "prior"), [(1, "full"), (5, "student")])
def test_kmeans_modes_and_other_priors_run_from_simulation_to_counterparts(
    tmp_path: Path, few_checks: None, clusters: int, prior: str
) -> None:
    preset = with_mechanism("diffusion", clusters=clusters, prior=prior)
    run = Pretraining(replace(preset, pairs=192), tmp_path / "run", workers=1)
    assert run.result() is not None
    pretrained = Pretrained.load(tmp_path / "run")
    assert len(pretrained.modes) == clusters
    assert {mode.prior.kind for mode in pretrained.modes} == {prior}
    assert np.shape(pretrained.facts["checks"]["realization"]["router"]["confusion"]) == (
        clusters,
        clusters,
    )
    pairs = simulate_pairs(30, seed=9)
    _, z_a = pretrained.encode(torch.from_numpy(pairs.anomalous))
    assigned = pretrained.assign(pairs.family, z_a)
    centres = np.stack([mode.prior.mean for mode in pretrained.modes])
    for code, k in zip(z_a.numpy(), assigned, strict=True):
        assert k == np.argmin([np.linalg.norm(code - centre) for centre in centres])
