"""What requests and answers look like."""

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


class Problem(BaseModel):
    """Why a request was refused, and what to do."""

    problem: str
    remedy: str


class SeriesFacts(BaseModel):
    """An uploaded series."""

    name: str
    file: str
    rows: int
    channels: list[str]
    start: str | None
    end: str | None
    step: str | None
    notes: list[str]


class Line(BaseModel):
    """Points of a line; null lifts the pen."""

    name: str
    x: list[Position]
    y: list[float | None]


class ExpectedLine(Line):
    """What was expected of a channel, the range that counts as normal there, and its outline."""

    lower: list[float | None]
    upper: list[float | None]
    outline: Line


class Lines(BaseModel):
    """Part of a series as a chart shows it: thinned by minimum and maximum."""

    dated: bool
    label: str
    hover: str = Field(description="format of the moment under a pointer, as d3 writes it")
    extent: tuple[Position, Position] = Field(description="of the whole series")
    step: Position
    rows: tuple[int, int] = Field(description="rows shown, the end exclusive")
    lines: list[Line]
    expected: list[ExpectedLine] = Field(
        default_factory=list, description="of the channels that a model knows"
    )
    score: Line | None = None


class Rows(BaseModel):
    """Rows of a span of the axis, the end exclusive, and where they begin and end in time."""

    start: int
    end: int
    first: str | None
    last: str | None


class Proposal(Rows):
    """The rows that are learned from if none are chosen, where they lie, and why these."""

    extent: tuple[Position, Position] = Field(description="on the axis")
    why: str = Field(description="empty where it is simply the first half")


class Mark(Rows):
    """Rows that somebody marked as a known anomaly."""

    extent: tuple[Position, Position]


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


class FitState(BaseModel):
    """A fit under way, or the last one if it failed."""

    state: Literal["waiting", "running", "failed"]
    stage: str = ""
    share: float = 0.0
    seconds: float = 0.0
    left: float | None = None
    problem: str = ""
    remedy: str = ""


class ModelFacts(BaseModel):
    """A model: whether it is ready, what it learned from, and its fit under way."""

    name: str
    ready: bool
    series: str
    columns: list[str]
    train: tuple[int, int] | None = None
    learned: str = Field(default="", description="the part it learned from, and why that one")
    known: list[tuple[int | str, int | str]]
    alarms: str
    notes: list[str]
    seconds: float | None = None
    fit: FitState | None = None


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


class AnyEvent(BaseModel):
    """What is known of every event; the end row is exclusive, `end` is the time of the last row."""

    number: int
    start_row: int
    end_row: int
    peak_row: int
    start: str | None
    end: str | None
    score: float
    p_value: float | None
    severity: Literal["low", "medium", "high"] | None
    alarm: bool = Field(True, description="false for one that is scored, but told to nobody")
    silenced: Literal["feedback", "planned"] | None = None
    silenced_by: str | None = Field(None, description="id of the feedback, or what was planned")


class EventChange(AnyEvent):
    """An event of a stream that was opened, updated or closed; the end row is exclusive."""

    what: Literal["opened", "updated", "closed"]
    contributions: dict[str, float]


class RowBand(BaseModel):
    """What was expected of a channel in each row, and the range that counts as normal."""

    expected: list[float | None]
    lower: list[float | None]
    upper: list[float | None]


Bands = Annotated[dict[str, RowBand] | None, Field(description="by channel; null unless asked for")]


class StreamUpdate(BaseModel):
    """What rows brought to a stream: scores of those that wait no longer, and changed events."""

    row: list[int]
    time: list[str] | None
    score: list[float | None]
    p_value: list[float | None]
    threshold: float
    changes: list[EventChange]
    drift: bool = Field(description="scores no longer look like those of the calibration")
    counts: dict[str, int]
    refused: dict[str, int] = Field(description="rows of this request not taken in, by reason")
    held: int = Field(description="rows so far that wait for others before they are scored")
    note: str = Field("", description="told once, after the model was fitted again")
    bands: Bands = None


class Event(AnyEvent):
    """An event; the end row is exclusive, `end` is the time of the last row."""

    peak: str | None
    lasting: str
    extent: tuple[Position, Position]
    channel: str
    carriers: list[str] = Field(description="the channels that carry it, the largest share first")


