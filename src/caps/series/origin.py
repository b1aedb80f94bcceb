"""How to give results back: in the user's own library, on the user's own rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caps.series.columns import Column
from caps.series.timestamps import TimeArray

if TYPE_CHECKING:
    import narwhals as nw  # a tenth of a second that arrays do without

Rows = slice | NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of a series came from.

    `library` is None for arrays, lists and mappings, whose results are plain dicts of arrays.
    `time_column` is the time column exactly as the user gave it.
    """

    library: Any = None  # a narwhals Implementation
    index: Any = None  # the pandas index
    time_name: str | None = None
    time_column: "Column | None" = None

    def take(self, rows: Rows) -> "Origin":
        """The origin of some of the rows."""
        return replace(
            self,
            index=None if self.index is None else self.index[rows],
            time_column=None if self.time_column is None else self.time_column[rows],
        )

    def frame(
        self, columns: Mapping[str, NDArray[Any]], time: TimeArray | None, timezone: str | None
    ) -> Any:
        """`columns` in the user's library; `time` stands in where no time column was kept."""
        head: dict[str, Any] = {}
        if self.time_name is not None and self.time_column is not None:
            head[self.time_name] = self.time_column
        elif self.time_name is not None and time is not None:
            head[self.time_name] = time if timezone is None else Zoned(time, timezone)
        if self.library is None:
            return {  # numpy knows no zones: times stay in UTC
                name: np.asarray(column.utc if isinstance(column, Zoned) else column)
                for name, column in {**head, **columns}.items()
            }
        import narwhals as nw  # a tenth of a second that arrays do without

        if self.library is nw.Implementation.PANDAS:
            return self._pandas({**head, **columns})
        series = {
            name: _as_narwhals(name, column, self.library)
            for name, column in {**head, **columns}.items()
        }
        return nw.from_dict(series).to_native()

    def _pandas(self, data: Mapping[str, Any]) -> Any:
        import narwhals as nw  # a tenth of a second that arrays do without
        import pandas as pd  # half a second that arrays do without

        arrays = {}
        for name, column in data.items():
            if isinstance(column, nw.Series):
                # `.array` drops the labels, so that rows are matched by position, not by label.
                arrays[name] = column.to_pandas().array
            elif isinstance(column, Zoned):
                arrays[name] = pd.DatetimeIndex(column.utc, tz="UTC").tz_convert(column.zone)
            else:
                arrays[name] = column
        return pd.DataFrame(arrays, index=self.index)


@dataclass(frozen=True, slots=True)
class Zoned:
    """Times in UTC that a frame shall show in a zone."""

    utc: TimeArray
    zone: str


def _as_narwhals(name: str, column: Any, library: Any) -> "nw.Series[Any]":
    import narwhals as nw  # a tenth of a second that arrays do without

    if isinstance(column, nw.Series):
        return column.alias(name)
    if isinstance(column, Zoned):
        utc = nw.new_series(name, column.utc, backend=library)
        return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(column.zone)
    # Objects and text go over as Python values: as arrays some libraries would keep them opaque.
    values = column.tolist() if column.dtype.kind in "OU" else column
    return nw.new_series(name, values, backend=library)
