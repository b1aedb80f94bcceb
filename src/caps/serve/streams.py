"""Streams of a model over HTTP: rows as they come, scores and events in return.

Each stream is continued after a restart and after a refit. What is in memory counts only once it is
written: a request that failed, on a full disk for example, has not happened, and can be sent again.
"""

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from fastapi import APIRouter

from caps.errors import ArtifactError, InputError
from caps.estimator import CAPS
from caps.series import write_moment
from caps.serve.answers import BODY, EventChange, StreamUpdate, router_of
from caps.serve.files import STREAMS, put_away
from caps.serve.lines import bands_of, listed
from caps.serve.pools import Cache
from caps.serve.refusals import missing, taken
from caps.serve.requests import Name, StreamRows
from caps.serve.service import Service
from caps.stream import SavedStreams, Stream, Update, save_streams

STREAMS_KEPT = 256  # in memory
MOST_STREAMS = 1000  # of one model
ID = ""  # there is one stream in a state
REFITTED = "the model was fitted again: the stream goes on, scored by the new fit"
ANEW = "the stream begins anew: the state it had does not fit the model"


@dataclass(eq=False)
class LiveStream:
    """A stream in memory and its folder."""

    folder: Path
    lock: Lock = field(default_factory=Lock)  # one request at a time
    fit: Path | None = None  # the model that the stream in memory is of
    stream: Stream | None = None  # None: to be read from its folder

    def feed(self, model: CAPS, fit: Path, request: StreamRows) -> StreamUpdate:
        """Take in rows and write the state."""
        rows = zip(*request.columns.values(), strict=True)
        values = [dict(zip(request.columns, row, strict=True)) for row in rows]
        with self.lock:
            stream, note = self._open(model, fit, request.lateness)
            self.stream = None  # until it is written
            update = stream.extend(values, request.time)
            if not fit.is_dir():
                raise missing("model", self.folder.parents[1].name)
            save_streams(self._state, {ID: stream}, {"fit": fit.name, **_kind(stream)})
            self.stream, self.fit = stream, fit
            return _told(update, stream, note, bands=request.bands)

    def end(self, model: CAPS, fit: Path) -> StreamUpdate:
        """Score what waits, close an open event, and forget the stream."""
        with self.lock:
            if not self._state.exists():
                raise missing("stream", self.folder.name)
            stream, note = self._open(model, fit, 0)
            self.stream = None
            update = stream.finish()
            put_away(self.folder)
            return _told(update, stream, note)

    @property
    def _state(self) -> Path:
        """The folder of the state; older versions counted how often they had written it."""
        found = (path for path in self.folder.glob("*") if path.name.isdecimal())
        return max(found, key=lambda path: int(path.name), default=self.folder / "1")

    def _open(self, model: CAPS, fit: Path, lateness: int) -> tuple[Stream, str]:
        if self.stream is not None and self.fit == fit:
            stream, note = self.stream, ""
        else:
            stream, note = self._continued(model, fit, lateness)
        stream.tracker.threshold = model.threshold_  # follows the alarm budget
        stream.silencer = model.silencer()  # and feedback
        return stream, note

    def _continued(self, model: CAPS, fit: Path, lateness: int) -> tuple[Stream, str]:
        """The stream as it was written last, or a new one."""
        stream = model.stream(lateness=lateness)
        try:
            saved = SavedStreams(self._state)
            if saved.extra.get("fit", fit.name) == fit.name:
                saved.restore(ID, stream)
                return stream, ""
            same = all(saved.extra.get(name) == fact for name, fact in _kind(stream).items())
            if same and saved.take_over(ID, stream):
                return stream, REFITTED
        except ArtifactError:
            if not self._state.exists():
                others = self.folder.parent
                if others.is_dir() and len(list(others.iterdir())) >= MOST_STREAMS:
                    raise taken(
                        f"the model has {MOST_STREAMS} streams already", "end some of them"
                    ) from None
                return stream, ""
        return model.stream(lateness=lateness), ANEW


def _told(update: Update, stream: Stream, note: str, *, bands: bool = False) -> StreamUpdate:
    return StreamUpdate(
        row=update.rows.tolist(),
        time=None if update.times is None else [_text(time) for time in update.times],
        score=listed(update.scores),
        p_value=listed(update.p_values),
        threshold=stream.tracker.threshold,
        changes=[
            EventChange(what=change.what, number=change.number, **change.to_dict(_text))
            for change in update.changes
        ],
        drift=update.drift,
        counts=stream.counts.to_dict(),
        refused=dict(update.refused),
        held=update.held,
        note=note,
        bands=bands_of(stream.fitted.names, update.band) if bands else None,
    )


def _text(time: np.datetime64) -> str:
    """A time in UTC, to the millisecond."""
    return write_moment(time, "ms", separator="T")


def _kind(stream: Stream) -> dict[str, Any]:
    """What two fits must have in common for a stream to go on: channels and step."""
    return {"channels": list(stream.fitted.names), "step": stream.arrivals.step}


def stream_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models/{name}/streams."""
    router = router_of("models/{name}/streams", 404, 409)
    live = Cache[LiveStream](STREAMS_KEPT)

    def of(name: str, stream: str) -> tuple[LiveStream, CAPS, Path]:
        """The stream, and the model that is in force."""
        model, fit = service.model(name, series=stream), service.models.fit(name)
        folder = fit.parent / STREAMS / stream
        return live.get((name, stream), lambda: LiveStream(folder)), model, fit

    @router.post("/{stream}", responses=BODY)
    async def feed_stream(name: Name, stream: Name, request: StreamRows) -> StreamUpdate:
        """Take in the next rows; the first begin the stream. Needs a model fitted causally."""

        def feed() -> StreamUpdate:
            found, model, fit = of(name, stream)
            check_columns(request, model)
            update = found.feed(model, fit, request)
            service.monitor.rows.inc(len(update.row))
            return update

        return await service.scorers.run(feed)

    @router.delete("/{stream}")
    async def end_stream(name: Name, stream: Name) -> StreamUpdate:
        """End a stream: what waits is scored, an open event is closed, the state is forgotten."""

        def end() -> StreamUpdate:
            found, model, fit = of(name, stream)
            return found.end(model, fit)

        return await service.scorers.run(end)

    return router


def check_columns(request: StreamRows, model: CAPS) -> None:
    """Refuse rows without a channel of the model: a misspelt one would be taken as not observed."""
    names = model.fitted_.names
    absent = [name for name in names if name not in request.columns]
    if absent:
        raise InputError(
            f"the rows have no {', '.join(absent)}",
            f"give a list for each of {', '.join(names)}, with null for what was not observed",
        )
