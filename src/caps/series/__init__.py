"""The one input boundary: any table of measurements becomes a `Series`, results go back aligned."""

from caps.series.gaps import bridge
from caps.series.reading import Format, read, read_many, scan
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

__all__ = [
    "Format",
    "Reassembly",
    "Sampling",
    "Scaler",
    "Series",
    "SlidingWindows",
    "bridge",
    "chunked_windows",
    "pad_short",
    "read",
    "read_many",
    "reassemble",
    "scan",
    "sliding_windows",
    "window_starts",
    "window_weights",
]
