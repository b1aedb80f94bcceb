"""The one input boundary: any table of measurements becomes a `Series`, results go back aligned."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.series.files import need_pyarrow
    from caps.series.gaps import bridge
    from caps.series.layout import is_time_name
    from caps.series.moments import Time, Unit, local_times, read_moment, write_moment
    from caps.series.options import READ_OPTIONS, ReadOptions
    from caps.series.origin import Origin, Zoned
    from caps.series.quality import duration, lasting
    from caps.series.quantities import MISSING_WORDS, Marks, read_quantities
    from caps.series.reading import Format, read, read_many, scan
    from caps.series.reassembly import Reassembly, reassemble, window_weights
    from caps.series.sampling import Sampling, sampling_of
    from caps.series.scaling import CLIP, Scaler
    from caps.series.series import Series
    from caps.series.windows import (
        SlidingWindows,
        chunked_windows,
        pad_short,
        sliding_windows,
        window_starts,
    )

__all__ = [
    "CLIP",
    "MISSING_WORDS",
    "READ_OPTIONS",
    "Format",
    "Marks",
    "Origin",
    "ReadOptions",
    "Reassembly",
    "Sampling",
    "Scaler",
    "Series",
    "SlidingWindows",
    "Time",
    "Unit",
    "Zoned",
    "bridge",
    "chunked_windows",
    "duration",
    "is_time_name",
    "lasting",
    "local_times",
    "need_pyarrow",
    "pad_short",
    "read",
    "read_many",
    "read_moment",
    "read_quantities",
    "reassemble",
    "sampling_of",
    "scan",
    "sliding_windows",
    "window_starts",
    "window_weights",
    "write_moment",
]

__getattr__ = on_first_use(__name__)
