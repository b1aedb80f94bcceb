"""The figures of the representation on cases whose answer is known by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.realize import preset_named
from caps.represent import Representation, decode_structure, encode_all, representation_checks
from caps.simulate import FAMILIES, PairBatch, simulate_pairs
from caps.training import seeded

COUNT, HALF = 120, 128


def mirrored_pairs() -> PairBatch:
    """The second half of a window repeats the first; an effect is one step of height 2 in it.

    No two pairs have their step at one position, so that another pair's effect is always wrong.
    """
    rng = np.random.default_rng(0)
    pairs = simulate_pairs(COUNT, seed=0)
    half = rng.standard_normal((COUNT, HALF)).astype(np.float32)
    normal = np.concatenate([half, half], axis=1)
    support = np.zeros((COUNT, 2 * HALF), dtype=bool)
    support[:, HALF:] = True
    anomalous = normal.copy()
    # By family: point 0 to 39, periodic 40 to 79, trend 80 to 119.
    offset = np.empty(COUNT, dtype=np.int64)
    offset[np.argsort(pairs.family, kind="stable")] = np.arange(COUNT)
    anomalous[np.arange(COUNT), HALF + offset] += 2
    return replace(pairs, normal=normal, anomalous=anomalous, support=support)


class Mirror:
    """A representation that is right about mirrored pairs; `gain` scales its residuals."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def eval(self) -> None:
        pass

    def encode(self, x: Tensor, support: Tensor) -> tuple[Tensor, Tensor]:
        return x[:, :HALF], (x[:, HALF:] - x[:, :HALF]).round()

    def base(self, z_s: Tensor) -> Tensor:
        return torch.cat([z_s, z_s], dim=1)

    def residual(self, z_s: Tensor, z_a: Tensor, support: Tensor, structure: Tensor) -> Tensor:
        assert torch.equal(structure, self.base(z_s))
        return self.gain * torch.cat([torch.zeros_like(z_s), z_a], dim=1) * support


@pytest.fixture(scope="module")
def pairs() -> PairBatch:
    return mirrored_pairs()


def test_a_perfect_representation_explains_everything(pairs: PairBatch) -> None:
    figures = representation_checks(Mirror(), pairs)
    assert figures["base explains of the normals' variance"] == 1
    assert figures["base explains of the variance inside windows"] == 1
    for family in (*FAMILIES, "mean"):
        assert figures[f"res explains of {family} energy"] == pytest.approx(1)
        assert figures[f"Dec explains of {family} energy"] == pytest.approx(1)


def test_half_an_effect_explains_three_quarters_of_its_energy(pairs: PairBatch) -> None:
    figures = representation_checks(Mirror(gain=0.5), pairs)
    for family in (*FAMILIES, "mean"):
        assert figures[f"res explains of {family} energy"] == pytest.approx(0.75)
        assert figures[f"Dec explains of {family} energy"] == pytest.approx(0.75)
    assert representation_checks(Mirror(gain=0), pairs)["res explains of mean energy"] == 0


def test_shuffling_gives_every_pair_the_code_of_another_pair_of_its_family(
    pairs: PairBatch,
) -> None:
    for seed in range(4):
        figures = representation_checks(Mirror(), pairs, seed=seed)
        for family in FAMILIES:
            # A wrong step costs its own energy and that of the missed one: 1 - 2 = -1.
            assert figures[f"res with shuffled z_a, {family}"] == pytest.approx(-1)


def test_probes_find_what_is_in_a_code_and_nothing_in_equal_codes(pairs: PairBatch) -> None:
    figures = representation_checks(Mirror(), pairs)
    assert figures["probe: anomalous from z_s"] == 0.5, "both members have the same z_s"
    stepped = replace(pairs, anomalous=pairs.normal.copy())
    stepped.anomalous[:, HALF:] += 2 + 2 * pairs.family[:, None]
    figures = representation_checks(Mirror(), stepped)
    assert figures["probe: anomalous from z_a"] == 1
    assert figures["probe: family from z_a"] == 1


def test_the_same_seed_gives_the_same_figures_and_batches_do_not_matter(pairs: PairBatch) -> None:
    with seeded(0, "representation"):
        model = Representation(preset_named("tiny").represent)
    assert representation_checks(model, pairs, seed=1) == representation_checks(
        model, pairs, seed=1
    )
    assert not model.training
    many = np.tile(pairs.normal, (6, 1))  # more rows than one forward pass takes
    supports = np.tile(pairs.support, (6, 1))
    z_s, z_a = encode_all(model, many, supports)
    whole_s, whole_a = model.encode(torch.from_numpy(many), torch.from_numpy(supports).float())
    torch.testing.assert_close(z_s, whole_s, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(z_a, whole_a, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(decode_structure(model, z_s), model.base(z_s), atol=1e-5, rtol=1e-4)
    assert not z_s.requires_grad
