"""Where rows come from: lines of a file, or a Prometheus server that is asked again and again."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from caps.watch.following import Lines
from caps.watch.prometheus import Prometheus, QueryError
from caps.watch.records import Record, Records
from caps.watch.web import Unanswered, shown_address

MILLISECOND = 1_000_000  # nanoseconds
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds after a poll that failed


@dataclass(slots=True)
class Failure:
    """Since when a source cannot be read, in seconds since 1970, and why."""

    since: float
    why: str


class Source(ABC):
    """Hands out rows; `facts` says where to go on after the last of them."""

    name: str
    complain: Callable[[str], None]  # told what is left out and why
    again: ClassVar[bool]  # whether rows can be read again: nothing need be saved before it is told
    channels: tuple[str, ...] | None = None  # those of its rows, where the source decides on them
    step: np.timedelta64 | None = None  # between its rows, where the source decides on it
    failure: Failure | None = None
    ended = False

    @property
    def upto(self) -> int | None:
        """The time until which everything was read, in nanoseconds; None if it is not known."""
        return None

    @property
    def lines(self) -> int:
        """Lines read, as far as it reads lines."""
        return 0

    @property
    def malformed(self) -> int:
        """Lines left out."""
        return 0

    @property
    def timed(self) -> bool:
        """Whether its rows have times."""
        return True

    @abstractmethod
    def read(self, patience: float) -> list[Record]:
        """The next rows; none if nothing came within `patience` seconds."""

    def labels(self, series: str) -> Mapping[str, str]:
        """What is known of a series beside its id."""
        return {}

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Where to go on, as JSON values."""

    @abstractmethod
    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on from there."""


class LineSource(Source):
    """Rows in the lines of a file or of standard input."""

    again = False

    def __init__(self, lines_of: Lines, records: Records, *, name: str = "input") -> None:
        self.lines_of, self.records, self.name = lines_of, records, name
        self.channels = tuple(records.channels)
        self.restarts, self.newest = lines_of.restarts, 0
        self.complain = records.complain
        records.complain = lambda complaint: self.complain(complaint)

    @property
    def lines(self) -> int:
        return self.records.lines

    @property
    def malformed(self) -> int:
        return self.records.malformed

    @property
    def timed(self) -> bool:
        return self.records.time is not None

    @property
    def upto(self) -> int | None:
        return self.newest or None

    def read(self, patience: float) -> list[Record]:
        found = self.records.parse(self.lines_of.read(patience))
        self.ended = self.lines_of.ended
        if self.lines_of.restarts > self.restarts:  # what was read belongs to the old file
            self.restarts = self.lines_of.restarts
            self.records.begin_again()
        self.newest = max([self.newest, *(each.time for each in found if each.time is not None)])
        return found

    def facts(self) -> dict[str, Any]:
        return {
            "position": self.lines_of.position(),
            "layout": self.records.layout(),
            "malformed": self.records.malformed,
            "newest": self.newest,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.records.restore(facts["layout"])
        self.records.malformed, self.newest = int(facts["malformed"]), int(facts["newest"])
        if not self.lines_of.go_on(facts["position"]):
            print("the input is another file now: read from its start", file=sys.stderr, flush=True)
        if self.lines_of.offset == 0:
            self.records.begin_again()


@dataclass(eq=False)
class Polling(Source):
    """Rows of PromQL queries, asked for as they fall due; what was missed is read later.

    A row is due `delay` seconds after its time, so that it has been scraped. `since` is how many
    seconds before the first poll a watch without a state begins.
    """

    prometheus: Prometheus
    _: KW_ONLY
    name: str = "prometheus"
    prefix: str = ""  # of ids, where several sources are told apart
    delay: float = 5.0
    since: float = 0.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    again: ClassVar = True
    polls: int = field(default=0, init=False)  # that were answered
    failed: int = field(default=0, init=False)
    at: int | None = field(default=None, init=False)  # milliseconds: read until here

    @property
    def upto(self) -> int | None:
        return None if self.at is None else self.at * MILLISECOND

    def __post_init__(self) -> None:
        self.complain = lambda complaint: None
        self.channels = self.prometheus.channels
        self.step = np.timedelta64(self.prometheus.step, "ms").astype("timedelta64[ns]")
        self.known: dict[str, Mapping[str, str]] = {}
        self.pause, self.not_before = FIRST_PAUSE, 0.0

    def read(self, patience: float) -> list[Record]:
        now, step = self.clock(), self.prometheus.step
        due = self.prometheus.floor(now - self.delay)
        if self.at is None:
            self.at = due - int(self.since * 1000) // step * step - step
        self.at = self.at // step * step  # the step may be another one than before
        if due <= self.at or now < self.not_before:
            self.sleep(patience)
            return []
        try:
            found, end = self.prometheus.piece(self.at + step, due)
        except (Unanswered, QueryError) as error:
            if isinstance(error, QueryError) and not self.polls:
                raise  # it never worked: nobody waits for it to get better
            return self._failed(now, str(error))
        self.polls, self.pause, self.not_before, self.failure = self.polls + 1, FIRST_PAUSE, 0, None
        self.at = end
        rows = []
        for name, each in found.items():
            self.known[self.prefix + name] = each.labels
            rows += [
                Record(self.prefix + name, moment * MILLISECOND, values)
                for moment, values in zip(each.times.tolist(), each.values.tolist(), strict=True)
            ]
        return rows

    def _failed(self, now: float, why: str) -> list[Record]:
        self.failed += 1
        self.failure = Failure(now if self.failure is None else self.failure.since, why)
        self.not_before = now + self.pause
        self.pause = min(2 * self.pause, LONGEST_PAUSE)
        address = shown_address(self.prometheus.url)
        self.complain(f"{address}: {why}")
        return []

    def labels(self, series: str) -> Mapping[str, str]:
        return self.known.get(series, {})

    def facts(self) -> dict[str, Any]:
        return {"at": self.at, "labels": self.known}

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.at = None if facts["at"] is None else int(facts["at"])
        self.known = {name: dict(labels) for name, labels in facts["labels"].items()}
