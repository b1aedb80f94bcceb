"""CAPS as the paper describes it: its network, its training, its scores, and nothing beside."""

from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.baselines import DetectorReference
from caps.bench.settings import public_facts, weights_hash
from caps.network import PAPER, Detector, DetectorConfig, expit, train_detector
from caps.realize import Pretrained
from caps.recover import References, recover_pairs


class PaperCaps(DetectorReference):
    """The full-length TCN on a counterpart of each mode for every reference, one network a channel.

    References are all windows of the training part at stride 4, in the scale of the series and as
    they are, drawn at random above 1,500 of them. Scores are sigmoids, the largest of all channels.
    """

    def __init__(self, seed: int, config: DetectorConfig = PAPER) -> None:
        super().__init__(seed, config)
        self._weights: Pretrained | None = None

    def learn(self, references: References, column: int) -> Detector:
        """Train on the references and their counterparts."""
        if self._weights is None:
            self._weights = Pretrained.load(None)
        pairs = recover_pairs(self._weights, references, seed=self.seed + column)
        return train_detector(pairs, self.config, self.seed + column)

    def judge(self, learned: Detector, values: FloatArray) -> FloatArray:
        """The sigmoid of every row."""
        return np.asarray(expit(super().judge(learned, values)))

    def settings(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed."""
        return {**public_facts({"config": self.config}), "pretrained": weights_hash(None)}
