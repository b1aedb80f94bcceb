"""The loop of `caps watch`: rows in, events out; a kill loses nothing and repeats nothing."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import groupby
from operator import attrgetter

import numpy as np

from caps.arrays import FloatArray
from caps.errors import ArtifactError, CapsError, InputError
from caps.fitted_model import FittedModel
from caps.scoring import Band, Fitted
from caps.stream import Counts, EventChange, Stream, Update
from caps.watch.absence import Absence
from caps.watch.alerts import RANKS
from caps.watch.config import WatchConfig
from caps.watch.incidents import Incident, Incidents, shown
from caps.watch.models import ModelOf, check_fits
from caps.watch.records import Record
from caps.watch.remarks import SILENT, Remarks, Silence
from caps.watch.sinks import Sink, Teller
from caps.watch.sources import Source
from caps.watch.state import WatchState
from caps.watch.telling import (
    Line,
    drift_line,
    event_id,
    event_line,
    origin_of,
    recovered_line,
    risen_line,
    said_of,
)

SERIES = attrgetter("series")
PATIENCE = 0.25  # seconds to wait for rows before looking at the clock and at signals
MOST_SERIES = 10_000
CHUNK = 256  # rows of a series at once: the stream still has those of the events they bring
SAVING = 0.05  # of the time at most: a state of many series is saved less often
REFUSED = {  # why a row was not taken in, and what there is to say of it
    "late": ("too late", "--lateness lets rows wait for earlier ones"),
    "duplicate": ("repeated", "their times were there before"),
    "ahead": ("far ahead", "no later row confirmed their time"),
}
REFITTED = "the model was fitted again: the watch goes on by the new version"


@dataclass(slots=True)
class Latest:
    """The newest row of a series, for whoever looks at the watch."""

    values: tuple[float, ...] = ()
    time: int | None = None  # nanoseconds
    score: float = math.nan
    band: Band | None = None  # what was expected of its channels


@dataclass(eq=False)
class Watcher:
    """Feeds what is read to one stream for each series id and tells what happens.

    A state is saved before something is told, and holds what is to be told. A process killed at
    any moment goes on from the last state: it tells what the journal does not note as told, and
    scores the rows since then again, none of which had told anything. Where the source can be read
    again, nothing is saved before it is told: the rows since the last state bring the same lines
    again, by the same ids, and the journal knows which of them were told.
    """

    model_of: ModelOf
    sources: Sequence[Source]
    tell: Callable[[str], None]
    _: KW_ONLY
    sinks: Sequence[Sink] = ()
    state: WatchState | None = None
    config: WatchConfig = field(default_factory=WatchConfig)
    # Whether models, feedback or planned events were changed since it was asked last.
    changed: Callable[[], bool] = lambda: False
    # Fits again what is due, and tells of it; None: nothing is.
    refits: Callable[[Mapping[str, Stream], Callable[[list[Line]], None]], None] | None = None
    # Whether something is planned for a series at a time in nanoseconds.
    planned: Callable[[str, int], bool] = lambda name, moment: False
    clock: Callable[[], float] = time.time
    streams: dict[str, Stream] = field(default_factory=dict, init=False)
    models: dict[str, FittedModel] = field(default_factory=dict, init=False)
    incidents: dict[str, Incidents] = field(default_factory=dict, init=False)
    silences: dict[str, Silence] = field(default_factory=dict, init=False)
    latest: dict[str, Latest] = field(default_factory=dict, init=False)
    remarks: Remarks = field(default_factory=Remarks, init=False)
    unknown: int = field(default=0, init=False)  # rows of series without a model
    usable: int = field(default=0, init=False)  # rows of this run with a value for a model
    busy: float = field(default=0.0, init=False)  # processor seconds on rows
    saved_at: float | None = field(default=None, init=False)  # seconds since 1970

    def __post_init__(self) -> None:
        steps = [source.step for source in self.sources if source.step is not None]
        self.absence = Absence(*self.config.patience(steps), self.planned)
        self.homes: dict[str, Source] = {}
        self.next_save = time.monotonic() + self.config.save_every
        self.teller = Teller(self.tell, self.sinks, self.state)
        for source in self.sources:
            source.complain = self._complaint(source)

    def run(self, stop: Callable[[], bool]) -> Line:
        """Watch until the input ends or `stop` says so; returns the counts."""
        try:
            return self._run(stop)
        finally:
            if self.state is not None:
                self.state.release()

    def _run(self, stop: Callable[[], bool]) -> Line:
        self._restore()
        while not stop() and not self._ended:
            if self.refits is not None:
                self.refits(self.streams, self.teller.print)
            if self.changed():
                self._judge_anew()
            for source in self.sources:
                self._turn(source, PATIENCE / len(self.sources))
            # At once when it begins, so that after a kill it goes on from the same rows.
            if time.monotonic() >= self.next_save or (self.saved_at is None and self.streams):
                self._save()
        if self._ended and self.state is None:
            # Nobody can go on from here: what is open ends with the input.
            for name, stream in self.streams.items():
                self._tell(self._lines_of(name, stream, stream.finish()))
        delivery = self.teller.close(stop)
        self._save()
        return {**self._summary(), **delivery}

    def _judge_anew(self) -> None:
        """Let a new version, and what people said and planned, count from the next row on."""
        others = False
        for name, stream in self.streams.items():
            try:
                model = self.model_of(name)
                if model is None or _judges_alike(model, self.models[name]):
                    continue
                others = True
                if _other_fit(model.fitted_, stream.fitted):
                    check_fits(model, name, self.homes[name])
                    new = self._stream_of(name, model)
                    new.take_over(*stream.state())
                    self.streams[name] = new
                    self._say_refitted(name)
                self.streams[name].silencer, self.models[name] = model.silencer(), model
            # Half edited, or of other channels: the last one that was sound counts.
            except (CapsError, KeyError, ValueError) as error:
                self.remarks.say(f"what was changed cannot be used ({error}): going on as before")
        if others:
            self._save()  # so that after a kill no row is judged by what came after it

    def _say_refitted(self, name: str) -> None:
        self.remarks.say(f"{REFITTED}{f': {name}' if name else ''}")

    @property
    def _ended(self) -> bool:
        return all(source.ended for source in self.sources)

    def _turn(self, source: Source, patience: float) -> None:
        """Take in what one source brings, or tell that it brings nothing."""
        if source.ended:
            return
        found = source.read(patience)
        started = time.process_time()
        by_series = groupby(sorted(found, key=SERIES), SERIES)  # arrival order is kept
        lines = [line for name, rows in by_series for line in self._take(name, list(rows), source)]
        for line in self.absence.missing(source):
            lines += self._forgotten(line)
        self.busy += time.process_time() - started
        self._tell(lines, save=not source.again)
        self._tell(self.absence.outage(source, self.clock()))

    def _take(self, name: str, rows: list[Record], source: Source) -> Iterator[Line]:
        if self.config.rule_of(name).ignore:
            return
        stream = self._stream(name, source)
        if stream is None:
            self.unknown += len(rows)
            self.remarks.count("rows of unknown series", self.unknown, f"no model for {name!r}")
            return
        last = rows[-1].time
        if source.timed and last is not None:
            yield from self.absence.hear(name, source.name, last, source.labels(name))
        for first in range(0, len(rows), CHUNK):
            part = rows[first : first + CHUNK]
            times = [row.time for row in part] if source.timed else None
            moments = None if times is None else np.array(times).astype("datetime64[ns]")
            values = np.array([row.values for row in part])
            update = stream.extend(values, moments)
            self.usable += int(np.isfinite(values).any(axis=1).sum())
            self._remark(name, stream, values, update)
            self._remember(name, part[-1], update)
            yield from self._lines_of(name, stream, update)

    def _remember(self, name: str, row: Record, update: Update) -> None:
        latest = self.latest.setdefault(name, Latest())
        latest.values, latest.time = tuple(row.values), row.time
        if len(update.scores):
            latest.score = update.score
            latest.band = Band(*(each[-1] for each in update.band))

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

    def _lines_of(self, name: str, stream: Stream, update: Update) -> Iterator[Line]:
        incidents = self.incidents[name]
        for change in update.changes:
            if not change.alarm and not self._told_as_alarm(name, change):
                incidents.silence(change)
                if change.what != "updated" or self.config.updates:
                    updated = change.what == "updated"
                    said = {} if updated else said_of(self.models[name], stream, change)
                    yield event_line(self._origin(name), change, None, alert=False, said=said)
                continue
            for heard in incidents.heard(change):
                over = incidents.ended_by(heard)
                if over is not None:
                    yield self._recovered(name, over, heard.start)
                alert = incidents.begins(heard)
                assert incidents.current is not None
                yield from self._event_lines(name, stream, heard, incidents.current, alert)
        over = incidents.recovered(stream.rows)
        if over is not None:
            yield self._recovered(name, over, stream.rows)
        if update.drift:
            yield drift_line(self._origin(name), stream.rows - 1, update.times)

    def _told_as_alarm(self, name: str, change: EventChange) -> bool:
        """Whether an event was an alarm before it was silenced: then it stays one to its end."""
        opened = event_id(name, replace(change, silence=None), "opened")
        return self.incidents[name].open == change.number or self.teller.told("printed", opened)

    def _event_lines(
        self, name: str, stream: Stream, change: EventChange, incident: Incident, alert: bool
    ) -> Iterator[Line]:
        severity, was = change.severity, incident.severity
        worse = severity is not None and (was is None or RANKS[severity] > RANKS[was])
        told = change.what != "updated" or self.config.updates
        if not told and not worse:
            return
        said: Line = {}
        if change.what != "updated" or worse:
            said = said_of(self.models[name], stream, change)
        if said and change.score >= incident.strength:
            incident.said, incident.strength = said, change.score
        if worse:
            incident.severity = severity
        if told:
            yield event_line(self._origin(name), change, incident.number, alert, said)
        if worse and was is not None:
            yield risen_line(self._origin(name), change, incident, was, said)

    def _forgotten(self, line: Line) -> list[Line]:
        """A line of a series that stopped; one that is forgotten goes with all that it has."""
        name = line["series"]
        if line["what"] != "forgotten" or name not in self.streams:
            return [line]
        current, row = self.incidents[name].current, self.streams[name].rows
        over = [] if current is None else [self._recovered(name, current, row)]
        for table in (self.streams, self.models, self.incidents, self.silences, self.latest):
            table.pop(name, None)
        return [*over, line]

    def _recovered(self, name: str, incident: Incident, row: int) -> Line:
        step = self.models[name].fitted_.step
        return recovered_line(self._origin(name), incident, row, step)

    def _origin(self, name: str) -> Line:
        source = self.homes[name]
        return origin_of(name, source.name, source.labels(name))

    def _tell(self, lines: list[Line] | Iterator[Line], *, save: bool = True) -> None:
        lines = list(lines)
        if lines:
            if save:
                self._save(lines)
            self.teller.print(lines)
            for sink in self.sinks:
                self.teller.send(sink, lines)

    def _stream(self, name: str, source: Source) -> Stream | None:
        if name not in self.streams:
            model = self.model_of(name) if len(self.streams) < MOST_SERIES else None
            if model is None:
                return None
            check_fits(model, name, source)
            recovery, step = self.config.recovery, model.fitted_.step
            if isinstance(recovery, np.timedelta64):
                if step is None:
                    raise InputError(
                        "the model knows no times", "give --recovery as a number of rows"
                    )
                recovery = math.ceil(recovery / step)
            self.streams[name], self.models[name] = self._stream_of(name, model), model
            self.incidents[name] = Incidents(recovery)
            self.silences[name] = Silence(model.fitted_.names)
        self.homes[name] = source
        return self.streams[name]

    def _stream_of(self, name: str, model: FittedModel) -> Stream:
        stream, budget = model.stream(lateness=self.config.lateness), self.config.budget_of(name)
        if budget is not None:
            stream.tracker.threshold = model.fitted_.threshold(budget)
        return stream

    def _save(self, lines: list[Line] | None = None) -> None:
        """Save where things stand, with the lines that are about to be told."""
        started = time.monotonic()
        self.next_save = started + self.config.save_every
        self.saved_at = self.clock()
        if self.state is None:
            return
        noted = self.state.noted
        pending = self.teller.pending()
        facts = {
            "sources": {source.name: source.facts() for source in self.sources},
            "homes": {name: source.name for name, source in self.homes.items()},
            "incidents": {name: each.facts() for name, each in self.incidents.items()},
            "absence": self.absence.facts(),
            "pending": pending,
            "lines": lines or [],
            "unknown": self.unknown,
        }
        self.state.save(self.streams, facts)
        now = time.monotonic()
        self.next_save = max(self.next_save, now + (now - started) / SAVING)
        if not lines and not any(pending[sink.name] for sink in self.sinks if sink.queue):
            self.state.shorten(noted)

    def _restore(self) -> None:
        if self.state is None:
            return
        saved, self.teller.noted = self.state.load(), self.state.entries()
        if saved is None:
            return
        facts = saved.extra
        try:
            by_name = {source.name: source for source in self.sources}
            for name, source in by_name.items():
                if name in facts["sources"]:
                    source.restore(facts["sources"][name])
            self.absence.restore(facts["absence"])
            for name in saved:
                home = by_name.get(facts["homes"][name])
                if home is None or self.config.rule_of(name).ignore:
                    self.absence.drop(name)
                    continue
                stream = self._stream(name, home)
                if stream is None:
                    raise ArtifactError(f"there is no model for the series {name!r}", "add it")
                if saved.is_of(name, stream.fitted) or not saved.take_over(name, stream):
                    saved.restore(name, stream)
                else:
                    self._say_refitted(name)
                self.incidents[name].restore(facts["incidents"][name])
            self.unknown = int(facts["unknown"])
            self.teller.print(facts["lines"])
            for sink in self.sinks:
                self.teller.send(sink, [*facts["pending"].get(sink.name, ()), *facts["lines"]])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{saved.folder} is no state of a watch ({error})", "name another folder"
            ) from None

    def _summary(self) -> Line:
        taken = [stream.counts.to_dict() for stream in self.streams.values()]
        total = {name: sum(each[name] for each in taken) for name in Counts().to_dict()}
        return {
            "what": "summary",
            "series": len(self.streams),
            **total,
            "malformed": sum(source.malformed for source in self.sources),
            "unknown": self.unknown,
            "events": sum(stream.tracker.events for stream in self.streams.values()),
            "incidents": sum(each.number for each in self.incidents.values()),
            "silenced": sum(each.silenced for each in self.incidents.values()),
            "drift": [name for name, stream in self.streams.items() if stream.drift.found],
            "held": sum(stream.arrivals.held for stream in self.streams.values()),
            "stopped": sorted(self.absence.stopped),
            "lines": sum(source.lines for source in self.sources),
            "usable": self.usable,
            "silent": {
                name: silent
                for name, each in self.silences.items()
                if each.total and (silent := each.silent())
            },
        }

    def _complaint(self, source: Source) -> Callable[[str], None]:
        def complain(complaint: str) -> None:
            if source.failure is not None:
                self.remarks.count("polls failed", 1, complaint, source.name)
            else:
                self.remarks.count("malformed lines", source.malformed, complaint)

        return complain


def _other_fit(new: Fitted, old: Fitted) -> bool:
    return new is not old and new.calibration.to_dict() != old.calibration.to_dict()


def _judges_alike(model: FittedModel, before: FittedModel) -> bool:
    """Whether nothing that decides on alarms is another: the fit, feedback, what is planned."""
    if model is before:
        return True
    new, old = model.fitted_, before.fitted_
    plans = [getattr(each, "planned_", None) for each in (model, before)]
    feedback = [each.facts.get("feedback", []) for each in (new, old)]
    return not _other_fit(new, old) and plans[0] == plans[1] and feedback[0] == feedback[1]


def _moment(time: int | None) -> str | None:
    return None if time is None else shown(np.datetime64(time, "ns"))
