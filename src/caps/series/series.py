"""`Series`: measurements over time, with a mask for what was not observed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caps.arrays import BoolArray, FloatArray
from caps.errors import InputError
from caps.series.moments import read_moment, write_moment
from caps.series.origin import Origin, Rows
from caps.series.quality import constant_channels, duration, notes as quality_notes
from caps.series.sampling import Sampling, grid_positions, sampling_of
from caps.series.timestamps import TimeArray

MOST_GRID_ROWS = 10  # per row given: a longer grid is nearly all gap


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Series:
    """A series as CAPS sees it; make one with `read`.

    `values` (time, channel) holds not-a-number exactly where `observed` is False. `time` is in UTC;
    `timezone` names the zone the user's times were in, None for times without a zone. `remarks`
    are the notes made while reading.
    """

    values: FloatArray
    observed: BoolArray
    channels: tuple[str, ...]
    time: TimeArray | None = None
    timezone: str | None = None
    origin: Origin = field(default_factory=Origin)
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.channels):
            raise InputError(
                f"values of shape {self.values.shape} do not fit {len(self.channels)} channels",
                "give values as (time, channel)",
            )
        if self.observed.shape != self.values.shape:
            raise InputError(
                f"the mask has shape {self.observed.shape}, the values {self.values.shape}",
                "give one mask entry for each value",
            )
        if self.time is not None and len(self.time) != len(self.values):
            raise InputError(
                f"{len(self.time)} times for {len(self.values)} rows", "give one time for each row"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        plural = "" if len(self.channels) == 1 else "s"
        facts = f"{len(self)} rows, {len(self.channels)} channel{plural}"
        if self.time is not None and len(self):
            first, last = (write_moment(self.time[k], "s", separator="T") for k in (0, -1))
            facts += f", {first} to {last}"
            step = self.sampling.step
            facts += "" if step is None else f", step {duration(step)}"
        return f"Series({facts})"

    def __getitem__(self, rows: slice) -> "Series":
        """The rows of a slice, as views."""
        if not isinstance(rows, slice):
            raise TypeError("a Series is sliced by rows: series[start:stop]")
        return self.take(rows)

    @property
    def sampling(self) -> Sampling:
        """Step, regularity and gaps in time."""
        return sampling_of(self.time)

    @property
    def constant(self) -> tuple[str, ...]:
        """The channels whose observed values are all equal."""
        flags = constant_channels(self.values, self.observed)
        return tuple(name for name, flag in zip(self.channels, flags, strict=True) if flag)

    def notes(self) -> list[str]:
        """Readable remarks on the quality of the data, empty when there is nothing to say."""
        return quality_notes(self)

    def take(self, rows: Rows) -> "Series":
        """The given rows; a slice gives views, an array of row numbers gives copies."""
        return replace(
            self,
            values=self.values[rows],
            observed=self.observed[rows],
            time=None if self.time is None else self.time[rows],
            origin=self.origin.take(rows),
        )

    def select(self, *channels: str) -> "Series":
        """Some of the channels, in the order given."""
        unknown = [name for name in channels if name not in self.channels]
        if unknown or not channels:
            raise InputError(
                f"the series has no channel {unknown[0]!r}" if unknown else "no channel named",
                f"name some of {', '.join(self.channels)}",
            )
        columns = [self.channels.index(name) for name in channels]
        return replace(
            self,
            values=self.values[:, columns],
            observed=self.observed[:, columns],
            channels=channels,
        )

    def split(self, at: int | float | str | date | np.datetime64) -> "tuple[Series, Series]":
        """Cut into a first (training) part and the rest.

        `at` is a number of rows, a share of them between 0 and 1, or a moment: rows before it go
        to the first part. Text may hold any of the three. A moment without a zone is meant in the
        series' own zone.

        >>> from caps.series import read
        >>> first, rest = read([1.0, 2.0, 3.0, 4.0]).split(3)
        >>> len(first), len(rest)
        (3, 1)
        """
        row = self._row_at(at)
        if not 0 < row < len(self):
            raise InputError(
                f"split({at!r}) leaves {max(0, min(row, len(self)))} of {len(self)} rows in the "
                "first part",
                "split so that both parts have rows",
            )
        return self[:row], self[row:]

    def values_without(self, spans: Iterable[tuple[int, int]]) -> FloatArray:
        """The values, not-a-number in spans of rows [start, end)."""
        values = self.values.copy()
        for start, end in spans:
            values[start:end] = np.nan
        return values

    def training_part(self, at: int | float | str | date | np.datetime64 | None) -> "Series":
        """The first part of `split(at)`; all rows for None or "all"."""
        if at is None or (isinstance(at, str) and at.strip() == "all"):
            return self
        return self.split(at)[0]

    def row_at(self, moment: Any, where: str) -> int:
        """The first row at a moment or after it; `where` names it in an error."""
        if self.time is None:
            raise InputError(f"{where} needs times, the series has none", "give a number of rows")
        if not isinstance(moment, str | date | np.datetime64):
            raise InputError(
                f"{where} is no moment (it is of type {type(moment).__name__})",
                "write it as 2024-01-31 or 2024-01-31 12:00",
            )
        time = read_moment(moment, self.timezone, where=where)
        return int(np.searchsorted(self.time, time, side="left"))

    def on_grid(self) -> "tuple[Series, NDArray[np.intp]]":
        """Put the rows on a gapless grid; rows that were left out appear as not observed.

        Also returns the grid row of each input row, so `scores[rows]` leads back to the input.

        >>> from caps.series import read
        >>> series = read({"time": ["2024-01-01", "2024-01-02", "2024-01-05"], "load": [1, 2, 3]})
        >>> grid, rows = series.on_grid()
        >>> grid.values[:, 0].tolist(), rows.tolist()
        ([1.0, 2.0, nan, nan, 3.0], [0, 1, 4])
        """
        facts = self.sampling
        if not facts.regular:
            raise InputError(
                "an irregular series fits no grid", "resample it to equal steps before reading"
            )
        if self.time is None or facts.step is None or facts.gaps == 0:
            return self, np.arange(len(self))
        rows = grid_positions(self.time, facts)
        length = int(rows[-1]) + 1
        if length > MOST_GRID_ROWS * len(self):
            raise InputError(
                f"the grid would have {length} rows for {len(self)} observed ones",
                "split the series at its long gaps and treat the parts one by one",
            )
        values = np.full((length, len(self.channels)), np.nan)
        values[rows] = self.values
        observed = np.zeros(values.shape, dtype=bool)
        observed[rows] = self.observed
        # Interpolated, because calendar steps (months) differ in length.
        stamps = np.interp(np.arange(length), rows, (self.time - self.time[0]).astype(np.float64))
        time = self.time[0] + np.rint(stamps).astype("timedelta64[ns]")
        time[rows] = self.time
        name = self.origin.time_name or "time"
        origin = replace(self.origin, index=None, time_column=None, time_name=name)
        return replace(self, values=values, observed=observed, time=time, origin=origin), rows

    def frame(self, columns: Mapping[str, ArrayLike]) -> Any:
        """Results, one per row, in the user's own library and aligned to the user's own rows.

        pandas: a DataFrame with the input's index, and its time column if it had one. polars and
        Arrow: a frame with the time column first. Files: a pandas DataFrame with the time column,
        its index counting the rows of the file. Arrays, lists and mappings: a dict of arrays.

        >>> from caps.series import read
        >>> read([3.0, 1.0]).frame({"score": [0.9, 0.1]})
        {'score': array([0.9, 0.1])}
        """
        arrays = {name: np.asarray(column) for name, column in columns.items()}
        for name, array in arrays.items():
            if array.shape != (len(self),):
                raise InputError(
                    f"column {name!r} has shape {array.shape}, the series has {len(self)} rows",
                    "give one value for each row",
                )
            if name == self.origin.time_name:
                raise InputError(f"{name!r} is the time column", "give the result another name")
        return self.origin.frame(arrays, self.time, self.timezone)

    def _row_at(self, at: int | float | str | date | np.datetime64) -> int:
        if isinstance(at, str):
            at = _number_in(at)
        if isinstance(at, bool):
            raise InputError("split(True) is no row", "give rows, a share or a moment")
        if isinstance(at, int | np.integer):
            return int(at)
        if isinstance(at, float | np.floating):
            if not 0 < at < 1:
                raise InputError(f"split({at!r}) is no share of rows", "give 0 < share < 1")
            return round(at * len(self))
        return self.row_at(at, f"split({at!r})")


def _number_in(text: str) -> int | float | str:
    """A row count or share written as text (as on a command line), else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
