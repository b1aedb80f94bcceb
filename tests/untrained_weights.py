"""Weights of the tiny preset that were never trained: made in a moment, good enough for plumbing.

With the construction "injection" a detector learns from rules and does find things.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caps.estimator import CAPS
from caps.network.config import DetectorConfig
from caps.realize import MaskPool, Mode, Pretrained, Prior, preset_named
from caps.realize.experts import CodeScale, Denoiser
from caps.realize.modes import Router
from caps.represent import Representation
from caps.scoring import FitOptions
from caps.training import seeded

FAST = DetectorConfig(width=16, members=1, steps=120, learning_rate=4e-3, dilations=(1, 4, 16))
fast_config = partial(DetectorConfig, **FAST.to_dict() | {"dilations": FAST.dilations})


def save_untrained_weights(folder: Path, *, accuracy: float = 0.9) -> Pretrained:
    """Save untrained weights that claim an accuracy of the router, and load them again."""
    preset = preset_named("tiny")
    window, codes = preset.represent.window, preset.represent.semantic
    rng = np.random.default_rng(0)
    with seeded(0, "untrained"), torch.no_grad():
        representation = Representation(preset.represent).eval()
        router = Router(preset.represent.structure, codes, 3, preset.realize.router_hidden).eval()
        experts = [Denoiser(preset.realize, preset.represent).eval() for _ in range(3)]
    modes = []
    for name, expert, length in zip(
        ("point", "periodic", "trend"), experts, (2, 40, 80), strict=True
    ):
        supports = np.zeros((8, window), dtype=bool)
        for row, start in enumerate(rng.integers(1, window - length - 1, 8)):
            supports[row, start : start + length] = True
        prior = Prior("diagonal", np.zeros(codes), np.eye(codes))
        modes.append(Mode(name, prior, MaskPool(supports), expert, 1.0))
    Pretrained(
        preset=preset,
        representation=representation,
        code_scale=CodeScale(mean=torch.zeros(codes), spread=torch.ones(codes)),
        modes=tuple(modes),
        router=router,
        facts={"checks": {"realization": {"router": {"accuracy": accuracy}}}},
    ).save(folder)
    return Pretrained.load(folder)


def small_model(weights: Pretrained, **options: Any) -> CAPS:
    """Of several channels, with all that a saved or exported model can have."""
    return CAPS(
        train=600,
        alarms="1/500",
        pretrained=weights,
        detector=FAST,
        construction="injection",
        references=32,
        aggregate="top5",
        **options,
    )


def hurry(patch: pytest.MonkeyPatch, detector: DetectorConfig = FAST, references: int = 32) -> None:
    """Let every fit that leaves the detector to CAPS train this one, on few windows."""

    def hurried(**given: Any) -> FitOptions:
        if given["detector"] == "auto":
            given |= {"detector": detector, "references": references}
        return FitOptions(**given)

    patch.setattr("caps.estimator.FitOptions", hurried)


def noisy_wave(length: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 5 + 2 * np.sin(np.arange(length) / 8) + 0.15 * rng.standard_normal(length)
