"""What answers look like."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from caps.serve.requests import Position


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


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How refusals are described in the OpenAPI document."""
    return {status: {"model": Problem} for status in statuses}


BODY = problems(400, 408, 413, 415, 507)  # of what comes with one


def router_of(path: str, *statuses: int) -> APIRouter:
    """For the endpoints under /v1/PATH, with the refusals that all of them share."""
    shared = sorted((401, 403, 421, 422, 429, 500, 503, *statuses))
    tag = path.rpartition("/")[2]
    return APIRouter(prefix=f"/v1/{path}", tags=[tag], responses=problems(*shared))
