"""Rows as they arrive: late, twice, out of order, with gaps; put in order on a regular grid.

The rows handed on are those that a file of them, sorted and each time once, would have given. One
wrong time does not decide what is late: a jump ahead is held until another row confirms it, and
rows that go on where a jump left off show that it was false.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.stream.config import ArrivalConfig


@dataclass(slots=True)
class Counts:
    """What arrived, and what became of it."""

    rows: int = 0  # accepted
    missing: int = 0  # accepted without any value
    out_of_order: int = 0  # accepted, though a later row had come before
    late: int = 0  # refused: its turn had passed
    duplicate: int = 0  # refused: another row had its position
    ahead: int = 0  # refused: far ahead, and no later row confirmed it
    completed: int = 0  # taken into a row held that lacked its values
    off_grid: int = 0  # accepted, more than a tenth of a step beside the grid
    returned: int = 0  # times that a jump, or the first row, turned out to be false
    gaps: int = 0
    absent: int = 0  # rows left out in the gaps

    def to_dict(self) -> dict[str, int]:
        """As JSON values."""
        return asdict(self)

    def refused(self) -> dict[str, int]:
        """Rows that were not taken in, by reason."""
        return {"late": self.late, "duplicate": self.duplicate, "ahead": self.ahead}


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """One row: its position on the grid, its time in nanoseconds and its values (channel,)."""

    position: int
    time: int | None
    values: FloatArray


class Arrivals:
    """Accepts rows in any order and hands them on in theirs.

    A row is handed on once a row `lateness` steps later has come. Without a `step` rows are equal
    steps, and a time only tells whether a row is late; jumps are then judged by the
    `typical_step`.
    """

    def __init__(
        self,
        step: int | None,
        lateness: int = 0,
        typical_step: int | None = None,
        config: ArrivalConfig | None = None,
    ) -> None:
        self.step, self.lateness, self.config = step, lateness, config or ArrivalConfig()
        self.typical_step = step or typical_step or 0
        self.counts = Counts()
        self.newest: tuple[int, int | None] | None = None  # position and time
        self.interval = 0  # between the two newest rows
        self.passed: int | None = None  # last position handed on
        self.recent: deque[int] = deque(maxlen=self.config.remembered)
        self.waiting: dict[int, Arrival] = {}
        self.leap: Arrival | None = None  # far ahead, to be confirmed
        self.jumped: tuple[int | None, int] | None = None  # times before and after the last jump
        self.returning: list[Arrival] = []  # in sequence between these times

    @property
    def held(self) -> int:
        """Rows that came and are not handed on yet."""
        return len(self._held())

    def add(self, values: FloatArray, time: int | None) -> None:
        """Take in a row, or count why not."""
        known = None if self.newest is None else self.newest[1]
        if time is None or known is None:
            self._accept(values, time)
        elif time - known > self._leap_length():
            self._far_ahead(Arrival(0, time, values), known)
        else:
            if time > known:
                self._drop_leap()
            self._accept(values, time)

    def ready(self, *, everything: bool = False) -> list[Arrival]:
        """The rows whose turn has come, in order; with `everything` no other row will come."""
        if everything:
            self._settle()
        if self.newest is None:
            return []
        due = self.newest[0] - (0 if everything else self.lateness)
        found = [self.waiting.pop(position) for position in sorted(self.waiting) if position <= due]
        for arrival in found:
            self._hand_on(arrival)
        return found

    def _leap_length(self) -> float:
        """Nanoseconds ahead of the newest row from which on a row must be confirmed."""
        # A stream that comes more rarely than training did does not jump with every row.
        step = max(self.typical_step, self.interval)
        return max(self.config.leap, self.lateness) * step if step else float("inf")

    def _far_ahead(self, arrival: Arrival, known: int) -> None:
        before, self.leap = self.leap, arrival
        if before is None:
            return
        assert before.time is not None
        assert arrival.time is not None
        later = arrival.time - before.time
        if later == 0:  # a clock that stands still confirms nothing
            self.leap = self._merged(before, arrival)
        elif 0 < later <= max(self.config.farthest * self.typical_step, before.time - known):
            self.leap = None
            self._accept(before.values, before.time)
            self._accept(arrival.values, arrival.time)
        else:
            self.counts.ahead += 1

    def _drop_leap(self) -> None:
        self.counts.ahead += self.leap is not None
        self.leap = None

    def _settle(self) -> None:
        """Decide on the rows held, as no other will come: a last row harms none after it."""
        leap, known = self.leap, None if self.newest is None else self.newest[1]
        if leap is not None and leap.time is not None and known is not None:
            if leap.time - known <= self.config.farthest * self.typical_step:
                self.leap = None
                self._accept(leap.values, leap.time)
            self._drop_leap()
        self._drop_returning()

    def _accept(self, values: FloatArray, time: int | None) -> None:
        position, beside = self._position(time)
        arrival, held = Arrival(position, time, values), self.waiting.get(position)
        if self._is_past(position):
            if position in self.recent:
                self.counts.duplicate += 1
            else:
                self._late(arrival)
            return
        if held is not None:
            merged = self._merged(held, arrival)
            empty = [not np.isfinite(each.values).any() for each in (held, merged)]
            self.counts.missing += empty[1] - empty[0]
            self.waiting[position] = merged
            return
        self.counts.rows += 1
        self.counts.missing += not np.isfinite(values).any()
        self.counts.off_grid += beside
        if self.newest is None or position > self.newest[0]:
            self._go_on(position, time)
        else:
            self.counts.out_of_order += 1
        self.waiting[position] = arrival

    def _is_past(self, position: int) -> bool:
        """Whether the turn of this position has come, even if nothing after it has."""
        if self.passed is not None and position <= self.passed:
            return True
        return self.newest is not None and position < self.newest[0] - self.lateness

    def _go_on(self, position: int, time: int | None) -> None:
        """Make a row the newest."""
        known = None if self.newest is None else self.newest[1]
        self._drop_returning()
        if time is not None and known is None:
            self.jumped = None, time
        elif time is not None and known is not None:
            if time - known > self._leap_length():
                self.jumped = known, time
            self.interval = time - known
        self.newest = position, time

    def _late(self, arrival: Arrival) -> None:
        """Refuse a row, unless it is one of several that go on where a jump left off."""
        time = arrival.time
        if time is None or self.jumped is None:
            self.counts.late += 1
            return
        before, after = self.jumped
        if not (before is None or time > before) or time >= after:
            self.counts.late += 1
            return
        last = self.returning[-1].time if self.returning else None
        if last is not None and time <= last:
            self._drop_returning()
        self.returning.append(arrival)
        if len(self.returning) == self.config.returning:
            self._return()

    def _return(self) -> None:
        """The jump was false: leave it, with so long a gap that none of its rows counts."""
        assert self.newest is not None
        rows, self.returning = self.returning, []
        self.counts.returned += 1
        self.counts.ahead += len(self.waiting) + (self.leap is not None)
        self.counts.rows -= len(self.waiting)
        self.counts.missing -= sum(
            not np.isfinite(each.values).any() for each in self.waiting.values()
        )
        self.waiting, self.leap, self.jumped, self.interval = {}, None, None, 0
        first = rows[0].time
        assert first is not None
        self.passed = self.newest[0] + self.config.farthest
        self.newest = self.passed, first - max(self.typical_step, 1)
        for row in rows:
            self._accept(row.values, row.time)

    def _drop_returning(self) -> None:
        self.counts.late += len(self.returning)
        self.returning = []

    def _position(self, time: int | None) -> tuple[int, bool]:
        """The position of a row, and whether it lies beside the grid."""
        if self.newest is None:
            return 0, False
        newest, known = self.newest
        if time is None or known is None:
            return newest + 1, False
        if self.step is None:
            if time > known:
                return newest + 1, False
            return (newest if time == known else newest - self.config.remembered), False
        # Counted from the newest row, as in a file from row to row: clocks that run slow or fast
        # by less than half a step a row do no harm.
        steps = (time - known) / self.step
        whole = round(steps)
        return newest + whole, whole > 0 and abs(steps - whole) > self.config.off_grid * whole

    def _merged(self, held: Arrival, arrival: Arrival) -> Arrival:
        """Another message for a row that is held may bring channels that the first lacked."""
        both = np.where(np.isfinite(held.values), held.values, arrival.values)
        if np.isfinite(both).sum() == np.isfinite(held.values).sum():
            self.counts.duplicate += 1
            return held
        self.counts.completed += 1
        return Arrival(held.position, held.time, both)

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
            "interval": self.interval,
            "passed": self.passed,
            "recent": list(self.recent),
            "held": [[each.position, each.time] for each in self._held()],
            "leap": self.leap is not None,
            "jumped": self.jumped,
            "returning": len(self.returning),
        }

    def held_values(self, channels: int) -> FloatArray:
        """Values (row, channel) of the rows that are held, in the order of `facts`."""
        return np.array([each.values for each in self._held()]).reshape(-1, channels)

    def restore(self, facts: Mapping[str, Any], values: FloatArray) -> None:
        """Continue from a state; `values` are those of the rows that are held."""
        self.counts = Counts(**{name: int(count) for name, count in facts["counts"].items()})
        newest, jumped = facts["newest"], facts["jumped"]
        self.newest = None if newest is None else (int(newest[0]), _whole(newest[1]))
        self.jumped = None if jumped is None else (_whole(jumped[0]), int(jumped[1]))
        self.interval, self.passed = int(facts["interval"]), _whole(facts["passed"])
        self.recent = deque(
            (int(position) for position in facts["recent"]), maxlen=self.config.remembered
        )
        held = [
            Arrival(int(position), _whole(time), row)
            for (position, time), row in zip(facts["held"], values, strict=True)
        ]
        self.leap = held.pop() if facts["leap"] else None
        returning = len(held) - int(facts["returning"])
        self.returning, held = held[returning:], held[:returning]
        self.waiting = {each.position: each for each in held}

    def _held(self) -> list[Arrival]:
        waiting = [self.waiting[position] for position in sorted(self.waiting)]
        return [*waiting, *self.returning, *([] if self.leap is None else [self.leap])]


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
