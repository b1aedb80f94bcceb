"""Kinds are named by numpy: the same associations as the networks give."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from caps.errors import ArtifactError
from caps.realize import KindRouter, Pretrained, kind_router, weights_facts
from caps.represent import Representation, RepresentConfig
from caps.represent.forward import Codes
from caps.training import seeded
from untrained_weights import save_untrained_weights

SIZES = {
    "strides": RepresentConfig(hidden=(16, 16, 32), strides=(4, 2, 1), window=64),
    "full length": RepresentConfig(
        hidden=(16, 24, 32), window=40, kernels=(3, 5), dilations=(2, 1)
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "untrained"
    save_untrained_weights(path, accuracy=0.8)
    return path


def asked(window: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    windows = 3 * rng.standard_normal((5, window)).astype(np.float32)
    return windows, (rng.random((5, window)) < 0.2).astype(np.float32)


@pytest.mark.parametrize("config", SIZES.values(), ids=SIZES)
def test_codes_are_those_of_the_networks(config: RepresentConfig) -> None:
    with seeded(0, "codes"), torch.no_grad():
        network = Representation(config)
        network.train()
        for _ in range(3):  # statistics of their own for the norms
            network.encode(2 + 3 * torch.randn(16, config.window))
        network.eval()
    windows, support = asked(config.window)
    with torch.no_grad():
        wanted = network.encode(torch.from_numpy(windows), torch.from_numpy(support))
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    for found, code in zip(Codes(config, weights).of(windows, support), wanted, strict=True):
        np.testing.assert_allclose(found, code.numpy(), atol=1e-4, rtol=1e-4)


def test_associations_are_those_of_the_weights(folder: Path) -> None:
    pretrained = Pretrained.load(folder)
    router = kind_router(folder)
    windows, support = asked(router.window)
    wanted = pretrained.associate(torch.from_numpy(windows), torch.from_numpy(support))
    for each in (router, pretrained.kind_router):
        np.testing.assert_allclose(each.associate(windows, support), wanted, atol=1e-5)
        assert each.modes == tuple(mode.name for mode in pretrained.modes)
        assert each.digests == pretrained.facts["sha256"]


def test_a_manifest_tells_what_the_weights_tell(folder: Path) -> None:
    facts = weights_facts(folder)
    assert facts == Pretrained.load(folder).model_facts
    assert facts["kind_accuracy"] == 0.8


def test_without_shipped_weights_no_kind_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caps.realize.manifest.SHIPPED", tmp_path / "none")
    assert weights_facts(None) == {}
    with pytest.raises(ArtifactError, match="no pretrained weights"):
        kind_router(None)


def test_a_router_that_does_not_fit_its_manifest_is_refused(folder: Path, tmp_path: Path) -> None:
    pretrained = Pretrained.load(folder)
    replace(pretrained, modes=pretrained.modes[:2]).save(tmp_path / "two")
    with pytest.raises(ArtifactError, match="pretrain it again"):
        KindRouter.load(tmp_path / "two")
