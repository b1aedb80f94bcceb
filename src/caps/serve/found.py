"""What a model finds in a stored series, in the words of the API."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from caps.errors import InputError
from caps.estimator import CAPS
from caps.events import (
    Analysis,
    ChannelView,
    Event as FoundEvent,
    Nearest,
    event_table,
    score_table,
)
from caps.report import KINDS, analysed_report, budgets_of, rarity, render_report
from caps.scoring import Band, alarm_rate, carrying
from caps.series import write_moment
from caps.serve.answers import BudgetFacts, Event, Events, Explained, Lines, PlannedSpan
from caps.serve.files import FitFacts
from caps.serve.lines import Axis, listed
from caps.serve.requests import Window

# Steps of the slider on the page, the most generous first.
BUDGETS = tuple(f"1/{rows}" for rows in (
    50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000,
))  # fmt: skip
TIME_BUDGETS = (
    "1/hour", "12/day", "6/day", "3/day", "1/day", "3/week", "1/week", "2/month", "1/month",
    "4/year", "1/year",
)  # fmt: skip
MOST_EXTENTS = 2_000  # alarms of one budget that a chart is given
MOST_EVENTS = 5_000


@dataclass(frozen=True, eq=False)
class Found:
    """An analysed series."""

    model: CAPS
    analysis: Analysis
    axis: Axis
    fit: str
    facts: FitFacts
    train: tuple[int, int] | None  # rows of this series that the model learned from

    def under(self, model: CAPS) -> "Found":
        """The same scores under the model's alarm budget, with the events already found."""
        analysis = replace(self.analysis, threshold=model.threshold_, silencer=model.silencer())
        made = replace(self, model=model, analysis=analysis)
        made.events  # noqa: B018 - now, in the thread that may take its time
        return made

    def lines(self, window: Window) -> Lines:
        """Channels, what was expected of them, and score as a chart shows them."""
        names = self.model.fitted_.names
        drawn = self.axis.lines(window, names)
        for line in drawn.lines:
            if line.name in names:
                of_channel = (each[:, names.index(line.name)] for each in self.analysis.band)
                given = Band(*of_channel), drawn.rows, max(2, window.points // 2)
                drawn.expected.append(self.axis.expected(line.name, *given))
        drawn.score = self.axis.line("score", self.analysis.score, drawn.rows, window.points)
        return drawn

    @cached_property
    def events(self) -> Events:
        """All events."""
        alarms = self.analysis.alarms(self.model.alarms)
        return Events(
            threshold=self.analysis.threshold,
            expected=alarms.expected,
            alarms=str(self.model.alarms),
            fit=self.fit,
            band_share=self.analysis.fitted.config.scoring.band_share,
            train=self.train,
            training=None if self.train is None else self.axis.timeline.extent(*self.train),
            events=events_of(self.analysis, self.axis),
            planned=[
                PlannedSpan(name=name, extent=self.axis.timeline.extent(start, end))
                for name, start, end in self.model.planned_.on(
                    self.analysis.series.time, self.model.series_
                )
            ],
        )

    @cached_property
    def budgets(self) -> list[BudgetFacts]:
        """What the budgets of the slider give, the model's own among them."""
        step = self.analysis.fitted.step
        names = [str(self.model.alarms), *(BUDGETS if step is None else TIME_BUDGETS)]
        names.sort(key=lambda name: -_rate(name, step))  # several may have one threshold
        return [
            BudgetFacts(
                name=budget.name,
                threshold=budget.threshold,
                expected=budget.expected,
                found=budget.found,
                extents=[self.axis.timeline.extent(*span) for span in budget.spans[:MOST_EXTENTS]],
            )
            for budget in budgets_of(self.analysis, names)
        ]

    def explain(self, number: int) -> Explained:
        """Why event `number` is one."""
        event = self.analysis.explain(number)
        facts = event.to_dict() | {
            "event": _answer(event, self.axis),
            "meaning": KINDS.get(event.kind or ""),
            "rarity": rarity(event.p_value),
            "nearest": None if event.nearest is None else _plain(event.nearest, self.axis),
            "channels": [_plain(view, self.axis) for view in event.channels],
        }
        return Explained(**facts)

    def events_csv(self) -> str:
        """The events with their explanations as a table."""
        frame = event_table(self.analysis, self.analysis.explanations())
        return str(frame.to_csv(index=False, float_format="%.10g"))

    def scores_csv(self, *, bands: bool) -> str:
        """Score, p-value, flag and event of every row as a table, with bands if asked for."""
        frame = score_table(self.analysis, bands=bands)
        if self.analysis.series.time is None:
            frame.insert(0, "row", range(len(frame)))
        return str(frame.to_csv(index=False, float_format="%.10g"))

    def report(self, title: str) -> str:
        """The HTML report."""
        notes = [*self.analysis.series.notes(), *self.analysis.notes, *self.facts.notes]
        return render_report(
            analysed_report(
                title,
                self.model,
                self.analysis,
                self.analysis.explanations(),
                training=self.train or (0, 0),
                notes=list(dict.fromkeys(notes)),
                seconds=self.facts.seconds,
            )
        )


def events_of(analysis: Analysis, axis: Axis) -> list[Event]:
    """The events of an analysis in order of time; the strongest if there are very many."""
    numbers: Sequence[int] = range(1, len(analysis.spans) + 1)
    if len(numbers) > MOST_EVENTS:
        ranked = sorted(numbers, key=lambda number: -analysis.spans[number - 1].score)
        numbers = sorted(ranked[:MOST_EVENTS])
    return [_answer(analysis.events[number - 1], axis) for number in numbers]


def _answer(event: FoundEvent, axis: Axis) -> Event:
    times = {
        "start": axis.moment(event.start),
        "end": axis.moment(event.end - 1),
        "peak": axis.moment(event.peak),
    }
    return Event(
        **event.to_dict() | times,
        number=event.number,
        carriers=carrying(event.contributions),
        lasting=axis.timeline.lasting(event.start, event.end),
        extent=axis.timeline.extent(event.start, event.end),
    )


def _plain(found: ChannelView | Nearest, axis: Axis) -> dict[str, Any]:
    """All of an explanation's part as JSON can hold it, and where its rows lie."""
    facts: dict[str, Any] = {"x": axis.positions[found.rows].tolist()}
    for each in fields(found):
        value = getattr(found, each.name)
        if isinstance(value, np.datetime64):
            value = write_moment(value, "s", timezone=axis.series.timezone)
        elif isinstance(value, np.ndarray):
            value = listed(value) if value.dtype.kind == "f" else value.tolist()
        elif isinstance(value, np.generic):
            value = value.item()
        unknown = isinstance(value, float) and not np.isfinite(value)
        facts[each.name] = None if unknown else value
    return facts


def _rate(budget: str, step: np.timedelta64 | None) -> float:
    try:
        return alarm_rate(budget, step)
    except InputError:  # as many alarms as rows
        return np.inf
