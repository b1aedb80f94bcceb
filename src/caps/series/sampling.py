"""Facts about when a series was sampled: its step, whether it is regular, its gaps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caps.series.timestamps import TimeArray

# A step is regular within a tenth: enough for polling jitter, months of 28 to 31 days and the days
# on which the clocks change.
TOLERANCE = 0.1
GAP = 1.5  # a step of more than this many median steps has left at least one row out


@dataclass(frozen=True, slots=True)
class Sampling:
    """The median `step`, whether every step is a whole number of it, and the gaps.

    `gap_rows` are the rows that come right after a gap; `absent` counts the rows left out in all.
    A gap does not make a series irregular. Without times, `step` is None and rows count as steps.
    """

    step: np.timedelta64 | None
    regular: bool
    gap_rows: NDArray[np.intp]
    absent: int

    @property
    def gaps(self) -> int:
        """The number of gaps."""
        return len(self.gap_rows)


def sampling_of(time: TimeArray | None) -> Sampling:
    """Work out the sampling from sorted times.

    >>> minutes = np.array([0, 1, 2, 5, 6], dtype="datetime64[m]").astype("datetime64[ns]")
    >>> facts = sampling_of(minutes)
    >>> facts.step.astype("timedelta64[m]"), facts.regular, facts.gaps, facts.absent
    (np.timedelta64(1,'m'), True, 1, 2)
    """
    nothing = np.empty(0, dtype=np.intp)
    if time is None or len(time) < 2:
        return Sampling(None, True, nothing, 0)
    steps = np.diff(time).astype(np.int64)
    positive = steps[steps > 0]
    if positive.size == 0:
        return Sampling(None, False, nothing, 0)
    # The lower median is a step that occurs; the mean of two middle steps need not be.
    median = int(np.partition(positive, (positive.size - 1) // 2)[(positive.size - 1) // 2])
    ratio = steps / median
    whole = np.rint(ratio)
    regular = bool(np.all((whole >= 1) & (np.abs(ratio - whole) <= TOLERANCE * whole)))
    gap_rows = np.flatnonzero(ratio > GAP) + 1
    absent = int((whole[gap_rows - 1] - 1).sum())
    return Sampling(np.timedelta64(median, "ns"), regular, gap_rows, absent)


def grid_positions(time: TimeArray, sampling: Sampling) -> NDArray[np.intp]:
    """For each row, its index on the gapless grid of regular steps."""
    if sampling.step is None:
        return np.arange(len(time))
    steps = np.rint(np.diff(time) / sampling.step).astype(np.intp)
    return np.concatenate([[0], np.cumsum(steps)])
