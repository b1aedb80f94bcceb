"""Alerts to Alertmanager, by its v2 API, as Prometheus itself sends them.

Alertmanager keeps alerts in memory and forgets them when it is killed, resolves what it has not
heard of for long, and says nothing of an alert that ends before its group has waited. So what is
open is sent again every minute, what is over for a quarter of an hour, and no end is sent before
its beginning has been there for a while. Alertmanager knows alerts by their labels: it does not
tell the same one twice.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from caps.watch.alerts import ENDS, Alert, alertmanager_labels, annotations, end_of, moment, rfc3339
from caps.watch.sinks import MOST, Sink
from caps.watch.web import Refused, Unanswered, check_address, post

RESEND = 60.0  # seconds between two messages of the same alert
VALID = 10  # times that, or more: unheard of for so long, Alertmanager takes it as resolved
SETTLE = 60.0  # seconds that an alert is there before its end: longer than `group_wait`
RETAIN = 900.0  # seconds that an end is sent again
DRIFT_LASTS = timedelta(days=1)  # nothing ends it but a refit
BATCH = 64  # alerts in a request


Stage = Literal["begin", "end"]


@dataclass(slots=True, eq=False)
class _Entry:
    """One alert: what began it, what ended it, and what Alertmanager was told."""

    begin: Alert
    end: Alert | None = None
    latest: Alert | None = None  # that says more of it
    fresh: bool = False  # whether Alertmanager has not heard that yet
    told: Stage | None = None  # and acknowledged
    first: float = 0.0  # when its beginning was acknowledged
    last: float = 0.0  # when it was acknowledged last
    over: float = 0.0  # when its end was


@dataclass(eq=False)
class Alertmanager(Sink):
    """Keeps Alertmanager's view of what is open up to date, from a thread of its own."""

    queue, longest_pause = False, 30.0

    _: KW_ONLY
    name: str = "alertmanager"
    labels: Mapping[str, str] = field(default_factory=dict)
    resend: float = RESEND
    settle: float = SETTLE
    retain: float = RETAIN
    kept: bool = False  # whether what waits is saved and sent by the next watch

    def __post_init__(self) -> None:
        super().__post_init__()
        check_address(self.url, "the Alertmanager")
        self._table: dict[tuple[str, ...], _Entry] = {}
        self._closing = False
        self._start()

    def send(self, alert: Alert) -> None:
        """Put an alert into the table, or take in its end; never waits."""
        with self._changed:
            key = _key(alert)
            entry = self._table.get(key)
            if entry is None:
                self._make_room()
                self._table[key] = _Entry(alert, end=alert if alert["what"] in ENDS else None)
            elif alert["what"] in ENDS:
                entry.end = {**alert, "began": alert.get("began") or entry.begin.get("severity")}
            elif alert["id"] != entry.begin["id"]:
                entry.latest, entry.fresh = alert, True
            self._changed.notify_all()

    def pending(self) -> list[Alert]:
        """The lines that the table is made of: the next watch goes on from them."""
        with self._changed:
            return [
                line
                for each in self._table.values()
                for line in (
                    (each.end,) if each.told == "end" else (each.begin, each.latest, each.end)
                )
                if line is not None
            ]

    def close(self, patience: float, hurry: Callable[[], bool] = lambda: False) -> list[Alert]:
        """Wait until Alertmanager has acknowledged everything; what it has not.

        Ends that wait for their beginning to settle are left to the next watch, if there is one.
        """
        with self._changed:
            self._closing = not self.kept
            self._changed.notify_all()
            deadline = time.monotonic() + patience
            while self._news() and not hurry() and time.monotonic() < deadline:
                self._changed.wait(0.05)
            self._closed = True
            self._changed.notify_all()
            return [each.end or each.begin for each in self._news()]

    def _news(self) -> list[_Entry]:
        """Those of which Alertmanager does not know what it could."""
        now = time.monotonic()
        return [
            each
            for each in self._table.values()
            if each.fresh or self._stage(each, now) != each.told
        ]

    def _make_room(self) -> None:
        while len(self._table) >= MOST:
            over = (key for key, entry in self._table.items() if entry.told == "end")
            key = next(over, None) or next(iter(self._table))
            self.dropped += self._table[key].told != "end"
            del self._table[key]

    def _work(self) -> None:
        pause = self.first_pause
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                self._forget(now)
                news = self._news()
                due = [
                    each
                    for each in self._table.values()
                    if each.last and now - each.last > self.resend
                ]
                batch = [(each, self._stage(each, now)) for each in [*news, *due][:BATCH]]
                heard = [each.latest for each, _ in batch]
                if not batch:
                    self._changed.wait(min(1.0, self.resend / 4, max(self.settle / 4, 0.01)))
                    continue
            again = self._post(batch)
            with self._changed:
                if again:
                    self._changed.wait_for(lambda: self._closed, pause)
                    pause = min(2 * pause, self.longest_pause)
                    continue
                pause = self.first_pause
                for (entry, stage), latest in zip(batch, heard, strict=True):
                    self._acknowledge(entry, stage, latest)
                self._changed.notify_all()

    def _stage(self, entry: _Entry, now: float) -> Stage:
        """What of it is to be told: the end not before its beginning was there for a while."""
        if entry.end is None:
            return "begin"
        if entry.end is entry.begin or entry.told == "end":
            return "end"
        settled = self._closing or now - entry.first >= self.settle
        return "end" if entry.told == "begin" and settled else "begin"

    def _acknowledge(self, entry: _Entry, stage: Stage, latest: Alert | None) -> None:
        now = time.monotonic()
        if entry.told is None:
            entry.first = now
        if entry.told != stage:
            self.delivered += 1
        entry.told, entry.last = stage, now
        entry.fresh &= entry.latest is not latest
        if stage == "end" and entry.end is not None and not entry.over:
            entry.over = now
            self.arrived(str(entry.end["id"]))

    def _forget(self, now: float) -> None:
        """Drop what Alertmanager has surely taken in."""
        for key, entry in list(self._table.items()):
            drift = entry.begin["what"] == "drift"  # ends by itself
            since = entry.over or (entry.first if drift else 0.0)
            if since and now - since >= self.retain:
                del self._table[key]

    def _post(self, batch: list[tuple[_Entry, Stage]]) -> bool:
        """Send alerts; whether to try again."""
        url = f"{self.url.rstrip('/')}/api/v2/alerts"
        body = json.dumps([self._alert(entry, stage) for entry, stage in batch]).encode()
        self.tries += 1
        try:
            post(url, body, {"Content-Type": "application/json"}, self.timeout)
            self.failing = False
            return False
        except Unanswered as problem:
            self._say(f"{problem}, tried again")
        except Refused as refusal:
            if refusal.code in (400, 422) and len(batch) > 1:
                # One that it cannot read must not hold up the others.
                return any([self._post([each]) for each in batch])
            self._say(f"it answers {refusal.code} {refusal.body[:200]!r}")
            if refusal.code in (400, 422):
                self.refused += 1
                return False
        self.failing = True
        return True

    def _alert(self, entry: _Entry, stage: Stage) -> dict[str, Any]:
        newest, wall = entry.latest or entry.begin, datetime.now(UTC)
        start = moment(entry.begin.get("start")) or wall
        if stage == "end" and entry.end is not None:
            newest, ends = entry.end, min(end_of(entry.end) or wall, wall)
        elif entry.begin["what"] == "drift":
            ends = start + DRIFT_LASTS
        else:
            ends = wall + timedelta(seconds=VALID * max(self.resend, RESEND))
        return {
            "labels": {**self.labels, **alertmanager_labels(entry.begin)},
            "annotations": annotations(newest),
            "startsAt": rfc3339(min(start, ends)),
            "endsAt": rfc3339(ends),
        }


def _key(line: Alert) -> tuple[str, ...]:
    labels = alertmanager_labels(line)
    return tuple(labels.get(name, "") for name in ("alertname", "series", "source", "incident"))
