"""The one input boundary: any table of measurements becomes a `Series`, results go back aligned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caps.series.gaps import bridge
from caps.series.moments import local_times, read_moment, write_moment
from caps.series.reassembly import Reassembly, reassemble, window_weights
from caps.series.sampling import Sampling
from caps.series.scaling import Scaler
from caps.series.series import Series
from caps.series.windows import (
    SlidingWindows,
    chunked_windows,
    pad_short,
    sliding_windows,
    window_starts,
)

if TYPE_CHECKING:
    from caps.series.reading import Format, read, read_many, scan

# Readers of tables need narwhals; a scorer of arrays does without (docs/export.md).
_READERS = ("Format", "read", "read_many", "scan")

__all__ = [
    "Format",
    "Reassembly",
    "Sampling",
    "Scaler",
    "Series",
    "SlidingWindows",
    "bridge",
    "chunked_windows",
    "local_times",
    "pad_short",
    "read",
    "read_many",
    "read_moment",
    "reassemble",
    "scan",
    "sliding_windows",
    "window_starts",
    "window_weights",
    "write_moment",
]


def __getattr__(name: str) -> Any:
    if name not in _READERS:
        raise AttributeError(f"module 'caps.series' has no attribute {name!r}")
    return getattr(import_module("caps.series.reading"), name)
