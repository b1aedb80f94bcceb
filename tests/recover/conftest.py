"""Weights of the right shapes that were never trained: contracts hold whatever was learned."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from caps.realize import MaskPool, Mode, Pretrained, fit_prior, preset_named
from caps.realize.config import Mechanism
from caps.realize.experts import CodeScale, Denoiser, ResidualVae
from caps.realize.modes import Router
from caps.recover import References, reference_windows
from caps.represent import Representation
from caps.simulate import FAMILIES, simulate_pairs
from caps.training import seeded

Weights = Callable[[Mechanism], Pretrained]


def untrained(mechanism: Mechanism) -> Pretrained:
    preset = preset_named("tiny")
    preset = replace(preset, realize=replace(preset.realize, mechanism=mechanism))
    represent, realize = preset.represent, preset.realize
    source = simulate_pairs(60, seed=3)
    with seeded(1, mechanism) as rng:
        prior = fit_prior(rng.standard_normal((50, represent.semantic)))
        modes = []
        for k, name in enumerate(FAMILIES):
            vae = mechanism == "vae"
            expert = ResidualVae(represent) if vae else Denoiser(realize, represent)
            pool = MaskPool(source.support[source.family == k])
            modes.append(Mode(name, prior, pool, expert.eval(), 1.0))
        return Pretrained(
            preset,
            Representation(represent).eval(),
            CodeScale(torch.zeros(represent.semantic), torch.ones(represent.semantic)),
            tuple(modes),
            Router(represent.structure, represent.semantic, 3, realize.router_hidden).eval(),
        )


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    """Loads weights of a mechanism, made once."""
    folder = tmp_path_factory.mktemp("weights")

    def load(mechanism: Mechanism) -> Pretrained:
        if not (folder / mechanism).exists():
            untrained(mechanism).save(folder / mechanism)
        return Pretrained.load(folder / mechanism)

    return load


@pytest.fixture(scope="session")
def weights_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped") / "weights"
    untrained("diffusion").save(folder)
    return folder


@pytest.fixture(scope="session")
def pretrained(weights: Weights) -> Pretrained:
    return weights("diffusion")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture(scope="session")
def references() -> References:
    rng = np.random.default_rng(8)
    series = np.sin(np.arange(600) / 9) + 0.1 * rng.standard_normal(600)
    return reference_windows(series, limit=30, rng=rng)
