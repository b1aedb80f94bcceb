"""The rows that are learned from: chosen, proposed or all, and the sentence that says so.

Whoever fits and scores the same file (`caps detect`, `caps.detect`, a fleet, the service) wants a
part of it to be proposed; whoever calls `fit` on a training set wants all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from caps.errors import ArtifactError
from caps.scoring.config import SteadyConfig
from caps.scoring.counters import find_counters, with_rates
from caps.scoring.options import STEADY, FitOptions
from caps.scoring.steady import Why, steady_stretch
from caps.series import Series, Unit, write_moment

LONG = np.timedelta64(3, "D")  # from then on days tell when
ANOTHER = "give train= to choose another part"
_WHY: Mapping[Why, str] = {
    "half": "",
    "before": "before a change at about {change}",
    "after": "after a change at about {change}",
    "short": "too few to keep some apart",
    "restless": "though no part of them looks steady",
}


@dataclass(frozen=True, slots=True)
class Learned:
    """Rows from `start` to `end` of the `rows` that a fit was given."""

    start: int
    end: int
    rows: int
    first: str = ""  # when they began and ended, where rows have times
    last: str = ""
    why: str = ""
    remedy: str = ""  # where nobody chose them

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def part(self) -> str:
        """Which rows, and why.

        >>> Learned(0, 2160, 4320, "2024-06-01", "2024-06-15").part
        'the first 2,160 of 4,320 rows, 2024-06-01 to 2024-06-15'
        >>> Learned(400, 600, 700).part
        'rows 400 to 599 of 700'
        """
        if len(self) == self.rows:
            which = f"all {self.rows:,} rows"
        elif self.start == 0:
            which = f"the first {self.end:,} of {self.rows:,} rows"
        else:
            which = f"rows {self.start:,} to {self.end - 1:,} of {self.rows:,}"
        when = f"{self.first} to {self.last}" if self.first else ""
        return ", ".join(each for each in (which, when, self.why) if each)

    @property
    def sentence(self) -> str:
        """What is said first of every result."""
        return f"learned from {self.part}" + (f": {self.remedy}" if self.remedy else "")

    def within(self, skipped: int, rows: int) -> Self:
        """The same of a longer series, of which so many rows were left out before."""
        return replace(self, start=self.start + skipped, end=self.end + skipped, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The same again, checked."""
        try:
            made = cls(**facts)
            whole = all(type(each) is int for each in (made.start, made.end, made.rows))
            texts = [getattr(made, each.name) for each in fields(cls)][3:]
            if not whole or not 0 <= made.start < made.end <= made.rows:
                raise ValueError("no rows")
            if not all(isinstance(each, str) for each in texts):
                raise ValueError("no texts")
            return made
        except (TypeError, ValueError) as error:
            problem = f"rows of training that cannot be read ({error})"
            raise ArtifactError(problem, "fit it again") from None


def rows_to_learn(
    series: Series,
    options: FitOptions,
    known: Sequence[tuple[int, int]] = (),
    config: SteadyConfig | None = None,
) -> Learned:
    """The rows of a series that a fit learns from; `known` anomalies are no reason for a change."""
    train, rows = options.train, len(series)
    if not (isinstance(train, str) and train.strip() == STEADY):
        end = len(series.training_part(train))
        return _told(Learned(0, end, rows, remedy=ANOTHER if train is None else ""), series)
    if options.counters:
        series = with_rates(series, find_counters(series, known, options.config.counters))
    found = steady_stretch(series.values_without(known), config or SteadyConfig())
    change = "" if found.change is None else _moment(series, found.change, "m")
    why = _WHY[found.why].format(change=change)
    return _told(Learned(found.start, found.end, rows, why=why, remedy=ANOTHER), series)


def _told(learned: Learned, series: Series) -> Learned:
    """With when they began and ended."""
    if series.time is None:
        return learned
    time = series.time[learned.start : learned.end]
    step = series.sampling.step
    fine: Unit = "m" if step is None or step >= np.timedelta64(60, "s") else "s"
    unit: Unit = "D" if time[-1] - time[0] >= LONG else fine
    first, last = (_moment(series, row, unit) for row in (learned.start, learned.end - 1))
    return replace(learned, first=first, last=last)


def _moment(series: Series, row: int, unit: Unit) -> str:
    if series.time is None:
        return f"row {row:,}"
    return write_moment(series.time[row], unit, timezone=series.timezone)
