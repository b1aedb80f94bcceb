"""Rows as they arrive: late, twice, out of order, with gaps; put in order on a regular grid.

The rows handed on are those that a file of them, sorted and each time once, would have given.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

OFF_GRID = 0.1  # of a step: more is no polling jitter
FARTHEST = 10_000  # rows ahead: believed only if the next arrival says the same
REMEMBERED = 512  # positions handed on, to tell a repeated row from a late one


@dataclass(slots=True)
class Counts:
    """What arrived, and what became of it."""

    rows: int = 0  # accepted
    missing: int = 0  # accepted without any value
    out_of_order: int = 0  # accepted, though a later row had come before
    late: int = 0  # refused: its place had been passed
    duplicate: int = 0  # refused: its place was taken
    ahead: int = 0  # refused: far in the future, and nobody confirmed it
    off_grid: int = 0  # accepted, more than a tenth of a step beside the grid
    gaps: int = 0
    absent: int = 0  # rows left out in the gaps

    def to_dict(self) -> dict[str, int]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """One row: its place on the grid, its time in nanoseconds and its values (channel,)."""

    position: int
    time: int | None
    values: FloatArray


class Arrivals:
    """Accepts rows in any order and hands them on in theirs.

    A row is handed on once a row `lateness` steps later has come. Without a `step` rows are equal
    steps, and a time only tells whether a row is late.
    """

    def __init__(self, step: int | None, lateness: int = 0) -> None:
        self.step, self.lateness = step, lateness
        self.counts = Counts()
        self.newest: tuple[int, int | None] | None = None  # position and time
        self.passed: int | None = None  # last position handed on
        self.recent: deque[int] = deque(maxlen=REMEMBERED)
        self.waiting: dict[int, Arrival] = {}
        self.leap: Arrival | None = None  # far ahead, to be confirmed

    def add(self, values: FloatArray, time: int | None) -> None:
        """Take in a row, or count why not."""
        position = self._position(time)
        newest = position if self.newest is None else self.newest[0]
        if position - newest > FARTHEST:
            self._far_ahead(Arrival(position, time, values))
            return
        if self.leap is not None:
            self.leap = None
            self.counts.ahead += 1
        self._accept(Arrival(position, time, values))

    def ready(self, *, everything: bool = False) -> list[Arrival]:
        """The rows whose turn has come, in order."""
        if self.newest is None:
            return []
        due = self.newest[0] - (0 if everything else self.lateness)
        found = [self.waiting.pop(place) for place in sorted(self.waiting) if place <= due]
        for arrival in found:
            self._hand_on(arrival)
        return found

    def _position(self, time: int | None) -> int:
        if self.newest is None:
            return 0
        newest, known = self.newest
        if time is None or known is None:
            return newest + 1
        if self.step is None:
            if time > known:
                return newest + 1
            return newest if time == known else newest - REMEMBERED
        # Counted from the newest row, as in a file from row to row: clocks that run slow or fast
        # by less than half a step a row do no harm.
        steps = (time - known) / self.step
        whole = round(steps)
        if whole > 0 and abs(steps - whole) > OFF_GRID * whole:
            self.counts.off_grid += 1
        return newest + whole

    def _far_ahead(self, arrival: Arrival) -> None:
        before, self.leap = self.leap, arrival
        if before is None:
            return
        if 0 < arrival.position - before.position <= FARTHEST:
            self.leap = None
            self._accept(before)
            self._accept(arrival)
        else:
            self.counts.ahead += 1

    def _accept(self, arrival: Arrival) -> None:
        position, held = arrival.position, self.waiting.get(arrival.position)
        if self.passed is not None and position <= self.passed:
            if position in self.recent:
                self.counts.duplicate += 1
            else:
                self.counts.late += 1
            return
        if held is not None:
            self._second(held, arrival)
            return
        self.counts.rows += 1
        self.counts.missing += not np.isfinite(arrival.values).any()
        if self.newest is None or position > self.newest[0]:
            self.newest = position, arrival.time
        else:
            self.counts.out_of_order += 1
        self.waiting[position] = arrival

    def _second(self, held: Arrival, arrival: Arrival) -> None:
        """Another message for a row that still waits may bring channels that the first lacked."""
        both = np.where(np.isfinite(held.values), held.values, arrival.values)
        if np.isfinite(both).sum() == np.isfinite(held.values).sum():
            self.counts.duplicate += 1
            return
        self.counts.missing -= not np.isfinite(held.values).any()
        self.waiting[held.position] = Arrival(held.position, held.time, both)

    def _hand_on(self, arrival: Arrival) -> None:
        if self.passed is not None and arrival.position > self.passed + 1:
            self.counts.gaps += 1
            self.counts.absent += arrival.position - self.passed - 1
        self.passed = arrival.position
        self.recent.append(arrival.position)

    def facts(self) -> dict[str, Any]:
        """The state as JSON values; those of the rows that wait are in `held_values`."""
        return {
            "counts": self.counts.to_dict(),
            "newest": self.newest,
            "passed": self.passed,
            "recent": list(self.recent),
            "held": [[each.position, each.time] for each in self._held()],
            "leap": self.leap is not None,
        }

    def held_values(self, channels: int) -> FloatArray:
        """Values (row, channel) of the rows that wait, the one to be confirmed last."""
        return np.array([each.values for each in self._held()]).reshape(-1, channels)

    def restore(self, facts: Mapping[str, Any], values: FloatArray) -> None:
        """Continue from a state; `values` are those of the rows that wait."""
        self.counts = Counts(**{name: int(count) for name, count in facts["counts"].items()})
        newest = facts["newest"]
        self.newest = None if newest is None else (int(newest[0]), _whole(newest[1]))
        self.passed = _whole(facts["passed"])
        self.recent = deque((int(place) for place in facts["recent"]), maxlen=REMEMBERED)
        held = [
            Arrival(int(position), _whole(time), row)
            for (position, time), row in zip(facts["held"], values, strict=True)
        ]
        self.leap = held.pop() if facts["leap"] else None
        self.waiting = {each.position: each for each in held}

    def _held(self) -> list[Arrival]:
        waiting = [self.waiting[place] for place in sorted(self.waiting)]
        return waiting if self.leap is None else [*waiting, self.leap]


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
