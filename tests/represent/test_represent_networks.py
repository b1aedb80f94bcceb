"""Shapes, the support's part in decoding, the location features and the standardised code."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from caps.errors import InputError
from caps.realize import preset_named
from caps.represent import LocationEmbedding, Representation, RepresentConfig
from caps.represent.networks import MultiScaleExtractor, location_features
from caps.training import seeded

CONFIGS = {name: preset_named(name).represent for name in ("tiny", "cpu", "paper")}
TINY = CONFIGS["tiny"]


def representation(config: RepresentConfig = TINY) -> Representation:
    with seeded(0, "representation"):
        return Representation(config).eval()


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def block(count: int, window: int, first: int, last: int) -> Tensor:
    support = torch.zeros(count, window)
    support[:, first:last] = 1
    return support


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_codes_and_decoders_have_the_sizes_of_the_configuration(config: RepresentConfig) -> None:
    model, x = representation(config), drawn(2, 256)
    support = block(2, 256, 40, 90)
    with torch.no_grad():
        h = model.encoder(x)
        z_s, z_a = model.encode(x)
        assert h.shape == (2, config.hidden[-1], 256 // config.downsampling)
        assert z_s.shape == (2, 128)
        assert z_a.shape == (2, 48)
        assert model.base(z_s).shape == (2, 256)
        assert model.decode(z_s, z_a, support).shape == (2, 256)


def test_the_default_configuration_is_the_table_of_the_paper() -> None:
    model = representation(RepresentConfig())
    branches = model.encoder.extractor.branches
    assert [branch.kernel_size for branch in branches] == [(3,), (5,), (7,), (9,)]
    assert [branch.dilation for branch in branches] == [(1,), (2,), (3,), (4,)]
    assert [block.enter.out_channels for block in model.encoder.blocks] == [64, 128, 256]
    assert {block.dropout.p for block in model.encoder.blocks} == {0.1}
    assert model.encoder(drawn(1, 256)).shape[-1] == 256, "the paper's encoder keeps full length"
    assert model.base.mix[1].in_channels == 256
    assert model.residual.write.in_channels == 192
    assert model.residual.locate.embed.out_channels == 64


def test_each_branch_of_the_extractor_sees_as_far_as_its_kernel_and_dilation_say() -> None:
    with seeded(0, "extractor"):
        extractor = MultiScaleExtractor(RepresentConfig())
    x = torch.zeros(1, 1, 101, requires_grad=True)
    for branch, reach in zip(extractor.branches, (1, 4, 9, 16), strict=True):
        (slope,) = torch.autograd.grad(branch(x)[0, :, 50].sum(), x)
        seen = slope[0, 0].nonzero().flatten()
        assert (seen.min(), seen.max()) == (50 - reach, 50 + reach)


@pytest.mark.parametrize("config", [TINY, RepresentConfig()], ids=["tiny", "paper"])
def test_the_decoded_effect_is_exactly_zero_outside_the_support(config: RepresentConfig) -> None:
    model = representation(config)
    z_s, z_a = drawn(4, 128), drawn(4, 48, seed=1)
    support = (drawn(4, 256, seed=2) > 0).float()
    support[0] = 0
    with torch.no_grad():
        effect = model.residual(z_s, z_a, support, model.base(z_s))
        decoded = model.decode(z_s, z_a, support)
        base = model.base(z_s)
    assert torch.count_nonzero(effect[support == 0]) == 0
    assert torch.count_nonzero(effect[support == 1]) > 0.99 * support.sum()
    assert torch.equal(decoded[support == 0], base[support == 0])


@pytest.mark.parametrize("changed", ["z_s", "z_a", "support"])
def test_the_decoded_effect_depends_on_structure_semantics_and_position(changed: str) -> None:
    model = representation()
    given = {"z_s": drawn(1, 128), "z_a": drawn(1, 48), "support": block(1, 256, 100, 140)}
    other = {
        "z_s": drawn(1, 128, seed=1),
        "z_a": drawn(1, 48, seed=1),
        "support": block(1, 256, 96, 144),
    }

    def effect(z_s: Tensor, z_a: Tensor, support: Tensor) -> Tensor:
        return model.residual(z_s, z_a, support, model.base(z_s))[:, 100:140]

    with torch.no_grad():
        difference = effect(**given) - effect(**given | {changed: other[changed]})
    assert difference.abs().max() > 1e-4


def naive_location_features(support: list[list[int]]) -> np.ndarray:
    """Walk from every step to the nearest change on its left and on its right."""
    found = np.zeros((len(support), 4, len(support[0])))
    for i, row in enumerate(support):
        for t, here in enumerate(row):
            since = 1
            while t - since >= 0 and row[t - since] == here:
                since += 1
            until = 1
            while t + until < len(row) and row[t + until] == here:
                until += 1
            sign = 1 if here else -1
            found[i, :, t] = (
                here,
                math.tanh(sign * since / 16),
                math.tanh(sign * until / 16),
                -1 + 2 * t / (len(row) - 1),
            )
    return found


def test_location_features_equal_a_walk_to_the_nearest_edges() -> None:
    rng = np.random.default_rng(0)
    support = np.repeat(rng.integers(0, 2, size=(6, 12)), 5, axis=1)
    support[0], support[1] = 0, 1
    support[2, 7] = 1 - support[2, 7]
    found = location_features(torch.from_numpy(support).float())
    np.testing.assert_allclose(found.numpy(), naive_location_features(support.tolist()), atol=1e-6)


@pytest.mark.parametrize("patch", [1, 8])
def test_the_location_embedding_has_one_vector_for_each_patch(patch: int) -> None:
    with seeded(0, "location"):
        embed = LocationEmbedding(24, patch)
    here, there = embed(block(1, 256, 64, 96)), embed(block(1, 256, 128, 160))
    assert here.shape == (1, 24, 256 // patch)
    assert not torch.allclose(here, there)


def test_structure_codes_of_a_training_batch_have_mean_zero_and_variance_one() -> None:
    model = representation().train()
    z_s, _ = model.encode(5 + 3 * drawn(200, 256))
    torch.testing.assert_close(z_s.mean(0), torch.zeros(128), atol=1e-5, rtol=0)
    torch.testing.assert_close(z_s.var(0, unbiased=False), torch.ones(128), atol=0.02, rtol=0)


def test_the_structure_code_has_no_scale_that_training_could_shrink() -> None:
    head = representation().structure_head
    assert [*head.standardise.parameters()] == []


def test_outside_training_the_code_of_a_window_does_not_depend_on_the_batch() -> None:
    model, x = representation(), drawn(5, 256)
    with torch.no_grad():
        together, alone = model.encode(x), model.encode(x[2:3])
    for several, one in zip(together, alone, strict=True):
        torch.testing.assert_close(several[2:3], one, atol=1e-5, rtol=1e-5)


def test_the_support_guides_the_semantic_code_and_never_the_structure_code() -> None:
    model, x = representation(), drawn(3, 256)
    with torch.no_grad():
        z_s, z_a = model.encode(x, block(3, 256, 40, 90))
        other_s, other_a = model.encode(x, block(3, 256, 120, 170))
        whole, plain = model.encode(x, torch.ones(3, 256)), model.encode(x)
    assert torch.equal(z_s, other_s)
    assert (z_a - other_a).abs().max() > 1e-4
    for given, default in zip(whole, plain, strict=True):
        assert torch.equal(given, default), "without a support, the whole window is meant"


def test_the_semantic_head_starts_out_looking_at_the_support() -> None:
    head, support = representation().semantic_head, block(2, 256, 128, 192)
    h = drawn(2, 24, 32)  # features of 32 positions of 8 steps each
    inside, outside = h.clone(), h.clone()
    inside[:, :, 18:20] += 1
    outside[:, :, 2:4] += 1
    with torch.no_grad():
        z_a, by_inside, by_outside = (head(x, support) for x in (h, inside, outside))
    assert (by_inside - z_a).norm() > 4 * (by_outside - z_a).norm()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dilations": (1, 2, 3)}, "one for each branch"),
        ({"hidden": (66, 128, 256)}, "multiple of the number of kernels"),
        ({"patch": 7}, "divide the window"),
        ({"strides": (3, 1, 1)}, "divide the window"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_with_a_remedy(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RepresentConfig(**changes)
