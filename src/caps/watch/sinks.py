"""Where the lines of a watch go: every line once, on the output and to the sinks."""

import json
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar

from caps.watch.alerts import Alert, Choice, Chosen, is_alert
from caps.watch.state import WatchState
from caps.watch.telling import Line

MOST = 1000  # alerts that wait; the oldest give way
TIMEOUT = 10.0  # seconds for an answer, from the first byte sent to the last one read


@dataclass(eq=False)
class Sink(ABC):
    """Takes alerts and sees to it that they arrive, from a thread of its own.

    `arrived` is called with each id that need not be sent again, `choice` says which alerts are
    wanted.
    """

    # Whether it sends every alert once, noted one by one; else all that it knows, again.
    queue: ClassVar[bool]
    longest_pause: ClassVar[float]  # seconds

    url: str
    _: KW_ONLY
    name: str
    choice: Choice = field(default_factory=Chosen)
    timeout: float = TIMEOUT
    first_pause: float = 0.5  # seconds, doubled until the longest

    def __post_init__(self) -> None:
        self.delivered = self.refused = self.dropped = self.tries = 0
        self.failing = False  # whether the last try did not arrive
        self.arrived: Callable[[str], None] = lambda name: None
        self._changed = threading.Condition()
        self._closed = False

    @abstractmethod
    def send(self, alert: Alert) -> None:
        """Take in an alert; never waits."""

    @abstractmethod
    def pending(self) -> list[Alert]:
        """What is to be sent by the next watch if this one ends now."""

    @abstractmethod
    def close(self, patience: float, hurry: Callable[[], bool] = lambda: False) -> list[Alert]:
        """Wait until everything has arrived; what has not. `hurry` ends the wait at once."""

    @abstractmethod
    def _work(self) -> None:
        """Send what comes until it is closed."""

    def _start(self) -> None:
        threading.Thread(target=self._work, name=f"caps-{self.name}", daemon=True).start()

    def _say(self, what: str) -> None:
        print(f"{self.name}: {what}", file=sys.stderr, flush=True)


@dataclass(eq=False)
class Teller:
    """Prints lines and hands alerts to the sinks, but for what a watch before this one told."""

    show: Callable[[str], None]
    sinks: Sequence[Sink]
    state: WatchState | None  # whose journal notes what was told
    noted: frozenset[bytes] = frozenset()  # there by a watch before

    def __post_init__(self) -> None:
        if self.state is not None:
            for sink in self.sinks:
                sink.arrived = partial(self.state.note, _sent(sink.name))

    def print(self, lines: Sequence[Line]) -> None:
        """Show the lines."""
        for line in lines:
            if self.told("printed", line["id"]):
                continue
            self.show(json.dumps(line, allow_nan=False))
            if self.state is not None:
                self.state.note("printed", line["id"])

    def send(self, sink: Sink, lines: Sequence[Line]) -> None:
        """Hand a sink the alerts among the lines that it wants."""
        for line in lines:
            if not is_alert(line) or not sink.choice(line):
                continue
            # Neither what arrived, nor the beginning of what is known to be over.
            known = [line["id"], *line.get("ended_by", ())]
            if not any(self.told(_sent(sink.name), name) for name in known):
                sink.send(line)

    def pending(self) -> dict[str, list[Alert]]:
        """The alerts that wait, by sink."""
        return {sink.name: sink.pending() for sink in self.sinks}

    def close(self, stop: Callable[[], bool]) -> dict[str, Any]:
        """Wait for the sinks; what became of the alerts of each."""
        asked = stop()
        patience = 2.0 if asked else 30.0
        counts = {}
        for sink in self.sinks:
            left = len(sink.close(patience, lambda: stop() and not asked))
            counts[sink.name] = {
                "delivered": sink.delivered,
                "refused": sink.refused,
                "dropped": sink.dropped,
                "undelivered": left,
            }
        return counts

    def told(self, how: str, name: str) -> bool:
        """Whether a watch before this one told it."""
        return self.state is not None and self.state.entry(how, name) in self.noted


def _sent(sink: str) -> str:
    """How the journal calls that a sink need not get something again."""
    return f"sent to {sink.replace(' ', '-')}"
