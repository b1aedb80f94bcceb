"""Subsequences of several channels at once, and the nearest of them to a new one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from caps.arrays import FloatArray, Rows, Singles
from caps.neighbours.config import NeighbourConfig
from caps.neighbours.index import Subsequences, Zone
from caps.series import bridge

AT_ONCE = 256  # subsequences that are looked up at a time


@dataclass(frozen=True, eq=False)
class JointIndex(Subsequences):
    """Subsequences of one length, of all channels together."""

    subsequences: Singles  # (subsequence, channel, row)

    @classmethod
    def of(cls, rows: FloatArray, length: int, config: NeighbourConfig) -> "JointIndex | None":
        """Of training rows (time, channel), evenly over them; None where too few were observed."""
        if len(rows) < config.training_lengths * length:
            return None
        seen = sliding_window_view(np.isfinite(rows).mean(axis=1), length).mean(axis=1)
        starts = np.flatnonzero(seen >= config.least_observed)
        if len(starts) < 2 * length:  # nothing would be left beside those that overlap
            return None
        if len(starts) > config.index_size:
            starts = starts[np.linspace(0, len(starts) - 1, config.index_size).astype(np.intp)]
        bridged = np.asarray(bridge(rows.T).T, dtype=np.float64)
        return cls(length, starts, joint_subsequences(bridged, starts, length))

    def distances(self, queries: Singles, exclusion_zone: Zone | None = None) -> FloatArray:
        """How far each channel is from where the nearest of all has it (query, channel).

        Root mean squares; not-a-number where none was left outside of the exclusion zone.
        """
        found = np.empty(queries.shape[:2])
        for first in range(0, len(queries), AT_ONCE):
            chunk = slice(first, min(first + AT_ONCE, len(queries)))
            asked = queries[chunk]
            apart = self._sizes - 2 * (asked.reshape(len(asked), -1) @ self._table)
            if exclusion_zone is not None:
                low, high = (side[chunk] for side in exclusion_zone)
                for row in np.flatnonzero(high > low):
                    apart[row, low[row] : high[row]] = np.inf
            nearest = apart.argmin(axis=1)
            away = asked - self.subsequences[nearest]
            found[chunk] = np.sqrt(np.square(away, dtype=np.float64).mean(axis=2))
            found[chunk][np.isinf(apart[np.arange(len(asked)), nearest])] = np.nan
        return found

    @cached_property
    def _table(self) -> Singles:
        return np.ascontiguousarray(self.subsequences.reshape(len(self.starts), -1).T)

    @cached_property
    def _sizes(self) -> Singles:
        return np.asarray(np.square(self._table).sum(axis=0))


def joint_subsequences(rows: FloatArray, starts: Rows, length: int) -> Singles:
    """Of bridged rows (time, channel): (subsequence, channel, row); a channel without any is 0."""
    known = np.nan_to_num(rows).astype(np.float32)
    return np.ascontiguousarray(sliding_window_view(known, length, axis=0)[starts])
