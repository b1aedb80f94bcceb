"""CAPS: label-free anomaly detection for time series.

CAPS learns from simulation what anomalies do to a temporal context, realises such effects on the
user's own windows, and trains a small detector on the resulting (reference, counterpart) pairs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caps.detect import CAPS
    from caps.errors import ArtifactError, CapsError, InputError
    from caps.metrics import Evaluation, evaluate
    from caps.series import Series, read

__version__ = "0.1.0"

# Public names and where they live: resolved on first use, so that `import caps` stays instant.
_HOMES = {
    "ArtifactError": "caps.errors",
    "CAPS": "caps.detect",
    "CapsError": "caps.errors",
    "Evaluation": "caps.metrics",
    "InputError": "caps.errors",
    "Series": "caps.series",
    "evaluate": "caps.metrics",
    "read": "caps.series",
}

__all__ = [
    "CAPS",
    "ArtifactError",
    "CapsError",
    "Evaluation",
    "InputError",
    "Series",
    "__version__",
    "evaluate",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'caps' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
