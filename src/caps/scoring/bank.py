"""The training rows of a channel, to be compared with."""

from typing import NamedTuple

import numpy as np

from caps.arrays import Rows, Singles
from caps.neighbours import (
    JointIndex,
    NeighbourConfig,
    SubsequenceIndex,
    TrainingOverlap,
    Zone,
)


class Bank(NamedTuple):
    """The training rows of a channel as subsequences of every length that fits."""

    rows: Singles  # (time,), not-a-number where unobserved
    edged: Singles  # the same between as many not-a-numbers as are foretold
    first: int  # row of the first of them in the training part
    indices: dict[int, SubsequenceIndex]

    @classmethod
    def of(cls, rows: Singles, first: int, config: NeighbourConfig) -> "Bank":
        """Of scaled training rows."""
        fitting = [each for each in config.lengths if each <= len(rows) // config.training_lengths]
        values = rows.astype(np.float64)
        indices = {length: SubsequenceIndex.of(values, length, config) for length in fitting}
        edged = np.pad(rows, max(config.horizons), constant_values=np.nan)
        found = {length: each for length, each in indices.items() if each is not None}
        return cls(rows, edged, first, found)

    def exclusion_zone(
        self, index: SubsequenceIndex, starts: Rows, overlap: TrainingOverlap, beside: int = 0
    ) -> Zone | None:
        """Which of the index are not to be compared with the scored ones that begin at `starts`."""
        return exclusion_zone(index, self.first, starts, overlap, beside)


def exclusion_zone(
    index: SubsequenceIndex | JointIndex,
    first_row: int,
    starts: Rows,
    overlap: TrainingOverlap,
    beside: int = 0,
) -> Zone | None:
    """The same of an index whose rows begin at `first_row` of the training part."""
    if not overlap:
        return None
    first = np.full(len(starts), len(index.starts), dtype=np.intp)
    last = np.zeros(len(starts), dtype=np.intp)
    for which, training in overlap.touching(starts, index.length):
        low, high = index.overlapping(training - first_row, beside)
        some = high > low
        first[which[some]] = np.minimum(first[which[some]], low[some])
        last[which[some]] = np.maximum(last[which[some]], high[some])
    return first, last
