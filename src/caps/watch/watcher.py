"""The loop of `caps watch`: lines in, events out, the state saved before anything is told."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.arrays import FloatArray
from caps.errors import ArtifactError, CapsError, InputError
from caps.series import duration
from caps.stream import Counts, EventChange, Stream, Update
from caps.watch.following import Lines
from caps.watch.incidents import Incident, Incidents, shown
from caps.watch.records import Record, Records
from caps.watch.remarks import SILENT, Remarks, Silence
from caps.watch.state import WatchState
from caps.watch.webhook import Webhook

if TYPE_CHECKING:
    from caps.estimator import CAPS

Line = dict[str, Any]
ModelOf = Callable[[str], "CAPS | None"]

SERIES = attrgetter("series")
PATIENCE = 0.25  # seconds to wait for lines before looking at the clock and at signals
MOST_SERIES = 10_000
REFUSED = {  # why a row was not taken in, and what there is to say of it
    "late": ("too late", "--lateness lets rows wait for earlier ones"),
    "duplicate": ("repeated", "their times were there before"),
    "ahead": ("far ahead", "no later row confirmed their time"),
}
EVENT = (
    "start", "end", "start_row", "end_row", "peak_row", "score", "p_value", "severity",
    "contributions", "silenced", "silenced_by",
)  # fmt: skip
REFITTED = "the model was fitted again: the watch goes on by the new version"
ADVICE = "the scores no longer look like those of calibration: fit again on recent rows"


@dataclass(eq=False)
class Watcher:
    """Feeds what is read to one stream for each series id and tells what happens.

    A state is saved before something is told, and holds what is to be told. A process killed at
    any moment goes on from the last state: it tells what the journal does not note as told, and
    scores the rows since then again, none of which had told anything.
    """

    model_of: ModelOf
    lines: Lines
    records: Records
    tell: Callable[[str], None]
    _: KW_ONLY
    webhook: Webhook | None = None
    state: WatchState | None = None
    lateness: int = 0
    recovery: int | np.timedelta64 | None = None
    updates: bool = False
    save_every: float = 60.0
    # Whether feedback or planned events were changed since it was asked last.
    changed: Callable[[], bool] = lambda: False
    streams: dict[str, Stream] = field(default_factory=dict, init=False)
    incidents: dict[str, Incidents] = field(default_factory=dict, init=False)
    silences: dict[str, Silence] = field(default_factory=dict, init=False)
    remarks: Remarks = field(default_factory=Remarks, init=False)
    unknown: int = field(default=0, init=False)  # rows of series without a model
    usable: int = field(default=0, init=False)  # rows of this run with a value for a model

    def __post_init__(self) -> None:
        records, state = self.records, self.state
        self.restarts, self.saved_at = self.lines.restarts, time.monotonic()
        records.complain = lambda complaint: self.remarks.count(
            "malformed lines", records.malformed, complaint
        )
        if self.webhook is not None and state is not None:
            self.webhook.arrived = lambda name: state.note("sent", name)

    def run(self, stop: Callable[[], bool]) -> Line:
        """Watch until the input ends or `stop` says so; returns the counts."""
        try:
            return self._run(stop)
        finally:
            if self.state is not None:
                self.state.release()

    def _run(self, stop: Callable[[], bool]) -> Line:
        self._restore()
        while not stop() and not self.lines.ended:
            found = self.records.parse(self.lines.read(PATIENCE))
            if self.changed():
                self._judge_anew()
            if self.lines.restarts > self.restarts:  # what was read belongs to the old file
                self.restarts = self.lines.restarts
                self.records.begin_again()
            by_series = groupby(sorted(found, key=SERIES), SERIES)  # arrival order is kept
            self._tell([line for name, rows in by_series for line in self._take(name, list(rows))])
            if time.monotonic() - self.saved_at >= self.save_every:
                self._save()
        if self.lines.ended and self.state is None:
            # Nobody can go on from here: what is open ends with the input.
            for name, stream in self.streams.items():
                self._tell(self._lines_of(name, stream, stream.finish()))
        left = 0
        if self.webhook is not None:
            asked = stop()
            patience = 2.0 if asked else 30.0
            left = len(self.webhook.close(patience, lambda: stop() and not asked))
        self._save()
        return self._summary(left)

    def _judge_anew(self) -> None:
        """Let a new version, and what people said and planned, count from the next row on."""
        for name, stream in self.streams.items():
            try:
                model = self.model_of(name)
                if model is None:
                    continue
                if model.fitted_.calibration.to_dict() != stream.fitted.calibration.to_dict():
                    new = model.stream(lateness=self.lateness)
                    new.take_over(*stream.state())
                    self.streams[name] = new
                    self.remarks.say(f"{REFITTED}{f': {name}' if name else ''}")
                self.streams[name].silencer = model.silencer()
            # Half edited, or of other channels: the last one that was sound counts.
            except (CapsError, KeyError, ValueError) as error:
                self.remarks.say(f"what was changed cannot be used ({error}): going on as before")

    def _take(self, name: str, rows: list[Record]) -> list[Line]:
        stream = self._stream(name)
        if stream is None:
            self.unknown += len(rows)
            self.remarks.count("rows of unknown series", self.unknown, f"no model for {name!r}")
            return []
        times = None if self.records.time is None else [row.time for row in rows]
        moments = None if times is None else np.array(times).astype("datetime64[ns]")
        values = np.array([row.values for row in rows])
        update = stream.extend(values, moments)
        self.usable += int(np.isfinite(values).any(axis=1).sum())
        self._remark(name, stream, values, update)
        return self._lines_of(name, stream, update)

    def _remark(self, name: str, stream: Stream, values: FloatArray, update: Update) -> None:
        """Tell of rows that were not taken in, and of channels that have gone."""
        for channel in self.silences[name].take(values):
            of = f" of {name!r}" if name else ""
            self.remarks.say(f"no value of {channel!r} in {SILENT} rows{of}: renamed?")
        newest = stream.arrivals.newest
        last = "" if newest is None else f", the newest is of {_moment(newest[1])}"
        for why in update.refused:
            what, advice = REFUSED[why]
            total = getattr(stream.counts, why)
            self.remarks.count(f"rows refused as {what}", total, advice + last, name)
        leap = stream.arrivals.leap
        if leap is not None and update.held:
            detail = f"its time {_moment(leap.time)} is far ahead{last}; the next rows decide"
            self.remarks.count("rows held", stream.counts.ahead + 1, detail, name)
        if returned := stream.counts.returned:
            detail = f"they were false{last}"
            self.remarks.count("jumps of the time taken back", returned, detail, name)

    def _lines_of(self, name: str, stream: Stream, update: Update) -> list[Line]:
        lines, incidents = [], self.incidents[name]
        for change in update.changes:
            if not change.alarm:
                incidents.silence(change)
                if change.what != "updated" or self.updates:
                    lines.append(_event(name, change, None, alert=False))
                continue
            heard = incidents.heard(change)
            over = incidents.ended_by(heard)
            if over is not None:
                lines.append(self._recovered(name, over, change.start))
            alert = incidents.begins(heard)
            if change.what == "closed":
                incidents.in_event = False
            if change.what != "updated" or self.updates or alert:
                lines.append(_event(name, change, incidents.number, alert))
        over = incidents.recovered(stream.rows)
        if over is not None:
            lines.append(self._recovered(name, over, stream.rows))
        if update.drift:
            when = None if update.times is None else shown(update.times[-1])
            facts = {"row": stream.rows - 1, "time": when, "advice": ADVICE}
            lines.append({"what": "drift", "series": name, "id": f"{name}:drift:{when}", **facts})
        return lines

    def _recovered(self, name: str, incident: Incident, row: int) -> Line:
        step, rows = self.streams[name].fitted.step, row - incident.end
        return {
            "what": "recovered",
            "series": name,
            "incident": incident.number,
            "events": incident.events,
            "id": f"{name}:{incident.start_time or incident.start}:recovered",
            "start": incident.start_time,
            "end": incident.end_time,
            "start_row": incident.start,
            "end_row": incident.end,
            "score": incident.score,
            "quiet_rows": rows,
            "quiet": None if step is None else duration(rows * step),
        }

    def _tell(self, lines: list[Line]) -> None:
        if lines:
            self._save(lines)
            self._print(lines)
            self._send(lines)

    def _print(self, lines: list[Line]) -> None:
        for line in lines:
            self.tell(json.dumps(line, allow_nan=False))
            if self.state is not None:
                self.state.note("printed", line["id"])

    def _send(self, lines: list[Line]) -> None:
        if self.webhook is None:
            return
        for line in lines:
            if line["what"] in ("recovered", "drift") or line.get("alert"):
                self.webhook.send(line)

    def _stream(self, name: str) -> Stream | None:
        if name not in self.streams:
            model = self.model_of(name) if len(self.streams) < MOST_SERIES else None
            if model is None:
                return None
            self.streams[name] = model.stream(lateness=self.lateness)
            recovery, step = self.recovery, model.fitted_.step
            if isinstance(recovery, np.timedelta64):
                if step is None:
                    raise InputError(
                        "the model knows no times", "give --recovery as a number of rows"
                    )
                recovery = math.ceil(recovery / step)
            self.incidents[name] = Incidents(recovery)
            self.silences[name] = Silence(model.fitted_.names)
        return self.streams[name]

    def _save(self, lines: list[Line] | None = None) -> None:
        """Save where things stand, with the lines that are about to be told."""
        self.saved_at = time.monotonic()
        if self.state is None:
            return
        pending = [] if self.webhook is None else self.webhook.pending()
        facts = {
            "position": self.lines.position(),
            "layout": self.records.layout(),
            "incidents": {name: each.facts() for name, each in self.incidents.items()},
            "pending": pending,
            "lines": lines or [],
            "malformed": self.records.malformed,
            "unknown": self.unknown,
        }
        self.state.save(self.streams, facts)
        if not lines and not pending:
            self.state.shorten()

    def _restore(self) -> None:
        saved = None if self.state is None else self.state.load()
        if self.state is None or saved is None:
            return
        facts = saved.extra
        try:
            for name in saved:
                stream = self._stream(name)
                if stream is None:
                    raise ArtifactError(f"there is no model for the series {name!r}", "add it")
                if saved.is_of(name, stream.fitted) or not saved.take_over(name, stream):
                    saved.restore(name, stream)
                else:
                    self.remarks.say(f"{REFITTED}{f': {name}' if name else ''}")
                self.incidents[name].restore(facts["incidents"][name])
            self.records.restore(facts["layout"])
            self.records.malformed, self.unknown = int(facts["malformed"]), int(facts["unknown"])
            if not self.lines.go_on(facts["position"]):
                self.remarks.say("the input is another file now: read from its start")
            if self.lines.offset == 0:
                self.records.begin_again()
            due = [*facts["pending"], *facts["lines"]]
            names = [line["id"] for line in due]
            printed, sent = (self.state.noted(how, names) for how in ("printed", "sent"))
            self._print([line for line in facts["lines"] if line["id"] not in printed])
            self._send([line for line in due if line["id"] not in sent])
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{saved.folder} is no state of a watch ({error})", "name another folder"
            ) from None

    def _summary(self, undelivered: int) -> Line:
        taken = [stream.counts.to_dict() for stream in self.streams.values()]
        total = {name: sum(each[name] for each in taken) for name in Counts().to_dict()}
        summary: Line = {
            "what": "summary",
            "series": len(self.streams),
            **total,
            "malformed": self.records.malformed,
            "unknown": self.unknown,
            "events": sum(stream.tracker.events for stream in self.streams.values()),
            "incidents": sum(each.number for each in self.incidents.values()),
            "drift": [name for name, stream in self.streams.items() if stream.drift.found],
            "held": sum(stream.arrivals.held for stream in self.streams.values()),
            "lines": self.records.lines,
            "usable": self.usable,
            "silent": {
                name: silent
                for name, each in self.silences.items()
                if each.total and (silent := each.silent())
            },
        }
        if self.webhook is not None:
            counts = ("delivered", "refused", "dropped")
            summary["webhook"] = {name: getattr(self.webhook, name) for name in counts}
            summary["webhook"]["undelivered"] = undelivered
        return summary


def _event(name: str, change: EventChange, incident: int | None, alert: bool) -> Line:
    facts = change.to_dict(shown)
    what = f"updated {change.end}" if change.what == "updated" else change.what
    return {
        "what": change.what,
        "series": name,
        "event": change.number,
        "incident": incident,
        "alert": alert,
        "id": f"{name}:{facts['start'] or change.start}:{what}",
        **{key: facts[key] for key in EVENT},
    }


def _moment(time: int | None) -> str | None:
    return None if time is None else shown(np.datetime64(time, "ns"))
