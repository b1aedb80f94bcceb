"""What a report says, as plain data: whoever has scores and events fills it in.

`analysed_report` fills it in for a series that a fitted model analysed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import caps
from caps.arrays import FloatArray
from caps.errors import InputError
from caps.events import Event
from caps.plots import Timeline

if TYPE_CHECKING:
    from caps.estimator import CAPS
    from caps.events import Analysis, Explanation
    from caps.scoring import Band

Fact = str | int | float
DIRECTIONS = ("up", "down", "both")
BUDGETS = ("1/100", "1/1000", "1/10000", "1/100000")  # rows, for series without times
TIME_BUDGETS = ("1/hour", "1/day", "1/week", "1/month")


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One measured quantity; not-a-number marks what was not observed."""

    name: str
    values: FloatArray  # (time,)
    band: "Band | None" = None  # (time,), what was expected and the range that counts as normal


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """An event in its context: consecutive rows from `start` on, and what normal would have been.

    `counterpart` has the shape of `values`; not-a-number where nothing is claimed. So has
    `nearest`, the subsequence of the past that comes nearest, if there is one to show.
    """

    start: int
    channels: tuple[str, ...]
    values: FloatArray  # (time, channel)
    counterpart: FloatArray
    nearest: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.channels):
            raise InputError(
                f"panel values of shape {self.values.shape} do not fit {self.channels}",
                "give values as (time, channel)",
            )
        for name, beside in (
            ("counterpart", self.counterpart),
            ("nearest subsequence", self.nearest),
        ):
            if beside is not None and beside.shape != self.values.shape:
                raise InputError(
                    f"the {name} has shape {beside.shape}, the values {self.values.shape}",
                    "give one for each value, not-a-number where there is none",
                )

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.start + len(self.values)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EventCard(Event):
    """An event with the panel that shows it; `kind` is None if the kinds were not validated."""

    panel: Panel | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.peak < self.end:
            raise InputError(
                f"event {self.number} has start {self.start}, peak {self.peak}, end {self.end}",
                "give rows with start <= peak < end",
            )
        if self.direction is not None and self.direction not in DIRECTIONS:
            raise InputError(
                f"event {self.number} goes {self.direction!r}",
                f"use one of {', '.join(DIRECTIONS)}",
            )

    @property
    def channels(self) -> list[tuple[str, float]]:
        """Channels and their shares, the largest first; those without a share are left out."""
        ranked = sorted(self.contributions.items(), key=lambda item: -item[1])
        return [(name, share) for name, share in ranked if share > 0]


