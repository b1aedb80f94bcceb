"""Endpoints for uploaded series."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from caps.errors import CapsError
from caps.serve.schemas import Lines, Name, Rows, SeriesFacts, Span, Upload, Window, problems
from caps.serve.service import Service
from caps.serve.uploads import note_upload, take_in

CSV_BODY = {
    "requestBody": {
        "required": True,
        "description": "A CSV file with one row for each moment; gzip with Content-Encoding.",
        "content": {"text/csv": {"schema": {"type": "string", "minLength": 1}}},
    }
}
MOST_DRAWN = 12  # channels, if none are named
QUICK = 5_000_000  # bytes of a file that is read in a moment


def series_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/series."""
    router = APIRouter(
        prefix="/v1/series", tags=["series"], responses=problems(401, 403, 421, 422, 429, 500, 503)
    )

    @router.post(
        "",
        status_code=201,
        openapi_extra=CSV_BODY,
        responses=problems(400, 408, 409, 413, 415, 507),
    )
    async def upload(request: Request, asked: Annotated[Upload, Query()]) -> SeriesFacts:
        """Upload a CSV file as a series."""
        with service.series.adding(asked.name) as folder:
            path = await take_in(request, folder, service.settings)
            pool = service.viewers if path.stat().st_size < QUICK else service.long_viewers
            return await pool.run(lambda: note_upload(path, asked))

    @router.get("")
    async def list_series() -> list[SeriesFacts]:
        """All uploaded series."""
        return service.series.described(service.series.facts, _damaged)

    @router.get("/{name}", responses=problems(404))
    async def show_series(name: Name) -> SeriesFacts:
        """One uploaded series."""
        return service.series.facts(name)

    @router.delete("/{name}", status_code=204, responses=problems(404))
    async def delete_series(name: Name) -> Response:
        """Delete a series; models fitted on it stay."""
        service.series.delete(name)
        return Response(status_code=204)

    @router.get("/{name}/lines", responses=problems(404))
    async def series_lines(name: Name, window: Annotated[Window, Query()]) -> Lines:
        """Channels as a chart shows them, thinned by minimum and maximum."""
        return await service.query_series(
            name, lambda axis: axis.lines(window, axis.series.channels[:MOST_DRAWN])
        )

    @router.get("/{name}/rows", responses=problems(404))
    async def series_rows(name: Name, span: Annotated[Span, Query()]) -> Rows:
        """The rows between two positions on the axis."""
        return await service.query_series(name, lambda axis: axis.span(span))

    return router


def _damaged(name: str, error: CapsError) -> SeriesFacts:
    return SeriesFacts(
        name=name, file="", rows=0, channels=[], start=None, end=None, step=None,
        notes=[f"{error.problem}: {error.remedy}"],
    )  # fmt: skip
