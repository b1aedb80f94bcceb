"""Any object in memory as named columns: narwhals for frames, numpy for everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals import dependencies
from numpy.typing import NDArray

from caps.errors import InputError
from caps.series.columns import Column
from caps.series.csv_lines import blank_remark
from caps.series.origin import Origin
from caps.series.quantities import Marks

ACCEPTED = (
    "give a numpy array, a list, a mapping of columns, a pandas or polars frame or series, "
    "an Arrow table, or the path of a CSV or Parquet file"
)


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length; `index` is a pandas index that may hold times.

    `blank` are the rows that are blank lines of a file, with their line numbers; `marks` say how
    numbers are written in text.
    """

    columns: Mapping[str, Column]
    origin: Origin
    index: nw.Series[Any] | None = None
    from_file: bool = False
    blank: Mapping[int, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    marks: Marks = field(default_factory=Marks)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def without_blank(self) -> "Table":
        """Without the rows that are blank lines, and with a remark on them."""
        if not self.blank:
            return self
        rows = np.setdiff1d(np.arange(self.rows), list(self.blank))
        return replace(
            self,
            columns={name: column[rows] for name, column in self.columns.items()},
            origin=self.origin.take(rows),
            blank={},
            remarks=(*self.remarks, blank_remark(self.blank, "left out")),
        )


def table_of(source: Any) -> Table:
    """Take an object in memory apart into columns without copying what is numeric already."""
    if dependencies.is_narwhals_dataframe(source) or dependencies.is_narwhals_series(source):
        return table_of(source.to_native())
    if dependencies.is_pandas_dataframe(source) or dependencies.is_pandas_series(source):
        return _pandas_table(source)
    if dependencies.is_into_dataframe(source):
        return _frame_table(nw.from_native(source, eager_only=True))
    if dependencies.is_into_series(source):
        series = nw.from_native(source, series_only=True)
        return _frame_table(series.alias(series.name or "value").to_frame())
    if isinstance(source, Mapping):
        return _mapping_table(source)
    if hasattr(source, "collect"):
        raise InputError(f"{type(source).__name__} is lazy", "call .collect() before reading")
    if hasattr(source, "__array__") or isinstance(source, Sequence | memoryview):
        return _array_table(source)
    raise InputError(f"cannot read a series from {type(source).__name__}", ACCEPTED)


def _frame_table(frame: nw.DataFrame[Any]) -> Table:
    columns = {name: frame[name] for name in frame.columns}
    return Table(columns, Origin(library=frame.implementation))


def _pandas_table(source: Any) -> Table:
    import pandas as pd  # half a second that other tables do without

    frame = source.to_frame(source.name or "value") if isinstance(source, pd.Series) else source
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError(
            "the columns of the frame have several levels", "give each column one name"
        )
    names = [str(name) for name in frame.columns]
    unique_names(names)
    columns: dict[str, Column] = {}
    for index, name in enumerate(names):
        column = frame.iloc[:, index]
        if isinstance(column.dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        columns[name] = nw.from_native(column, series_only=True)
    origin = Origin(library=nw.Implementation.PANDAS, index=frame.index)
    return Table(columns, origin, _pandas_index(frame.index))


def _pandas_index(index: Any) -> nw.Series[Any] | None:
    """The index as a column, None when it only counts rows."""
    import pandas as pd  # half a second that other tables do without

    if isinstance(index, pd.MultiIndex):
        if any(isinstance(level, pd.DatetimeIndex) for level in index.levels):
            raise InputError(
                "the index of the frame has several levels",
                "call .reset_index(), then use read_many(id=..., time=..., value=...) "
                "or name the time column",
            )
        return None
    if isinstance(index, pd.RangeIndex):
        return None
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    name = "" if index.name is None else str(index.name)
    return nw.from_native(pd.Series(index, name=name), series_only=True)


def _mapping_table(source: Mapping[Any, Any]) -> Table:
    columns = {str(name): _one_column(values, str(name)) for name, values in source.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InputError(
            f"the columns have different lengths ({', '.join(map(str, sorted(lengths)))})",
            "give columns of equal length",
        )
    return Table(columns, Origin())


def _one_column(values: Any, name: str) -> NDArray[Any]:
    array = as_array(values)
    if array.ndim != 1:
        raise InputError(f"column {name!r} has {array.ndim} dimensions", "give flat columns")
    return array


def _array_table(source: Any) -> Table:
    array = as_array(source)
    if array.dtype.names is not None:
        return _mapping_table({name: array[name] for name in array.dtype.names})
    if array.ndim == 1:
        return Table({"value": array}, Origin())
    if array.ndim != 2:
        raise InputError(
            f"an array with {array.ndim} dimensions is no series",
            "give values as (time,) or (time, channel)",
        )
    if array.shape[1] == 1:
        return Table({"value": array[:, 0]}, Origin())
    return Table({f"channel_{index}": array[:, index] for index in range(array.shape[1])}, Origin())


def as_array(values: Any) -> NDArray[Any]:
    """As numpy; masked entries become missing and mixed lists keep their objects."""
    if isinstance(values, np.ma.MaskedArray):
        return _unmasked(values)
    if isinstance(values, nw.Series):
        return np.asarray(values.to_numpy())
    try:
        array = np.asarray(values)
        # numpy writes mixed lists out as text and big integers as floats or objects.
        if array.dtype.kind in "USO" and not hasattr(values, "__array__"):
            array = np.asarray(values, dtype=object)
    except (ValueError, OverflowError) as error:
        if hasattr(values, "__array__"):
            raise _no_array(values, error) from None
        raise InputError(
            "the rows of the list have different lengths", "give one value per channel in each row"
        ) from None
    except Exception as error:  # of another library, that has its own reasons
        raise _no_array(values, error) from None
    return array


def _no_array(values: Any, error: Exception) -> InputError:
    return InputError(
        f"a {type(values).__name__} cannot be turned into an array ({error})", ACCEPTED
    )


def _unmasked(values: Any) -> NDArray[Any]:
    """A masked array with a missing value of its own kind wherever it is masked."""
    if values.dtype.names is not None:
        fields = {name: _unmasked(values[name]) for name in values.dtype.names}
        made = np.empty(values.shape, dtype=[(name, array.dtype) for name, array in fields.items()])
        for name, array in fields.items():
            made[name] = array
        return made
    if values.dtype.kind in "mM":
        return np.asarray(values.filled(np.array("NaT", dtype=values.dtype)))
    if values.dtype.kind in "biuf" and values.dtype != np.longdouble:
        # Whole numbers keep every digit where nothing is missing: they may be times.
        whole = values.dtype.kind != "f" and not np.ma.is_masked(values)
        return np.asarray(values.data if whole else values.astype(np.float64).filled(np.nan))
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return np.asarray(objects)


def unique_names(names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    repeated = sorted({name for name in names if name and names.count(name) > 1})
    if repeated:
        raise InputError(
            f"the column name {repeated[0]!r} appears more than once", "give each column its own"
        )
