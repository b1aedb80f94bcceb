"""Training of the detector on recovered pairs: (x, 0) and (x + r^, m) with equal weight."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from caps.errors import InputError
from caps.jobs import one_thread
from caps.network.config import DetectorConfig
from caps.network.detector import Detector
from caps.training import Batches, Progress, Schedule, seeded, train

if TYPE_CHECKING:
    from caps.recover import PairSet  # a saved detector scores without loading the generator


class DetectorLoss(nn.Module):
    """Averaged point-wise binary cross-entropy: the mean of each branch, then their mean."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        # reference, counterpart, support and trusted (batch, time)
        # Together, because one pass over twice the windows is cheaper than two passes.
        logits = self.network(torch.cat([batch["reference"], batch["counterpart"]]))
        normal, anomalous = logits.chunk(2)
        support, trusted = batch["support"], batch["trusted"]
        reference = _cross_entropy(normal, torch.zeros_like(support), trusted)
        generated = _cross_entropy(anomalous, support, trusted)
        loss = (reference + generated) / 2
        return {"loss": loss, "reference": reference, "generated": generated}


def _cross_entropy(logits: Tensor, label: Tensor, trusted: Tensor) -> Tensor:
    """Mean over the trusted points."""
    entropy = nn.functional.binary_cross_entropy_with_logits(logits, label, reduction="none")
    return (entropy * trusted).sum() / trusted.sum().clamp(min=1)


def train_detector(
    pairs: "PairSet",
    config: DetectorConfig | None = None,
    seed: int = 0,
    *,
    progress: Progress | None = None,
) -> Detector:
    """Train every member on the same pairs, each from its own seed; the result is ready to score.

    A step takes `config.batch` windows: counterparts drawn at random, and the reference of each.
    """
    config = config or DetectorConfig()
    _check(pairs, config)
    schedule = Schedule(
        steps=_steps(len(pairs.counterpart), config),
        batch=config.batch // 2,
        learning_rate=config.learning_rate,
    )
    with seeded(seed, "detector"):
        detector = Detector(config)
    with one_thread():
        for number, network in enumerate(detector.members):
            train(
                DetectorLoss(network),
                _batches(pairs),
                schedule,
                seed=seed,
                name=f"detector-{number}",
                progress=progress,
            )
    return detector.eval().requires_grad_(False)


def _steps(pairs: int, config: DetectorConfig) -> int:
    if config.epochs is None:
        return config.steps
    return config.epochs * -(-pairs // (config.batch // 2))


def _batches(pairs: "PairSet") -> Batches:
    reference, counterpart, support, trusted = (
        torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
        for array in (pairs.reference, pairs.counterpart, pairs.support, pairs.trusted)
    )

    def batch(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        drawn = generator.integers(len(counterpart), size=size)
        anchor = pairs.anchor[drawn]
        return {
            "reference": reference[anchor],
            "counterpart": counterpart[drawn],
            "support": support[drawn],
            "trusted": trusted[anchor],
        }

    return batch


def _check(pairs: "PairSet", config: DetectorConfig) -> None:
    if len(pairs.counterpart) == 0:
        raise InputError("there is no pair to learn from", "recover at least one counterpart")
    if pairs.counterpart.shape[1] != config.window:
        raise InputError(
            f"pairs of {pairs.counterpart.shape[1]} steps for a detector of {config.window}",
            "give the detector the window of the pairs",
        )
    for name in ("reference", "counterpart"):
        if not np.isfinite(getattr(pairs, name)).all():
            raise InputError(f"a {name} holds values that are not finite", "bridge gaps first")
