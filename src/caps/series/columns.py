"""One column of any library as float64, where not-a-number marks a missing value."""

from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.series.quantities import (
    MISSING_WORDS,
    Marks,
    Quantities,
    has_comma,
    may_be_grouped,
    read_quantities,
)

if TYPE_CHECKING:
    import narwhals as nw  # imported where tables are: arrays do without it

Column: TypeAlias = "nw.Series[Any] | NDArray[Any]"

_EXACT_INTEGERS = 2**53
_IN_NUMBERS = frozenset("0123456789+-.,")  # what starts with one of them is worth a closer look


def to_list(column: Column) -> list[Any]:
    """The column's values as Python objects."""
    try:
        return list(column.tolist() if isinstance(column, np.ndarray) else column.to_list())
    except UnicodeDecodeError as error:
        raise InputError(f"a column of text is damaged ({error})", "write the file again") from None


def is_missing(value: object) -> bool:
    """Whether a Python object stands for a missing value in any of the libraries."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating | np.datetime64):
        return bool(value != value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def is_temporal(column: Column) -> bool:
    """Whether the column's own type says that it holds dates or times of day and date."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind == "M"
    import narwhals as nw  # a tenth of a second that arrays do without

    return bool(column.dtype == nw.Datetime or column.dtype == nw.Date)


def is_number(column: Column) -> bool:
    """Whether the column's own type is numeric (booleans are not)."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iuf"
    return column.dtype.is_numeric()


def quantities(column: Column, name: str, marks: Marks) -> Quantities | None:
    """The column as float64 and a remark on how it was read, or None when it holds no numbers.

    A column in which only some values are numbers is an error: ignoring it would hide the numbers,
    and reading the rest as missing would hide the text.
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "iufb":
            return Quantities(column.astype(np.float64, copy=False))
        if column.dtype.kind in "cmM":
            return None
    else:
        import narwhals as nw  # a tenth of a second that arrays do without

        if column.dtype.is_integer() and column.dtype not in (nw.Int128, nw.UInt128):
            return Quantities(_rounded(column))
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            return Quantities(np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64))
        if column.dtype.is_temporal() or column.dtype.is_nested() or column.dtype == nw.Binary:
            return None
    return _of_objects(to_list(column), name, marks)


def _rounded(column: "nw.Series[Any]") -> FloatArray:
    """Whole numbers as float64; Arrow itself refuses those that a float only comes near to."""
    missing = column.is_null().to_numpy()
    some = bool(missing.any())
    filled = column.fill_null(0) if some else column
    array = np.asarray(filled.to_numpy()).astype(np.float64)
    if some:
        array[missing] = np.nan
    return array


def rounds_integers(column: Column, values: FloatArray) -> bool:
    """Whether integers of the column lie beyond 2**53, where float64 no longer holds each one."""
    if isinstance(column, np.ndarray):
        whole = column.dtype.kind in "iu"
    else:
        whole = column.dtype.is_integer()
    return whole and bool(np.any(np.abs(values) >= _EXACT_INTEGERS))


def _of_objects(values: list[Any], name: str, marks: Marks) -> Quantities | None:
    array = np.full(len(values), np.nan)
    numeric, misfit = 0, -1
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        number = _number(value, name, row, marks)
        if number is not None:
            array[row] = number
            numeric += not np.isnan(number)
        elif misfit < 0:
            misfit = row
    if misfit < 0:
        return Quantities(array)
    like_number = isinstance(values[misfit], str) and values[misfit].lstrip()[:1] in _IN_NUMBERS
    if like_number and all(map(is_text, values)):
        written = [row for row, value in enumerate(values) if _is_written(value)]
        found = read_quantities([values[row] for row in written], marks)
        if found is not None:
            array[written] = found.values
            return Quantities(array, found.remark)
    _refuse_commas(values[misfit], name, misfit)
    if numeric == 0:
        return None
    raise InputError(
        f"column {name!r} mixes numbers with {type(values[misfit]).__name__} values "
        f"({values[misfit]!r} in row {misfit})",
        "correct these values or leave them empty, or leave the column out with exclude=",
    )


def _refuse_commas(value: object, name: str, row: int) -> None:
    """Say what to do about a number with a comma, which is no text to be passed over."""
    if not isinstance(value, str) or not has_comma(value):
        return
    if may_be_grouped(value):
        raise InputError(
            f"column {name!r} writes numbers with a comma that may mark thousands or decimals "
            f"({value!r} in row {row})",
            f'give thousands="," if {value.strip()} is {value.strip().replace(",", "")}, '
            f'decimal="," if it is {value.strip().replace(",", ".")}',
        )
    raise InputError(
        f"column {name!r} writes numbers with a comma ({value!r} in row {row})",
        'give decimal=",", or write the numbers with a decimal point',
    )


def is_text(value: object) -> bool:
    """Whether it is text, or missing."""
    return isinstance(value, str) or is_missing(value)


def _is_written(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() not in MISSING_WORDS


def _number(value: Any, name: str, row: int, marks: Marks) -> float | None:
    """The number an object stands for (not-a-number for an empty text), None if it is none."""
    if isinstance(value, str):
        return marks.number(value.strip()) if _is_written(value) else float("nan")
    # numpy counts durations among the whole numbers.
    if not isinstance(value, Real | Decimal | np.bool_) or isinstance(value, np.timedelta64):
        return None
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"column {name!r} holds a number beyond the range of float64 in row {row}",
            "divide the column by a constant or take its logarithm",
        ) from None
