"""Endpoints for series: a file is written as it arrives, refused as soon as it is too much."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect

from caps.errors import CapsError
from caps.series import duration, write_moment
from caps.serve.answers import BODY, Lines, Proposal, Rows, SeriesFacts, problems, router_of
from caps.serve.files import DATA, SERIES, StoredSeries
from caps.serve.refusals import Refusal, in_fields
from caps.serve.requests import Chosen, Name, Span, Upload, Window
from caps.serve.service import Service, read_upload
from caps.serve.settings import Settings

CSV_BODY = {
    "requestBody": {
        "required": True,
        "description": "A CSV file with one row for each moment; gzip with Content-Encoding.",
        "content": {"text/csv": {"schema": {"type": "string", "minLength": 1}}},
    }
}
MOST_DRAWN = 12  # channels, if none are named
LONGEST_LINE = 1_000_000  # bytes of the first line: names of columns
DELIMITERS = b",;\t|"
QUICK = 5_000_000  # bytes of a file that is read in a moment


def series_routes(service: Service) -> APIRouter:
    """The endpoints under /v1/series."""
    router = router_of("series")

    @router.post("", status_code=201, openapi_extra=CSV_BODY, responses=BODY | problems(409))
    async def upload(request: Request, asked: Annotated[Upload, Query()]) -> SeriesFacts:
        """Upload a CSV file as a series."""
        with service.series.adding(asked.name) as folder:
            path = await take_in(request, folder, service.settings)
            pool = service.viewers if path.stat().st_size < QUICK else service.long_viewers
            like = None if asked.like is None else service.series.facts(asked.like).options
            return await pool.run(lambda: note_upload(path, asked, like))

    @router.get("")
    async def list_series() -> list[SeriesFacts]:
        """All uploaded series."""
        return service.series.described(service.series.facts, _damaged)

    @router.get("/{name}", responses=problems(404))
    async def show_series(name: Name) -> SeriesFacts:
        """One uploaded series."""
        return service.series.facts(name)

    @router.delete("/{name}", status_code=204, responses=problems(404))
    async def delete_series(name: Name) -> None:
        """Delete a series; models fitted on it stay."""
        service.series.delete(name)

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

    @router.get("/{name}/training", responses=problems(404))
    async def series_training(name: Name, chosen: Annotated[Chosen, Query()]) -> Proposal:
        """The part that a fit learns from if none is chosen."""
        return await service.query_series(name, lambda axis: axis.proposal(chosen.channels))

    return router


async def take_in(request: Request, folder: Path, settings: Settings) -> Path:
    """Write the request's body to `data.csv` in `folder`."""
    path, rows, first = folder / DATA, 0, b""
    try:
        with path.open("wb") as file:
            async for piece in request.stream():
                if len(first) < LONGEST_LINE and b"\n" not in first:
                    first += piece[:LONGEST_LINE]
                rows += piece.count(b"\n")
                if rows > settings.rows + 1:
                    raise Refusal(
                        413, f"the file has more than {settings.rows:,} rows", "send fewer rows"
                    )
                file.write(piece)
    except ClientDisconnect:
        raise Refusal(400, "the upload was cut off", "send the file again") from None
    if first.startswith(b"\x1f\x8b"):
        raise Refusal(415, "the file is packed", "send the header Content-Encoding: gzip with it")
    if first.startswith(b"PAR1"):
        raise Refusal(415, "the file is Parquet", "export the table as CSV")
    line = first.partition(b"\n")[0]
    if len(line) >= LONGEST_LINE or max(map(line.count, DELIMITERS)) >= settings.columns:
        raise Refusal(
            413, f"the file has more than {settings.columns:,} columns", "send fewer columns"
        )
    return path


def note_upload(path: Path, upload: Upload, like: Mapping[str, Any] | None = None) -> StoredSeries:
    """Read the file, and write down beside it what was read."""
    options = upload.options()
    if like is not None:
        given = {name: value for name, value in options.items() if value not in (None, [])}
        options = {**options, **like, **given}
    series = read_upload(path, upload.file, options)
    step, time, zone = series.sampling.step, series.time, series.timezone
    facts = StoredSeries(
        name=upload.name,
        file=upload.file,
        options=options,
        uploaded=datetime.now(UTC).isoformat(timespec="milliseconds"),
        rows=len(series),
        channels=list(series.channels),
        start=None if time is None else write_moment(time[0], "s", timezone=zone, separator="T"),
        end=None if time is None else write_moment(time[-1], "s", timezone=zone, separator="T"),
        step=None if step is None else duration(step),
        notes=in_fields(series.notes()),
    )
    path.with_name(SERIES).write_text(facts.model_dump_json(), encoding="utf-8")
    return facts


def _damaged(name: str, error: CapsError) -> SeriesFacts:
    return SeriesFacts(
        name=name, file="", rows=0, channels=[], start=None, end=None, step=None,
        notes=[f"{error.problem}: {error.remedy}"],
    )  # fmt: skip