@dataclass(frozen=True, slots=True)
class Budget:
    """What an alarm budget gives: its threshold, the alarms normal rows would raise, those found.

    `spans` are the (start, end) rows of the alarms found, for the chart.
    """

    name: str
    threshold: float
    expected: float
    found: int
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Everything that `render_report` draws; nothing in it is computed from a model.

    `time` is as it shall be shown and `clock` names it ("UTC"); None counts rows. Rows from
    `training_start` to `training_end` were trained on; `trained_on` says it in words. `budget`
    names the row of `budgets` that is in force.

    >>> values = np.array([1.0, 2.0, 9.0, 2.0])
    >>> event = EventCard(1, start=2, end=3, peak=2, score=0.9)
    >>> report = Report("pump 4", (Channel("flow", values),), values / 10, 0.5, (event,))
    >>> len(report)
    4
    """

    title: str
    channels: tuple[Channel, ...]
    scores: FloatArray  # (time,) in [0, 1], not-a-number where nothing was observed
    threshold: float
    events: tuple[EventCard, ...] = ()
    time: NDArray[np.datetime64] | None = None
    clock: str = ""
    training_start: int = 0
    training_end: int = 0
    trained_on: str = ""
    budget: str = ""
    budgets: tuple[Budget, ...] = ()
    band_share: float | None = None  # of normal rows, in the ranges of the channels
    notes: tuple[str, ...] = ()  # on the quality of the data
    model: Mapping[str, Fact] = field(default_factory=dict)
    run: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = len(self.scores)
        if not rows or not self.channels:
            raise InputError("a report without rows or channels", "give at least one of each")
        lengths = {f"channel {each.name!r}": len(each.values) for each in self.channels}
        for each in self.channels:
            for edge, values in (each.band._asdict() if each.band else {}).items():
                lengths[f"{edge} of channel {each.name!r}"] = len(values)
        if self.time is not None:
            lengths["the time axis"] = len(self.time)
        for name, length in lengths.items():
            if length != rows:
                raise InputError(f"{name} has {length} rows, the scores {rows}", "give as many")
        known = self.scores[~np.isnan(self.scores)]
        if known.size and not (known.min() >= 0 and known.max() <= 1):
            raise InputError(
                f"scores reach from {known.min():g} to {known.max():g}", "give scores in [0, 1]"
            )
        trained = self.training_start, self.training_end
        if not 0 <= trained[0] <= trained[1] <= rows:
            problem = f"training_start is {trained[0]}, training_end is {trained[1]}"
            raise InputError(problem, f"give rows in order, 0 to {rows}")
        numbers = [event.number for event in self.events]
        if len(set(numbers)) < len(numbers):
            raise InputError("two events have the same id", "number the events")
        for event in self.events:
            if event.end > rows:
                raise InputError(
                    f"event {event.number} ends at row {event.end} of {rows}",
                    "give events inside the series",
                )
            panel = event.panel
            if panel is not None and not 0 <= panel.start < panel.end <= rows:
                raise InputError(
                    f"the panel of event {event.number} covers rows {panel.start} to {panel.end} "
                    f"of {rows}",
                    "give panels inside the series",
                )
        if self.budgets and self.budget not in [budget.name for budget in self.budgets]:
            raise InputError(
                f"the budget {self.budget!r} is not in the table of budgets", "add its row"
            )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def timeline(self) -> Timeline:
        """The horizontal axis."""
        return Timeline(len(self), self.time, self.clock)


def analysed_report(
    title: str,
    model: "CAPS",
    analysis: "Analysis",
    explained: "Sequence[Explanation]",
    *,
    training: tuple[int, int],
    notes: Sequence[str] = (),
    seconds: float = 0.0,
) -> Report:
    """What `render_report` draws of an analysis and its explanations.

    `training` are the rows of the series, from start to end, that the model learned from.
    """
    series, facts = analysis.series, analysis.fitted.facts
    names = TIME_BUDGETS if analysis.fitted.step is not None else BUDGETS
    timeline = Timeline.of(series)
    accuracy = facts.get("kind_accuracy")
    detector = {"detector": "none"}
    if "modes" in facts:
        detector = {
            "weights": facts.get("preset", "unknown"),
            "modes": ", ".join(facts["modes"]),
            "construction": facts["construction"],
            "references": sum(facts["references"]),
        }
    return Report(
        title=title,
        channels=tuple(
            Channel(name, series.values[:, index], _band(analysis, index))
            for index, name in enumerate(series.channels)
        ),
        scores=analysis.score,
        threshold=analysis.threshold,
        events=tuple(event_card(each) for each in explained),
        time=timeline.time,
        clock=timeline.clock,
        training_start=training[0],
        training_end=training[1],
        trained_on=model.learned_.part,
        budget=str(model.alarms),
        budgets=budgets_of(analysis, [str(model.alarms), *names]),
        band_share=analysis.fitted.config.scoring.band_share,
        notes=tuple(notes),
        model={
            **detector,
            "training rows": facts["rows"],
            "channels put together by": analysis.fitted.aggregate,
            "scores use": "the past only" if analysis.fitted.causal else "both sides",
            "accuracy of kinds": "unknown" if accuracy is None else f"{accuracy:.0%}",
        },
        run={"caps": caps.__version__, "seed": facts["seed"], "seconds": round(seconds, 1)},
    )


def _band(analysis: "Analysis", column: int) -> "Band | None":
    """That of one channel; None where nothing is known of any row."""
    band = type(analysis.band)(*(each[:, column] for each in analysis.band))
    return band if np.isfinite(band.lower).any() else None


def budgets_of(analysis: "Analysis", names: Sequence[str]) -> tuple[Budget, ...]:
    """What each budget gives, the most generous first; those nobody can ask for are left out."""
    budgets = []
    for name in dict.fromkeys(names):
        try:
            given = analysis.alarms(name if "/" in name else float(name))
        except InputError:  # as many alarms as rows
            continue
        budgets.append(Budget(name, given.threshold, given.expected, len(given.spans), given.spans))
    return tuple(sorted(budgets, key=lambda budget: budget.threshold))


def event_card(explained: "Explanation") -> EventCard:
    """An explained event with the panel that the report shows of it."""
    views, nearest, drawn = explained.channels, explained.nearest, None
    if nearest is not None:  # where it lies in the panel
        drawn = np.full((len(views[0].rows), len(views)), np.nan)
        for index, view in enumerate(views):
            if view.name == nearest.channel:
                _, here, there = np.intersect1d(view.rows, nearest.rows, return_indices=True)
                drawn[here, index] = nearest.values[there]
    panel = Panel(
        start=int(views[0].rows[0]),
        channels=tuple(view.name for view in views),
        values=np.column_stack([view.values for view in views]),
        counterpart=np.column_stack([view.counterpart for view in views]),
        nearest=drawn,
    )
    return EventCard.of(explained, panel=panel)
