"""Day and week as contexts: what was at the same hour, and at the same hour of the same weekday.

Subsequences know nothing of the clock: a Wednesday shaped like a Sunday is like a Sunday to them.
"""

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.scoring.config import ScoringConfig


def cycles_of(step: np.timedelta64 | None, rows: int, config: ScoringConfig) -> tuple[int, ...]:
    """Rows of a day and of a week, where training holds several of them.

    >>> cycles_of(np.timedelta64(1, "h"), 240, ScoringConfig())
    (24, 168)
    >>> cycles_of(np.timedelta64(7, "m"), 4000, ScoringConfig())
    ()
    """
    whole = np.timedelta64(1, "D")
    if step is None or whole % step:
        return ()
    day = int(whole / step)
    fitting = [each for each in (day, 7 * day) if config.fewest_cycles * each <= rows]
    return tuple(fitting) if day >= config.shortest_cycle else ()


class Calendar:
    """Training rows, by their place in a cycle."""

    def __init__(self, rows: Singles, first: int, cycle: int, most: int) -> None:
        """`rows` of training, the `first` of which is its so many-th."""
        self.rows, self.first, self.cycle = rows, first, cycle
        self.count = min(most, -(-len(rows) // cycle))

    def errors(self, values: FloatArray, positions: Rows) -> FloatArray:
        """How far each row is from the nearest at the same place in another cycle.

        `positions` are those of the rows, counted from that where training began.
        """
        there, end = positions - self.first, len(self.rows) - 1
        last = end - (end - there) % self.cycle
        nearest = np.full(len(values), np.inf)
        for at in (last - self.cycle * back for back in range(self.count)):
            away = np.abs(values - self.rows[np.maximum(at, 0)])
            known = (at >= 0) & (at != there) & np.isfinite(away)  # none is compared with itself
            nearest = np.where(known, np.minimum(nearest, away), nearest)
        return np.where(np.isinf(nearest), np.nan, nearest)
