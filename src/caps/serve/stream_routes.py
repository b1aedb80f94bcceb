"""Endpoints for streams: rows as they come, scores and events in return."""

from pathlib import Path

import numpy as np
from fastapi import APIRouter

from caps.detect.stream import Update
from caps.serve.cache import Cache
from caps.serve.lines import listed
from caps.serve.refusals import missing
from caps.serve.schemas import EventChange, Name, StreamRows, StreamUpdate, problems
from caps.serve.service import Service
from caps.serve.streams import LiveStream, delete_stream, open_stream

STREAMS_KEPT = 256


def stream_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models/{name}/streams."""
    router = APIRouter(
        prefix="/v1/models/{name}/streams",
        tags=["streams"],
        responses=problems(401, 403, 404, 409, 421, 422, 429, 500, 503),
    )
    live = Cache[LiveStream](STREAMS_KEPT)

    def of(name: str, stream: str, lateness: int) -> LiveStream:
        model = service.model(name)
        fit = service.models.model(name, service.models.ready(name)).parent
        found = live.get((fit, stream), lambda: open_stream(model, fit, stream, lateness))
        found.stream.tracker.threshold = model.threshold_  # follows the alarm budget
        return found

    @router.post("/{stream}", responses=problems(400, 408, 413, 415))
    async def feed_stream(name: Name, stream: Name, request: StreamRows) -> StreamUpdate:
        """Take in the next rows; the first begin the stream. Needs a model fitted causally."""

        def feed() -> StreamUpdate:
            found = of(name, stream, request.lateness)
            rows = zip(*request.columns.values(), strict=True)
            values = [dict(zip(request.columns, row, strict=True)) for row in rows]
            with found.lock:
                update = found.stream.extend(values, request.time)
                found.keep()
                service.monitor.rows.inc(len(update.rows))
                return _told(found, update)

        return await service.scorers.run(feed)

    @router.delete("/{stream}")
    async def end_stream(name: Name, stream: Name) -> StreamUpdate:
        """End a stream: what waits is scored, an open event is closed, the state is forgotten."""

        def end() -> StreamUpdate:
            fit: Path = service.models.model(name, service.models.ready(name)).parent
            if not (fit / "streams" / stream).is_dir():
                raise missing("stream", stream)
            found = of(name, stream, 0)
            with found.lock:
                update = found.stream.finish()
                delete_stream(fit, stream)
                live.forget((fit, stream))
                return _told(found, update)

        return await service.scorers.run(end)

    return router


def _told(live: LiveStream, update: Update) -> StreamUpdate:
    return StreamUpdate(
        row=update.rows.tolist(),
        time=None if update.times is None else [_text(time) or "" for time in update.times],
        score=listed(update.scores),
        p_value=listed(update.p_values),
        threshold=live.stream.tracker.threshold,
        changes=[
            EventChange(
                what=change.what,
                number=change.number,
                start_row=change.event.start,
                end_row=change.event.end,
                peak_row=change.event.peak,
                start=_text(change.event.start_time),
                end=_text(change.event.end_time),
                score=change.event.score,
                p_value=change.event.p_value,
                contributions=change.contributions,
            )
            for change in update.changes
        ],
        drift=update.drift,
        counts=live.stream.counts.to_dict(),
        refused=dict(update.refused),
        held=update.held,
    )


def _text(time: np.datetime64 | None) -> str | None:
    """A time in UTC, to the millisecond."""
    return None if time is None else str(time.astype("datetime64[ms]"))
