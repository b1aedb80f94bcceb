"""CAPS as a detector of TSB-AD: the same interface as its own methods."""

from typing import Any, Self

import numpy as np
from TSB_AD.models.base import BaseDetector

from caps import CAPS


class CapsDetector(BaseDetector):  # type: ignore[misc]  # TSB-AD has no types
    """`fit(X)`, then `decision_scores_`, `threshold_` and `labels_` as TSB-AD makes them."""

    def __init__(self, contamination: float = 0.1, **parameters: Any) -> None:
        super().__init__(contamination=contamination)
        self.model = CAPS(**parameters)

    def fit(self, X: np.ndarray, y: object = None) -> Self:
        self.model.fit(X)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return np.nan_to_num(self.model.decision_function(X))


def run_CAPS(data_train: np.ndarray, data_test: np.ndarray, **parameters: Any) -> np.ndarray:
    """For `TSB_AD.model_wrapper`, among its semi-supervised methods."""
    return CapsDetector(**parameters).fit(data_train).decision_function(data_test)
