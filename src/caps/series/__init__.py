"""The one input boundary: any table of measurements becomes a `Series`, results go back aligned."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.series.files import need_pyarrow as need_pyarrow
    from caps.series.layout import is_time_name as is_time_name
    from caps.series.moments import (
        Time as Time,
        Unit as Unit,
        local_times as local_times,
        read_moment as read_moment,
        write_moment as write_moment,
    )
    from caps.series.options import READ_OPTIONS as READ_OPTIONS, ReadOptions as ReadOptions
    from caps.series.origin import Origin as Origin, Zoned as Zoned
    from caps.series.quality import duration as duration, lasting as lasting
    from caps.series.quantities import (
        MISSING_WORDS as MISSING_WORDS,
        Marks as Marks,
        read_quantities as read_quantities,
    )
    from caps.series.reading import (
        Format as Format,
        read as read,
        read_many as read_many,
    )
    from caps.series.sampling import Sampling as Sampling, sampling_of as sampling_of
    from caps.series.scaling import CLIP as CLIP, Scaler as Scaler
    from caps.series.series import Series as Series
    from caps.series.windows import (
        bridge as bridge,
        pad_short as pad_short,
        reassemble as reassemble,
        sliding_windows as sliding_windows,
        window_starts as window_starts,
    )

__getattr__ = on_first_use(__name__)
