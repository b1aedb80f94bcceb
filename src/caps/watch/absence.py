"""No data is an event too: a series that stops, a source that cannot be read."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from caps.watch.incidents import shown
from caps.watch.sources import Source
from caps.watch.telling import Line, origin_of

ENDS = {"no_data": ("data_again", "forgotten"), "source_down": ("source_up",)}  # by beginnings
TABLES = ("heard", "source_of", "stopped", "down")


class Absence:
    """Tells of every series and source once that nothing comes any more, and once that it does.

    A series has stopped if its source has been read until `limit` nanoseconds after its last row;
    after `forget` nanoseconds it is forgotten. A source is down if it could not be read for
    `limit`. Nothing is told without a limit, and of no series that has stopped while `planned` says
    of it and the time that something is planned.
    """

    def __init__(
        self,
        limit: int | None,
        forget: int | None = None,
        planned: Callable[[str, int], bool] = lambda series, moment: False,
    ) -> None:
        self.limit, self.forget, self.planned = limit, forget, planned
        self.heard: dict[str, int] = {}  # time of the last row of each series, nanoseconds
        self.source_of: dict[str, str] = {}
        self.stopped: dict[str, int] = {}  # series that have stopped: since when
        self.down: dict[str, Line] = {}  # sources that are down: the line that told it
        self._looked: dict[str, int] = {}

    def hear(self, series: str, source: str, moment: int, labels: Mapping[str, str]) -> list[Line]:
        """A series has a row of this time; a line if it had stopped."""
        self.heard[series] = max(moment, self.heard.get(series, moment))
        self.source_of[series] = source
        since = self.stopped.pop(series, None)
        if since is None:
            return []
        reason = f"Rows come again, after none since {_clock(since)}."
        origin = origin_of(series, source, labels)
        return [_line("data_again", origin, _clock(since), _clock(moment), reason)]

    def missing(self, source: Source) -> list[Line]:
        """Lines of series of this source that have just stopped, or are forgotten."""
        upto = source.upto
        if self.limit is None or upto is None or self._looked.get(source.name) == upto:
            return []
        self._looked[source.name] = upto
        lines = []
        for series, moment in list(self.heard.items()):
            if self.source_of.get(series) != source.name:
                continue
            silent, end = upto - moment, None
            if series not in self.stopped and silent >= self.limit:
                if self.planned(series, upto):
                    continue
                self.stopped[series] = moment
                what, said = "no_data", "see whether it is still measured"
            elif self.forget is not None and silent >= self.forget:
                del self.stopped[series], self.heard[series], self.source_of[series]
                what, said, end = "forgotten", "it is not watched any more", _clock(upto)
            else:
                continue
            origin = origin_of(series, source.name, source.labels(series))
            start = _clock(moment)
            lines.append(_line(what, origin, start, end, f"No row since {start}: {said}."))
        return lines

    def outage(self, source: Source, now: float) -> list[Line]:
        """A line if a source went down or came back, in seconds since 1970."""
        failure, told = source.failure, self.down.get(source.name)
        origin = origin_of("", source.name, {})
        if failure is None and told is not None:
            del self.down[source.name]
            reason = f"It can be read again; rows since {told['start']} are read now."
            return [_line("source_up", origin, told["start"], _now(now), reason)]
        if failure is None or told is not None or self.limit is None:
            return []
        if (now - failure.since) * 1e9 < self.limit:
            return []
        reason = f"It cannot be read: {failure.why}."
        line = _line("source_down", origin, _now(failure.since), None, reason)
        self.down[source.name] = line
        return [line]

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        return {name: getattr(self, name) for name in TABLES}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        for name in TABLES:
            setattr(self, name, dict(facts[name]))

    def drop(self, series: str) -> None:
        """Forget a series that is not watched any more."""
        for table in (self.heard, self.stopped, self.source_of):
            table.pop(series, None)


def _line(what: str, origin: Line, start: str, end: str | None, reason: str) -> Line:
    of_source = what.startswith("source")
    name = origin["source"] if of_source else origin["series"]
    ends = ENDS.get(what)
    return {
        "what": what,
        **origin,
        "alert": ends is not None,
        "id": f"{name}:{start}:{what}",
        **({"ended_by": [f"{name}:{start}:{each}" for each in ends]} if ends else {}),
        "start": start,
        "end": end,
        "severity": "high",
        "direction": None,
        "size": None,
        "kind": "source down" if of_source else "no data",
        "channels": [],
        "reason": reason,
    }


def _clock(moment: int) -> str:
    return shown(np.datetime64(moment, "ns"))


def _now(seconds: float) -> str:
    return _clock(int(seconds) * 10**9)
