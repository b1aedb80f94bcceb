"""`SktimeDetector`: CAPS among the detectors of sktime."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from caps.adapters.parameters import parameters_for_checks, unfitted
from caps.estimator import CAPS

try:
    from sktime.detection.base import BaseDetector
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "sktime is not installed: pip install 'caps-tsad[sktime]'", name=error.name
    ) from None


class SktimeDetector(BaseDetector):  # type: ignore[misc]  # sktime has no types
    """CAPS for sktime: `predict` lists the rows of events, `transform_scores` scores every row.

    `model_` is the fitted `CAPS`, with its events and their reasons. `y` is not used. An `update`
    fits again on all rows seen.

    >>> import numpy as np, pandas as pd
    >>> from caps import CAPS
    >>> from caps.adapters import SktimeDetector
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(800)
    >>> series = pd.DataFrame({"load": np.sin(np.arange(800) / 5) + noise})
    >>> series.iloc[600] += 3
    >>> SktimeDetector(CAPS(train=400)).fit_predict(series)["ilocs"].tolist()
    [600]

    Parameters
    ----------
    model
        A `CAPS` with the options to fit with; it is not fitted itself. None: the defaults.
    """

    _tags: ClassVar[dict[str, Any]] = {
        "X_inner_mtype": "pd.DataFrame",
        "authors": "the authors of CAPS",
        "capability:missing_values": True,
        "capability:multivariate": True,
        "capability:update": True,
        "fit_is_empty": False,
        "learning_type": "unsupervised",
        "maintainers": "the authors of CAPS",
        "task": "anomaly_detection",
    }

    def __init__(self, model: CAPS | None = None) -> None:
        self.model = model
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: object = None) -> "SktimeDetector":
        self.model_ = unfitted(self.model).fit(X)
        return self

    def _predict(self, X: pd.DataFrame) -> pd.Series:
        return pd.Series(np.flatnonzero(self.model_.predict(X)), dtype="int64")

    def _predict_points(self, X: Any) -> pd.Series:
        return self._predict(self._check_X(X))  # sktime hands it on as it was given

    def _predict_scores(self, X: pd.DataFrame) -> pd.DataFrame:
        analysis = self.model_.analyze(X)
        return pd.DataFrame({"scores": analysis.score[analysis.flag == 1]})

    def _transform_scores(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"scores": self.model_.decision_function(X)}, index=X.index)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for the checks of sktime."""
        return parameters_for_checks()
