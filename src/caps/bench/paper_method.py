"""CAPS as the paper describes it: its network, its training, its scores, and nothing beside."""

from dataclasses import replace
from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.baselines import DetectorReference
from caps.bench.settings import public_facts, weights_hash
from caps.network import AUTO, PAPER, Detector, DetectorConfig, expit, train_detector
from caps.realize import Pretrained
from caps.recover import References, perturbed_pairs, recover_pairs

# With what pays beyond the paper, chosen for the small detector (docs/paper.md). Perturbations
# double the pairs, so half the epochs are as many steps.
BEYOND = replace(PAPER, weighting=AUTO.weighting, epochs=10)


class PaperCaps(DetectorReference):
    """The full-length TCN on a counterpart of each mode for every reference, one network a channel.

    References are all windows of the training part at stride 4, in the scale of the series and as
    they are, drawn at random above 1,500 of them. Scores are sigmoids, the largest of all channels.
    `perturbed`, beyond the paper: as many perturbations by rule are learned from beside.
    """

    def __init__(
        self, seed: int, config: DetectorConfig = PAPER, *, perturbed: bool = False
    ) -> None:
        super().__init__(seed, config)
        self.perturbed = perturbed
        self._weights: Pretrained | None = None

    def learn(self, references: References, column: int) -> Detector:
        """Train on the references and their counterparts."""
        if self._weights is None:
            self._weights = Pretrained.load(None)
        seed = self.seed + column
        pairs = recover_pairs(self._weights, references, seed=seed)
        if self.perturbed:
            pairs = pairs.combine(perturbed_pairs(references, len(pairs), seed))
        return train_detector(pairs, self.config, seed)

    def judge(self, learned: Detector, values: FloatArray) -> FloatArray:
        """The sigmoid of every row."""
        return np.asarray(expit(super().judge(learned, values)))

    def settings(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed."""
        facts = public_facts({"config": self.config, "perturbed": self.perturbed})
        return {**facts, "pretrained": weights_hash(None)}
