"""Endpoints for uploaded series."""

import logging
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from caps.errors import ArtifactError
from caps.serve.files import NAME
from caps.serve.lines import Axis
from caps.serve.refusals import Refusal
from caps.serve.schemas import Lines, Name, Rows, SeriesFacts, problems
from caps.serve.service import Service
from caps.serve.uploads import note_upload, read_upload, take_in

CSV_BODY = {
    "requestBody": {
        "required": True,
        "description": "A CSV file with one row for each moment; gzip with Content-Encoding.",
        "content": {"text/csv": {"schema": {"type": "string", "minLength": 1}}},
    }
}
Edge = Annotated[float | None, Query(allow_inf_nan=False, description="position on the axis")]
Points = Annotated[int, Query(ge=2, le=20_000)]
Channels = Annotated[list[str] | None, Query(max_length=50, description="all if left out")]
MOST_DRAWN = 12  # channels, if none are named
QUICK = 5_000_000  # bytes of a file that is read in a moment

log = logging.getLogger("caps.serve")


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
    async def upload(
        request: Request,
        name: Annotated[str, Query(pattern=NAME, max_length=64)],
        file: Annotated[str, Query(min_length=1, max_length=200)] = "the file",
        time: Annotated[
            str | None, Query(min_length=1, max_length=200, description="time column")
        ] = None,
        columns: Annotated[
            list[str] | None,
            Query(
                min_length=1,
                max_length=1000,
                description="channels; all numbers but labels if left out",
            ),
        ] = None,
        sort: bool = False,
        duplicates: Literal["error", "first", "last", "keep"] = "error",
        decimal: Literal[".", ","] = ".",
        time_format: Annotated[str | None, Query(min_length=1, max_length=80)] = None,
        timezone: Annotated[str | None, Query(min_length=1, max_length=80)] = None,
    ) -> SeriesFacts:
        """Upload a CSV file as a series."""
        options: dict[str, Any] = {
            "time": time,
            "columns": columns,
            "sort": sort,
            "duplicates": duplicates,
            "decimal": decimal,
            "time_format": time_format,
            "timezone": timezone,
        }
        with service.series.adding(name) as folder:
            path = await take_in(request, folder, service.settings)

            def read_and_note() -> dict[str, Any]:
                return note_upload(folder, file, options, read_upload(path, file, options))

            pool = service.viewers if path.stat().st_size < QUICK else service.long_viewers
            facts = await pool.run(read_and_note)
        return SeriesFacts(name=name, **facts)

    @router.get("")
    async def list_series() -> list[SeriesFacts]:
        """All uploaded series."""
        return [listed_series(service, name) for name in service.series.names()]

    @router.get("/{name}", responses=problems(404))
    async def show_series(name: Name) -> SeriesFacts:
        """One uploaded series."""
        return describe_series(service, name)

    @router.delete("/{name}", status_code=204, responses=problems(404))
    async def delete_series(name: Name) -> Response:
        """Delete a series; models fitted on it stay."""
        service.series.delete(name)
        return Response(status_code=204)

    @router.get("/{name}/lines", responses=problems(404))
    async def series_lines(
        name: Name,
        channels: Channels = None,
        left: Edge = None,
        right: Edge = None,
        points: Points = 2_000,
    ) -> Lines:
        """Channels as a chart shows them, thinned by minimum and maximum."""

        return await service.query_series(
            name, lambda axis: axis.lines(drawn(axis, channels), left, right, points)
        )

    @router.get("/{name}/rows", responses=problems(404))
    async def series_rows(name: Name, left: Edge = None, right: Edge = None) -> Rows:
        """The rows between two positions on the axis."""
        return await service.query_series(name, lambda axis: axis.span(left, right))

    return router


def describe_series(service: Service, name: str) -> SeriesFacts:
    """A series as it was noted at the upload."""
    try:
        return SeriesFacts(**{**service.series.facts(name), "name": name})
    except ValidationError:
        raise ArtifactError(f"the notes on the series {name!r} are odd", "delete it") from None


def listed_series(service: Service, name: str) -> SeriesFacts:
    """The same, or what is wrong with it: one damaged entry must not hide the others."""
    try:
        return describe_series(service, name)
    except (ArtifactError, Refusal) as error:
        log.error("the series %s is damaged: %s", name, error)
        return SeriesFacts(
            name=name, file="", rows=0, channels=[], start=None, end=None, step=None,
            notes=[f"{error.problem}: {error.remedy}"],
        )  # fmt: skip


def drawn(axis: Axis, channels: list[str] | None) -> list[str]:
    """The channels asked for, or the first few."""
    return list(axis.series.channels[:MOST_DRAWN]) if channels is None else channels
