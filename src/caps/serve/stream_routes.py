"""Endpoints for streams: rows as they come, scores and events in return."""

from pathlib import Path

import numpy as np
from fastapi import APIRouter

from caps.errors import InputError
from caps.estimator import CAPS
from caps.series import write_moment
from caps.serve.cache import Cache
from caps.serve.lines import listed
from caps.serve.schemas import EventChange, Name, StreamRows, StreamUpdate, problems
from caps.serve.service import Service
from caps.serve.streams import LiveStream, Taken, stream_folder

STREAMS_KEPT = 256


def stream_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/models/{name}/streams."""
    router = APIRouter(
        prefix="/v1/models/{name}/streams",
        tags=["streams"],
        responses=problems(401, 403, 404, 409, 421, 422, 429, 500, 503),
    )
    live = Cache[LiveStream](STREAMS_KEPT)

    def of(name: str, stream: str) -> tuple[LiveStream, CAPS, Path]:
        """The stream, and the model that is in force."""
        model = service.model(name)
        fit = service.models.model(name, service.models.ready(name)).parent
        folder = stream_folder(service.models.existing(name), stream)
        return live.get((name, stream), lambda: LiveStream(folder)), model, fit

    @router.post("/{stream}", responses=problems(400, 408, 413, 415, 507))
    async def feed_stream(name: Name, stream: Name, request: StreamRows) -> StreamUpdate:
        """Take in the next rows; the first begin the stream. Needs a model fitted causally."""

        def feed() -> StreamUpdate:
            found, model, fit = of(name, stream)
            check_columns(request, model)
            rows = zip(*request.columns.values(), strict=True)
            values = [dict(zip(request.columns, row, strict=True)) for row in rows]
            taken = found.feed(
                model, fit, request.lateness, lambda each: each.extend(values, request.time)
            )
            service.monitor.rows.inc(len(taken.update.rows))
            return _stream_update(taken)

        return await service.scorers.run(feed)

    @router.delete("/{stream}")
    async def end_stream(name: Name, stream: Name) -> StreamUpdate:
        """End a stream: what waits is scored, an open event is closed, the state is forgotten."""

        def end() -> StreamUpdate:
            found, model, fit = of(name, stream)
            return _stream_update(found.end(model, fit))

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


def _stream_update(taken: Taken) -> StreamUpdate:
    update = taken.update
    return StreamUpdate(
        row=update.rows.tolist(),
        time=None if update.times is None else [_text(time) for time in update.times],
        score=listed(update.scores),
        p_value=listed(update.p_values),
        threshold=taken.threshold,
        changes=[
            EventChange(what=change.what, number=change.number, **change.to_dict(_text))
            for change in update.changes
        ],
        drift=update.drift,
        counts=taken.counts,
        refused=dict(update.refused),
        held=update.held,
        note=taken.note,
    )


def _text(time: np.datetime64) -> str:
    """A time in UTC, to the millisecond."""
    return write_moment(time, "ms", separator="T")
