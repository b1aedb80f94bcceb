"""What requests look like."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from caps.errors import InputError
from caps.scoring import OPTIONS
from caps.series import READ_OPTIONS, ReadOptions

# Starts with a letter or digit: no hidden file, no "..", no separator can be named.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME, max_length=64, examples=["pump-4"])]
Row = Annotated[int, Field(ge=0, le=10**12)]
Place = Row | Annotated[str, Field(min_length=1, max_length=40)]
Budget = Annotated[str, Field(min_length=1, max_length=40, examples=["1/day", "1/1000"])]
Position = float  # on the axis of a chart: milliseconds since 1970, or rows
Edge = Annotated[Position | None, Field(allow_inf_nan=False, description="position on the axis")]
SeriesName = Annotated[
    Name | None, Field(description="a stored series; that of the fit if left out")
]
MOST_ROWS = 20_000  # of one request for scores
Rowwise = Field(min_length=1, max_length=MOST_ROWS)


class Strict(BaseModel):
    """Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


_reading: dict[str, Any] = {
    name: (option.given, Field(option.default, max_length=80, description=option.help))
    if option.given in (str, str | None)
    else (option.given, Field(option.default, description=option.help))
    for name, option in READ_OPTIONS.items()
    if name != "exclude"
}
_Reading = create_model("_Reading", __base__=BaseModel, **_reading)


class Upload(_Reading):  # type: ignore[misc, valid-type]
    """How an uploaded file is called and read."""

    name: Name
    file: str = Field("the file", min_length=1, max_length=200)
    time: str | None = Field(None, min_length=1, max_length=200, description="time column")
    no_time: bool = Field(False, description="take no column for the time")
    columns: list[str] | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="channels; all numbers but labels if left out",
    )
    exclude: list[str] = Field([], max_length=1000, description="columns to leave out")
    like: Name | None = Field(
        None, description="a stored series: this one is read as that was where nothing is given"
    )

    def options(self) -> dict[str, Any]:
        """What `caps.series.read` is to be given, as JSON values."""
        chosen = self.model_dump(include={*READ_OPTIONS})
        chosen["exclude"] = tuple(chosen["exclude"])
        given = ReadOptions(**chosen).given()
        if self.no_time and self.time is not None:
            raise InputError("time and no_time at once", "give one of them")
        time = False if self.no_time else self.time
        return {**given, "time": time, "columns": self.columns, "exclude": self.exclude}


class Span(BaseModel):
    """Part of the axis of a chart; all of it if left out."""

    left: Edge = None
    right: Edge = None


class Chosen(BaseModel):
    """Channels of a series."""

    channels: list[str] | None = Field(None, max_length=1000, description="all if left out")


class Window(Span):
    """What a chart shows."""

    channels: list[str] | None = Field(None, max_length=50, description="all if left out")
    points: int = Field(2_000, ge=2, le=20_000)


class ModelWindow(Window):
    """What a chart with scores shows."""

    series: SeriesName = None


class Asked(BaseModel):
    """What a model is asked about."""

    series: SeriesName = None
    alarms: Budget | None = Field(None, description="an alarm budget; the model's own if left out")


class AskedScores(Asked):
    """What a file of scores is to hold."""

    bands: bool = Field(
        False, description="also what was expected and the range that counts as normal"
    )


class AskedOfFit(Asked):
    """The same of a fit that is known."""

    fit: str | None = Field(None, max_length=64, description="as listed; refused if it has changed")


class Marked(Strict):
    """All marks of a model: rows of the series of its fit, the end exclusive."""

    marks: list[tuple[Row, Row]] = Field(max_length=1000)


# Columns of times belong to an upload, weights to the service.
_offered: dict[str, Any] = {
    name: (option.given, Field(option.default, description=option.help))
    for name, option in OPTIONS.items()
    if option.given is not None and name not in ("time", "pretrained")
}
_Options = create_model("_Options", __base__=Strict, **_offered)


class FitRequest(_Options):  # type: ignore[misc, valid-type]
    """What to learn from, and how."""

    series: Name
    columns: list[str] | None = Field(None, min_length=1, max_length=1000)
    skip: int = Field(0, ge=0, le=10**12, description="rows at the start to leave out")
    train: int | float | str | None = Field(
        None,
        description="rows after those skipped, a share of them, the moment training ends, all, or "
        "steady, which is proposed if it is left out",
    )
    alarms: Budget | None = Field(
        None, description="that of the model if it is fitted again, else 1/1000"
    )
    known: list[tuple[Place, Place]] = Field(
        default_factory=list, max_length=1000, description="known anomalies: rows or moments"
    )
    seed: int = Field(0, ge=0, lt=2**63)
    replace: bool = Field(False, description="fit a model again that exists already")
    review: bool = Field(
        False, description="keep the new fit beside the one in force until it is chosen"
    )


class ScoreRequest(Strict):
    """Rows to score: one list for each channel of the model, null for what was not observed."""

    columns: dict[str, Annotated[list[float | None], Rowwise]] = Field(
        min_length=1,
        max_length=1000,
        description=f"lists of one length, at most {MOST_ROWS:,} rows",
        examples=[{"load": [1.0, 1.2, None, 0.9]}],
    )
    time: Annotated[list[str], Rowwise] | None = Field(
        None, description="times in order, like 2024-03-01T12:00"
    )
    bands: bool = Field(
        False, description="answer also what was expected and the range that counts as normal"
    )

    @model_validator(mode="after")
    def _check_lengths(self) -> "ScoreRequest":
        lengths = {len(column) for column in self.columns.values()}
        if self.time is not None:
            lengths.add(len(self.time))
        if len(lengths) > 1:
            raise ValueError("the lists have different lengths")
        return self


class StreamRows(ScoreRequest):
    """The next rows of a stream, in the order in which they came."""

    lateness: int = Field(
        0, ge=0, le=1000, description="steps a row waits for earlier ones; read when it begins"
    )


class Judgement(AskedOfFit, Strict):
    """What an event was, named by its number in the list under the same budget."""

    event: int = Field(ge=1, le=10**9)
    verdict: Literal["normal", "incident"]
    kind: str | None = Field(None, min_length=1, max_length=200, description="of an incident")
    note: str = Field("", max_length=200)
    dry_run: bool = Field(False, description="show what would change, and leave it at that")


class ChosenVersion(Strict):
    """Which fit is to answer."""

    fit: str = Field(max_length=64)


class Alarms(Strict):
    """Another alarm budget of the model, for everybody who names none."""

    alarms: Budget
