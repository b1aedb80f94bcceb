"""TCN references that classify points: from injected anomalies, or from the labels there are."""

from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caps.arrays import FloatArray
from caps.baselines.tcn import DetectorReference, checked_labels
from caps.errors import InputError
from caps.network import Detector, DetectorConfig, train_detector
from caps.recover import References, perturbed_pairs
from caps.training import Batches, Schedule, seeded, train

Treatment = Literal["plain", "weighted", "balanced", "focal"]

PAIRS = 1200  # counterparts of one channel: about CAPS's 384 references in three modes
FOCUS, POSITIVE_SHARE = 2.0, 0.25  # gamma and alpha of focal loss, as published


class TcnInjection(DetectorReference):
    """CAPS's detector, trained on rule-based perturbations instead of recovered counterparts."""

    def learn(self, references: References, column: int) -> Detector:
        """Train on perturbed copies of the references."""
        pairs = perturbed_pairs(references, PAIRS, self.seed + column)
        return train_detector(pairs, self.config, self.seed + column)


class TcnSupervised(DetectorReference):
    """CAPS's detector, trained on the labels of the training part.

    `weighted` weighs anomalous points by how rare they are, `balanced` draws half of the windows
    among those with anomalies, `focal` is the loss of that name.
    """

    def __init__(
        self, seed: int, treatment: Treatment = "plain", config: DetectorConfig | None = None
    ) -> None:
        super().__init__(seed, config)
        self.treatment = treatment

    def fit(self, train: FloatArray) -> Self:
        """Refused: this method learns from labels."""
        raise InputError("a supervised method needs labels", "call fit_labelled(train, labels)")

    def fit_labelled(self, train: FloatArray, labels: NDArray[np.bool_]) -> Self:
        """Learn from the training part and its labels; without anomalies it learns to say no."""
        self._marks = checked_labels(labels, len(train))
        return super().fit(train)

    def learn(self, references: References, column: int) -> Detector:
        """Train on the labels under the references."""
        labels, seed = references.labels(self._marks), self.seed + column
        with seeded(seed, "supervised"):
            detector = Detector(self.config)
        config = self.config
        schedule = Schedule(config.steps, config.batch, config.learning_rate)
        batches = _batches(references, labels, balanced=self.treatment == "balanced")
        for number, network in enumerate(detector.members):
            loss = _PointLoss(network, self.treatment, _rarity(labels & references.trusted))
            train(loss, batches, schedule, seed=seed, name=f"supervised-{number}")
        return detector.eval().requires_grad_(False)


class _PointLoss(nn.Module):
    """Cross-entropy of every trusted point under one treatment of rare anomalies."""

    def __init__(self, network: nn.Module, treatment: Treatment, rarity: float) -> None:
        super().__init__()
        self.network, self.treatment, self.rarity = network, treatment, rarity

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        logits, label = self.network(batch["window"]), batch["label"]  # (batch, time)
        entropy = nn.functional.binary_cross_entropy_with_logits(logits, label, reduction="none")
        if self.treatment == "weighted":
            entropy = entropy * torch.where(label > 0, self.rarity, 1.0)
        elif self.treatment == "focal":
            # exp(-entropy) is the probability given to the right answer.
            share = torch.where(label > 0, POSITIVE_SHARE, 1 - POSITIVE_SHARE)
            entropy = share * (1 - torch.exp(-entropy)) ** FOCUS * entropy
        trusted = batch["trusted"]
        return {"loss": (entropy * trusted).sum() / trusted.sum().clamp(min=1)}


def _batches(references: References, labels: NDArray[np.bool_], *, balanced: bool) -> Batches:
    windows, label, trusted = (
        torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
        for array in (references.windows, labels, references.trusted)
    )
    anomalous = np.flatnonzero(labels.any(axis=1))

    def batch(size: int, generator: np.random.Generator) -> dict[str, Tensor]:
        drawn = generator.integers(len(windows), size=size)
        if balanced and len(anomalous):
            drawn[: size // 2] = generator.choice(anomalous, size // 2)
        return {"window": windows[drawn], "label": label[drawn], "trusted": trusted[drawn]}

    return batch


def _rarity(labels: NDArray[np.bool_]) -> float:
    """Normal points to every anomalous one."""
    count = int(labels.sum())
    return (labels.size - count) / count if count else 1.0