class Scores(BaseModel):
    """One score, p-value and flag for each row sent, and the events among them."""

    score: list[float | None]
    p_value: list[float | None]
    flag: list[int]
    threshold: float
    events: list[Event]
    bands: Bands = None


class PlannedSpan(BaseModel):
    """A planned event, where it lies on the axis."""

    name: str
    extent: tuple[Position, Position]


class Judgement(Asked, Strict):
    """What an event was, named by its number in the list under the same budget."""

    event: int = Field(ge=1, le=10**9)
    verdict: Literal["normal", "incident"]
    kind: str | None = Field(None, min_length=1, max_length=200, description="of an incident")
    note: str = Field("", max_length=200)
    fit: str | None = Field(None, max_length=64, description="as listed; refused if it has changed")
    dry_run: bool = Field(False, description="show what would change, and leave it at that")


class Judged(BaseModel):
    """Feedback on an event."""

    id: str
    verdict: Literal["normal", "incident"]
    given: str
    start: str | None
    end: str | None
    row: int
    kind: str | None
    note: str
    revoked: str | None


class ChangedAlarm(BaseModel):
    """An alarm that comes or goes."""

    event: int
    start: str | None
    end: str | None
    start_row: int
    end_row: int
    score: float
    severity: str | None
    channel: str | None


class AlarmChange(BaseModel):
    """Alarms gained and lost: of the last month, or of all rows if they have no times."""

    gained: list[ChangedAlarm]
    lost: list[ChangedAlarm]
    kept: int
    rows: tuple[int, int]
    since: str | None
    said: str


class FeedbackAnswer(BaseModel):
    """What was said, and what it changes; nothing was kept where it was a dry run."""

    feedback: Judged
    change: AlarmChange
    taken: bool


class VersionFacts(BaseModel):
    """A fit that is kept."""

    fit: str
    in_force: bool
    before: bool = Field(description="whether it is the one to go back to")
    made: str | None
    train: tuple[int, int]
    learned: str
    data: str | None = Field(description="SHA-256 of the times and values given to the fit")
    seconds: float


class ChosenVersion(Strict):
    """Which fit is to answer."""

    fit: str = Field(max_length=64)


class Events(BaseModel):
    """The events of a series under an alarm budget."""

    threshold: float
    expected: float = Field(description="false alarms, if every row were normal")
    alarms: str = Field(description="the budget that the numbers of the events hold for")
    fit: str = Field(description="and the fit")
    band_share: float = Field(description="of normal rows in the range that counts as normal")
    train: tuple[int, int] | None
    training: tuple[Position, Position] | None = Field(description="on the axis")
    events: list[Event]
    planned: list[PlannedSpan] = Field([], description="planned events among the rows")


class View(BaseModel):
    """One channel around an event, and its normal counterpart."""

    name: str
    contribution: float
    direction: str | None
    size: float | None
    x: list[Position]
    values: list[float | None]
    counterpart: list[float | None]


class Nearest(BaseModel):
    """The subsequence of training most like the one around the peak of an event."""

    model_config = ConfigDict(extra="allow")

    channel: str
    start: int = Field(description="row of the training part")
    end: int = Field(description="exclusive")
    start_time: str | None
    end_time: str | None = Field(description="of the last row")
    distance: float | None = Field(
        description="root mean square, in standard deviations of training"
    )
    times: float | None = Field(description="the distance over that of a normal subsequence")
    rows: list[int] = Field(description="of the series, that it is laid over")
    x: list[Position]
    values: list[float | None] = Field(description="in the units of the data")


class Explained(BaseModel):
    """Why an event is one."""

    event: Event
    kind: str | None
    meaning: str | None
    kind_scores: dict[str, float]
    direction: str | None
    size: float | None
    contributions: dict[str, float]
    rarity: str
    reason: str
    nearest: Nearest | None = Field(description="None where training holds nothing comparable")
    channels: list[View]


class BudgetFacts(BaseModel):
    """What an alarm budget gives on a series."""

    name: str
    threshold: float
    expected: float
    found: int
    extents: list[tuple[Position, Position]] = Field(description="of the alarms, on the axis")


class Alarms(Strict):
    """Another alarm budget of the model, for everybody who names none."""

    alarms: Budget


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How refusals are described in the OpenAPI document."""
    return {status: {"model": Problem} for status in statuses}
