"""Endpoints for streams: rows as they come, scores and events in return."""

from pathlib import Path

from fastapi import APIRouter

from caps.errors import InputError
from caps.estimator import CAPS
from caps.serve.cache import Cache
from caps.serve.files import STREAMS
from caps.serve.schemas import Name, StreamRows, StreamUpdate, problems
from caps.serve.service import Service
from caps.serve.streams import LiveStream

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
        model, fit = service.model(name), service.models.fit(name)
        folder = fit.parent / STREAMS / stream
        return live.get((name, stream), lambda: LiveStream(folder)), model, fit

    @router.post("/{stream}", responses=problems(400, 408, 413, 415, 507))
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
