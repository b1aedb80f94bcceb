"""The report of a series that a fitted model analysed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import caps
from caps.errors import InputError
from caps.plots import Timeline
from caps.report.content import Budget, Channel, EventCard, Panel, Report

if TYPE_CHECKING:
    from caps.estimator import CAPS
    from caps.events import Analysis, Explanation

BUDGETS = ("1/100", "1/1000", "1/10000", "1/100000")  # rows, for series without times
TIME_BUDGETS = ("1/hour", "1/day", "1/week", "1/month")


def analysed_report(
    title: str,
    model: "CAPS",
    analysis: "Analysis",
    explained: "Sequence[Explanation]",
    *,
    training_end: int,
    notes: Sequence[str] = (),
    seconds: float = 0.0,
) -> Report:
    """What `render_report` draws of an analysis and its explanations."""
    series, facts = analysis.series, analysis.fitted.facts
    names = TIME_BUDGETS if analysis.fitted.step is not None else BUDGETS
    timeline = Timeline.of(series)
    accuracy = facts.get("kind_accuracy")
    detector = {"detector": "none"}
    if "preset" in facts:
        detector = {
            "weights": facts["preset"],
            "modes": ", ".join(facts["modes"]),
            "construction": facts["construction"],
            "references": sum(facts["references"]),
        }
    return Report(
        title=title,
        channels=tuple(
            Channel(name, series.values[:, index]) for index, name in enumerate(series.channels)
        ),
        scores=analysis.score,
        threshold=analysis.threshold,
        events=tuple(event_card(each) for each in explained),
        time=timeline.time,
        clock=timeline.clock,
        training_end=training_end,
        budget=str(model.alarms),
        budgets=budgets_of(analysis, [str(model.alarms), *names]),
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
