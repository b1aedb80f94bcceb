"""What the adapters share: the estimator they fit, and one that fits on the rows of a check."""

from dataclasses import replace
from typing import Any

from sklearn.base import clone

from caps.estimator import CAPS
from caps.scoring import CalibrationConfig, ModelConfig

FEWEST_ROWS = 4  # the checks of aeon and sktime fit on 20 rows and score 10


def unfitted(model: CAPS | None) -> CAPS:
    """An estimator of its own with the options of `model`, which stays as it is."""
    if model is None:
        return CAPS()
    own: CAPS = clone(model)
    return own


def parameters_for_checks() -> list[dict[str, Any]]:
    """Parameters for the checks of a library: they fit on fewer rows than CAPS takes otherwise."""
    calibration = replace(CalibrationConfig(), fewest_rows=FEWEST_ROWS)
    config = replace(ModelConfig(), calibration=calibration)
    return [{"model": CAPS(config=config)}, {"model": CAPS(config=config, causal=True)}]
