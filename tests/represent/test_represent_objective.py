"""The losses against loops over their equations, and what switching one off does."""

import math
from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.realize import preset_named
from caps.represent import Objective, Representation, RepresentationStage, masked_l1, masked_mse
from caps.represent.representation import (
    background,
    disentanglement,
    organisation,
    recombination,
    reconstruction,
)
from caps.simulate import PairBatch, simulate_pairs
from caps.training import Schedule, seeded, train

TINY = preset_named("tiny").represent
PARTS = [field.name for field in fields(Objective)]
EVERYTHING = dict.fromkeys(PARTS, 1.0)
NOTHING = dict.fromkeys(PARTS, 0.0)


@pytest.fixture(scope="module")
def pairs() -> PairBatch:
    return simulate_pairs(48, seed=3)


def batch_of(pairs: PairBatch, rows: slice | np.ndarray = slice(12)) -> dict[str, Tensor]:
    chosen = pairs[rows]
    return {
        "normal": torch.from_numpy(chosen.normal),
        "anomalous": torch.from_numpy(chosen.anomalous),
        "support": torch.from_numpy(chosen.support).float(),
        "family": torch.from_numpy(chosen.family).long(),
    }


def stage_with(**weights: float) -> RepresentationStage:
    with seeded(0, "representation"):
        return RepresentationStage(Representation(TINY), Objective(**weights))


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mean_square(u: Tensor, v: Tensor) -> float:
    total = count = 0.0
    for first, second in zip(u.flatten().tolist(), v.flatten().tolist(), strict=True):
        total += (first - second) ** 2
        count += 1
    return total / count


def masked_mean(u: Tensor, v: Tensor, q: Tensor, power: int) -> float:
    rows = []
    for first, second, mask in zip(u.tolist(), v.tolist(), q.tolist(), strict=True):
        terms = zip(first, second, mask, strict=True)
        total = sum(weight * abs(a - b) ** power for a, b, weight in terms)
        rows.append(total / (sum(mask) + 1e-6))
    return sum(rows) / len(rows)


def test_every_loss_equals_a_loop_over_its_equation() -> None:
    normal, anomalous, normal_hat, anomalous_hat = (drawn(3, 20, seed=i) for i in range(4))
    z_ns, z_as, z_na = drawn(3, 7, seed=4), drawn(3, 7, seed=5), drawn(3, 4, seed=6)
    support = (drawn(3, 20, seed=7) > 0).double()
    assert reconstruction(normal_hat, normal, anomalous_hat, anomalous).item() == pytest.approx(
        0.5 * (mean_square(normal_hat, normal) + mean_square(anomalous_hat, anomalous))
    )
    found = background(normal_hat, normal, anomalous_hat, anomalous, support)
    assert found.item() == pytest.approx(
        mean_square(normal_hat, normal) + masked_mean(anomalous_hat, anomalous, 1 - support, 1)
    )
    assert disentanglement(z_ns, z_as, z_na).item() == pytest.approx(
        mean_square(z_ns, z_as) + mean_square(z_na, torch.zeros_like(z_na))
    )
    assert recombination(anomalous_hat, anomalous).item() == pytest.approx(
        mean_square(anomalous_hat, anomalous)
    )


def test_the_organising_loss_equals_a_loop_over_log_likelihoods() -> None:
    logits, family = drawn(5, 3, seed=0), torch.tensor([0, 2, 1, 1, 0])
    total = 0.0
    for row, k in zip(logits.tolist(), family.tolist(), strict=True):
        total -= row[k] - math.log(sum(math.exp(value) for value in row))
    assert organisation(logits, family).item() == pytest.approx(total / 5)


def test_the_papers_objective_is_the_default_and_knows_no_families() -> None:
    assert Objective() == Objective(**EVERYTHING | {"organisation": 0.0})


@pytest.mark.parametrize(("loss", "power"), [(masked_l1, 1), (masked_mse, 2)])
def test_masked_means_count_only_what_the_mask_shows(loss: object, power: int) -> None:
    u, v, q = drawn(4, 30, seed=0), drawn(4, 30, seed=1), (drawn(4, 30, seed=2) > 0.5).double()
    assert loss(u, v, q).item() == pytest.approx(masked_mean(u, v, q, power))
    hidden = torch.where(q == 0, 1e6, u)
    assert loss(hidden, v, q).item() == pytest.approx(loss(u, v, q).item())
    assert loss(u, v, torch.zeros_like(q)).item() == 0


def test_the_stage_feeds_the_losses_what_the_equations_name(pairs: PairBatch) -> None:
    weights = dict(zip(PARTS, (2.0, 0.5, 3.0, 0.25, 1.5), strict=True))
    stage = stage_with(**weights).eval()
    batch = batch_of(pairs)
    model = stage.representation
    with torch.no_grad():
        losses = stage(batch)
        z_ns, z_na = model.encode(batch["normal"], batch["support"])
        z_as, z_a = model.encode(batch["anomalous"], batch["support"])
        expected = {
            "reconstruction": reconstruction(
                model.base(z_ns),
                batch["normal"],
                model.decode(z_as, z_a, batch["support"]),
                batch["anomalous"],
            ),
            "background": background(
                model.base(z_ns),
                batch["normal"],
                model.base(z_as),
                batch["anomalous"],
                batch["support"],
            ),
            "disentanglement": disentanglement(z_ns, z_as, z_na),
            "recombination": recombination(
                model.decode(z_ns, z_a, batch["support"]), batch["anomalous"]
            ),
            "organisation": organisation(stage.read_family(z_a), batch["family"]),
        }
    for name, value in expected.items():
        assert losses[name].item() == pytest.approx(value.item(), rel=1e-5), name
    total = sum(weights[name] * value.item() for name, value in expected.items())
    assert losses["loss"].item() == pytest.approx(total, rel=1e-5)


def gradient(stage: RepresentationStage, batch: dict[str, Tensor], name: str) -> Tensor:
    """The gradient of one named loss in all weights of the stage."""
    stage.zero_grad()
    with seeded(0, "dropout"):
        stage(batch)[name].backward()
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in stage.parameters()]
    )


@pytest.mark.parametrize("part", PARTS)
def test_a_part_with_weight_zero_leaves_no_trace_in_the_gradient(
    pairs: PairBatch, part: str
) -> None:
    batch = batch_of(pairs)
    of_part = gradient(stage_with(**EVERYTHING), batch, part)
    assert of_part.norm() > 0
    alone = gradient(stage_with(**NOTHING | {part: 1.0}), batch, "loss")
    torch.testing.assert_close(alone, of_part)
    without = gradient(stage_with(**EVERYTHING | {part: 0.0}), batch, "loss")
    complete = gradient(stage_with(**EVERYTHING), batch, "loss")
    torch.testing.assert_close(complete - without, of_part, rtol=1e-3, atol=1e-4)


def test_a_few_steps_reduce_every_reconstruction_loss(pairs: PairBatch) -> None:
    stage = stage_with(organisation=0.2)

    def batches(count: int, rng: np.random.Generator) -> dict[str, Tensor]:
        return batch_of(pairs, rng.integers(len(pairs), size=count))

    schedule = Schedule(steps=60, batch=16, learning_rate=4e-3)
    curves = train(stage, batches, schedule, seed=0, name="representation").curves
    for name in ("loss", "reconstruction", "background", "recombination"):
        first, last = np.mean(curves[name][:5]), np.mean(curves[name][-5:])
        assert last < 0.7 * first, name
