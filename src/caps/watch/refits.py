"""Refits of a running watch: in a process of their own, shown, and then put in force.

A round fits all series that are due, as each round reads the past of every series from its source.
The watch goes on meanwhile, and takes over what is put in force as it takes over any version.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caps.errors import CapsError
from caps.jobs import Lost, Report, Worker
from caps.store import Store
from caps.stream import Stream
from caps.watch.config import WatchConfig
from caps.watch.remarks import Remarks
from caps.watch.telling import Line

BETWEEN = 600.0  # seconds between two rounds
AFTER_FAILURE = 3600.0  # seconds until what failed is tried again


@dataclass(frozen=True, slots=True)
class RefitRound:
    """What a round is told."""

    config: WatchConfig
    drifted: frozenset[str]  # series of which a stream has told drift
    now: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """What became of each series that was due, and when the next one will be."""

    done: tuple[dict[str, Any], ...] = ()
    left: float | None = None  # seconds; None: not by the clock


RunRound = Callable[[RefitRound], RoundEnd]


class Refitter:
    """Starts a round when one is due, and tells what it brought."""

    def __init__(
        self, config: WatchConfig, run_round: RunRound, clock: Callable[[], float]
    ) -> None:
        self.config, self.run_round, self.clock = config, run_round, clock
        self.worker: Worker | None = None
        self.next_at = 0.0  # the first round looks how old the models are
        self.not_before = 0.0  # also for drift
        self.asked: frozenset[str] = frozenset()  # drifting, and in a round that is over
        self.counts: Counter[str] = Counter()
        self.remarks = Remarks()

    def turn(self, streams: Mapping[str, Stream], tell: Callable[[list[Line]], None]) -> None:
        """Begin what is due; tell what has ended, and then put it in force."""
        if self.worker is not None:
            self._look(self.worker, tell)
            return
        now, drifted = self.clock(), frozenset[str]()
        if self.config.refits.on_drift:
            drifted = frozenset(name for name, each in streams.items() if each.drift.found)
        self.asked &= drifted  # one that was fitted again may drift again
        if now < self.not_before or (now < self.next_at and drifted <= self.asked):
            return
        self.worker = Worker()
        self.worker.give(self.run_round, RefitRound(self.config, drifted - self.asked, now))
        self.asked |= drifted

    def close(self) -> None:
        """End a round that is under way; what it fitted stays beside the version in force."""
        if self.worker is not None:
            self.worker.stop()
            self.worker = None

    def _look(self, worker: Worker, tell: Callable[[list[Line]], None]) -> None:
        while worker.connection.poll():
            message = worker.receive()
            if isinstance(message, Report):
                continue
            self.close()
            self._end(message, tell)
            return

    def _end(self, ended: RoundEnd | Lost, tell: Callable[[list[Line]], None]) -> None:
        now, problems = self.clock(), []
        if isinstance(ended, Lost):
            problems, ended = [ended.problem], RoundEnd()
        made = [each for each in ended.done if "version" in each]
        problems += [f"{each['series']}: {each['problem']}" for each in ended.done
                     if "problem" in each]  # fmt: skip
        tell([_line(each, waits=self.config.refits.review) for each in made])
        for each in made:
            self._take_over(each)
        for problem in problems:
            self.counts["failed"] += 1
            self.remarks.say(f"no refit of {problem}")
        waiting = [
            *([] if ended.left is None else [ended.left]),
            *([AFTER_FAILURE] * bool(problems)),
        ]
        self.not_before = now + BETWEEN
        self.next_at = now + min(waiting, default=float("inf"))

    def _take_over(self, made: dict[str, Any]) -> None:
        if self.config.refits.review:
            self.counts["waits"] += 1
            return
        try:
            store = Store(Path(made["folder"]))
            store.promote(made["version"], why=made["why"], change=made["change"])
            self.counts["in force"] += 1
        except (CapsError, OSError) as error:
            self.counts["failed"] += 1
            self.remarks.say(f"{made['series']}: {made['version']} is not in force: {error}")


def _line(made: dict[str, Any], *, waits: bool) -> Line:
    """What a new version changes, as a line."""
    change = made["change"] or {"gained": [], "lost": [], "kept": 0, "since": None}
    return {
        "what": "refit",
        "id": f"refit {made['series']} {made['version']}",
        "series": made["series"],
        "version": made["version"],
        "why": made["why"],
        "waits": waits,
        "gained": [each["start"] for each in change["gained"]],
        "lost": [each["start"] for each in change["lost"]],
        "kept": change["kept"],
        "since": change["since"],
        "alert": False,
    }
