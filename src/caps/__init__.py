"""CAPS: label-free anomaly detection for time series.

CAPS compares every subsequence with those of the training part. From simulation it has learned what
anomalies do to a temporal context; if asked to, it realises such effects on the user's own windows
and trains a small detector on the resulting (reference, counterpart) pairs.
"""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.detection import Detection, detect
    from caps.errors import ArtifactError, CapsError, InputError
    from caps.estimator import CAPS
    from caps.metrics import Evaluation, evaluate
    from caps.series import Series, read

__version__ = "0.1.0"

__all__ = [
    "CAPS",
    "ArtifactError",
    "CapsError",
    "Detection",
    "Evaluation",
    "InputError",
    "Series",
    "__version__",
    "detect",
    "evaluate",
    "read",
]

__getattr__ = on_first_use(__name__)


def __dir__() -> list[str]:
    return __all__
