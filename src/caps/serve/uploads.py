"""Taking in a CSV file: written as it arrives, refused as soon as it is too much, then read."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request

from caps.errors import InputError
from caps.series import Series, duration, read, write_moment
from caps.serve.files import DATA, SERIES, StoredSeries
from caps.serve.refusals import Refusal
from caps.serve.schemas import Upload
from caps.serve.settings import Settings

LONGEST_LINE = 1_000_000  # bytes of the first line: names of columns
DELIMITERS = b",;\t|"


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


def read_upload(path: Path, file: str, options: dict[str, Any]) -> Series:
    """Read the file; an error names it as the user does."""
    try:
        return read(path, **options)
    except InputError as error:
        raise InputError(error.problem.replace(str(path), file), error.remedy) from None


def note_upload(path: Path, upload: Upload) -> StoredSeries:
    """Read the file, and write down beside it what was read."""
    options = upload.model_dump(exclude={"name", "file"})
    series = read_upload(path, upload.file, options)
    step, time = series.sampling.step, series.time
    facts = StoredSeries(
        name=upload.name,
        file=upload.file,
        options=options,
        uploaded=datetime.now(UTC).isoformat(timespec="milliseconds"),
        rows=len(series),
        channels=list(series.channels),
        start=None if time is None else write_moment(time[0], "s", separator="T"),
        end=None if time is None else write_moment(time[-1], "s", separator="T"),
        step=None if step is None else duration(step),
        notes=series.notes(),
    )
    path.with_name(SERIES).write_text(facts.model_dump_json(), encoding="utf-8")
    return facts
