"""What a careful analyst would remark on before trusting a series."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.series.moments import write_moment

if TYPE_CHECKING:
    from caps.series.series import Series

# A run of equal values is worth a remark from 20 rows and a twentieth of the series on.
RUN_ROWS = 20
RUN_SHARE = 0.05
_WORDS = ((" day", 86_400), (" h", 3_600), (" min", 60), (" s", 1))
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def notes(series: "Series") -> list[str]:
    """The remarks made while reading, then gaps, missing values and constant runs."""
    remarks = [*series.remarks, *_sampling_notes(series)]
    constant = set(series.constant)
    for column, name in enumerate(series.channels):
        remarks += _missing_notes(name, series.observed[:, column])
        if name in constant:
            remarks.append(f"channel {name!r} is constant")
            continue
        remarks += _run_notes(series, name, series.values[:, column])
    return remarks


def constant_channels(values: FloatArray, observed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each channel, whether it was observed and its observed values are all equal."""
    low = np.min(values, axis=0, where=observed, initial=np.inf)
    high = np.max(values, axis=0, where=observed, initial=-np.inf)
    return np.asarray(low == high)


def duration(step: np.timedelta64) -> str:
    """A time step in the largest unit that keeps it whole, or in seconds.

    >>> duration(np.timedelta64(600, "s")), duration(np.timedelta64(1500, "ms"))
    ('10 min', '1.5 s')
    """
    seconds = float(step / np.timedelta64(1, "s"))
    for unit, size in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def lasting(span: np.timedelta64) -> str:
    """A duration in its two largest units.

    >>> [lasting(np.timedelta64(minutes, "m")) for minutes in (500, 26000, 2640)]
    ['8 h 20 min', '18 days 1 h', '1 day 20 h']
    """
    seconds = float(span / np.timedelta64(1, "s"))
    if seconds < 60:
        return f"{seconds:.3g} s"
    units = pairwise(_WORDS)
    (unit, size), (smaller, part) = next(pair for pair in units if seconds >= pair[0][1])
    whole, rest = divmod(round(seconds / part), size // part)
    plural = "s" if unit == " day" and whole > 1 else ""
    return f"{whole}{unit}{plural}" + (f" {rest}{smaller}" if rest else "")


def _sampling_notes(series: "Series") -> list[str]:
    facts, time = series.sampling, series.time
    if facts.step is None or time is None:
        return []
    remarks = []
    step = duration(facts.step)
    if facts.gaps:
        after = facts.gap_rows[np.argmax(np.diff(time)[facts.gap_rows - 1])]
        remarks.append(
            f"{_count(facts.gaps, 'gap')} in time: about {_count(facts.absent, 'row')} of {step} "
            f"left out; the longest lies between {_stamp(series, after - 1)} and "
            f"{_stamp(series, after)}"
        )
    if not facts.regular:
        remarks.append(f"sampling is irregular around a median step of {step}")
    return remarks


def _missing_notes(name: str, observed: NDArray[np.bool_]) -> list[str]:
    missing = int(observed.size - observed.sum())
    if missing == 0:
        return []
    share = 100 * missing / observed.size
    return [f"channel {name!r}: {missing} of {observed.size} values missing ({share:.3g} %)"]


def _run_notes(series: "Series", name: str, values: FloatArray) -> list[str]:
    start, length = longest_run(values)
    if length < max(RUN_ROWS, RUN_SHARE * len(values)):
        return []
    return [
        f"channel {name!r} stays at {values[start]:g} for {length} rows from "
        f"{_stamp(series, start)}"
    ]


def longest_run(values: FloatArray) -> tuple[int, int]:
    """Start and length of the longest run of equal values; a missing value ends a run.

    >>> longest_run(np.array([1.0, 2.0, 2.0, 2.0, np.nan, 2.0]))
    (1, 3)
    """
    breaks = np.flatnonzero(values[1:] != values[:-1]) + 1
    starts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([starts, [len(values)]]))
    longest = int(lengths.argmax())
    return int(starts[longest]), int(lengths[longest])


def _stamp(series: "Series", row: int) -> str:
    """When the row was, marked as UTC where the user's own times are in a zone."""
    if series.time is None:
        return f"row {row}"
    moment = write_moment(series.time[row], "s")
    return moment if series.timezone is None else f"{moment} UTC"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
