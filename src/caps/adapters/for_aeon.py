"""`AeonDetector`: CAPS among the anomaly detectors of aeon."""

from typing import Any, ClassVar

import numpy as np

from caps.adapters.parameters import parameters_for_checks, unfitted
from caps.arrays import FloatArray
from caps.estimator import CAPS

try:
    from aeon.anomaly_detection.series.base import BaseSeriesAnomalyDetector
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "aeon is not installed: pip install 'caps-tsad[aeon]'", name=error.name
    ) from None


class AeonDetector(BaseSeriesAnomalyDetector):  # type: ignore[misc]  # aeon has no types
    """CAPS for aeon: `fit` learns from a series, `predict` gives one score for each time point.

    `model_` is the fitted `CAPS`, with its events and their reasons. `y` is not used. A time point
    without any value scores 0. A table with times as its index keeps them.

    >>> import numpy as np
    >>> from caps import CAPS
    >>> from caps.adapters import AeonDetector
    >>> series = np.sin(np.arange(800) / 5) + 0.1 * np.random.default_rng(0).standard_normal(800)
    >>> series[600] += 3
    >>> int(AeonDetector(CAPS(train=400)).fit_predict(series).argmax())
    600

    Parameters
    ----------
    model
        A `CAPS` with the options to fit with; it is not fitted itself. None: the defaults.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "X_inner_type": ["np.ndarray", "pd.DataFrame"],
        "anomaly_output_type": "anomaly_scores",
        "capability:missing_values": True,
        "capability:multivariate": True,
        "capability:univariate": True,
        "fit_is_empty": False,
        "learning_type:semi_supervised": True,
        "learning_type:unsupervised": True,
    }

    def __init__(self, model: CAPS | None = None) -> None:
        self.model = model
        super().__init__(axis=0)

    def _fit(self, X: Any, y: object = None) -> "AeonDetector":
        self.model_ = unfitted(self.model).fit(X)
        return self

    def _predict(self, X: Any) -> FloatArray:
        return np.nan_to_num(self.model_.decision_function(X))

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        return parameters_for_checks()
