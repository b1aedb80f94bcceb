"""What a fitted model does, be it `CAPS` or one that was exported: score, find events, stream."""

import os
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import ArtifactError, InputError
from caps.events import (
    AlarmChange,
    Analysis,
    Event,
    EventConfig,
    Explanation,
    FeedbackBook,
    KindOf,
    LikenessConfig,
    Silencer,
    Verdict,
    changed_alarms,
    event_table,
    score_table,
)
from caps.planned import Planned
from caps.scoring import Fitted, Learned, Scores, alarm_rate, on_regular_grid, read_channels
from caps.series import Series
from caps.stream import Stream, StreamConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FittedModel:
    """The interface of all fitted models, made of `fitted_` and an alarm budget."""

    alarms: str | float
    fitted_: Fitted
    bets_: FloatArray | None = None  # of the drift watch, where an export brings them
    planned_: Planned = Planned()  # what `set_planned` was given, and the series it is about
    series_: str = ""

    @property
    def names_(self) -> tuple[str, ...]:
        """The channels, in order."""
        return self._model().names

    @property
    def threshold_(self) -> float:
        """The score from which on a row is part of an event."""
        return self._model().threshold(self.alarms)

    @property
    def expected_alarms_(self) -> dict[str, float]:
        """False alarms to expect on normal data: per 1000 rows and, with times, per day."""
        fitted = self._model()
        rate = fitted.calibration.expected_alarms(self.threshold_, 1000)
        expected = {"per 1000 rows": rate}
        if fitted.step is not None:
            expected["per day"] = rate / 1000 * float(np.timedelta64(1, "D") / fitted.step)
        return expected

    @property
    def learned_(self) -> Learned:
        """Which rows of those it was given the fit learned from, and why these."""
        facts = self._model().facts
        rows = facts["rows"]
        return Learned.from_dict(facts.get("learned", {"start": 0, "end": rows, "rows": rows}))

    @property
    def notes_(self) -> list[str]:
        """Remarks on the fit and the budget, empty when there is nothing to say."""
        fitted = self._model()
        about_budget = fitted.budget_note(self.alarms)
        return [*fitted.facts.get("notes", ()), *([about_budget] if about_budget else [])]

    def set_alarms(self, alarms: str | float) -> Self:
        """Change the alarm budget of a fitted model; nothing is fitted again."""
        alarm_rate(alarms, self._model().step)
        self.alarms = alarms
        return self

    def set_planned(
        self, planned: Planned | Mapping[str, Any] | str | os.PathLike[str], series: str = ""
    ) -> Self:
        """Let events within planned ones be no alarms: of a file, a table or `Planned`.

        `series` names what is scored, for those that are planned for some series only. They are
        no part of the model and are not saved with it.
        """
        if isinstance(planned, str | os.PathLike):
            planned = Planned.read(planned)
        elif isinstance(planned, Mapping):
            planned = Planned.from_dict(planned)
        self.planned_, self.series_ = planned, series
        return self

    @property
    def feedback_(self) -> FeedbackBook:
        """What people said of events so far, also what was revoked."""
        return FeedbackBook.from_list(self._model().facts.get("feedback", []))

    def set_feedback(self, feedback: FeedbackBook) -> Self:
        """Use this feedback in place of that so far; it is saved with the model."""
        fitted = self._model()
        self.fitted_ = replace(fitted, facts=fitted.facts | {"feedback": feedback.to_list()})
        return self

    def dismiss(
        self, X: Any, event: int | Event = 1, *, note: str = "", dry_run: bool = False
    ) -> AlarmChange:
        """Say that an event of `X` was no incident: those like it are no alarms from now on.

        Returns the alarms of `X` that are gained and lost by it; `dry_run` leaves it at that. `X`
        may be an `Analysis` of this model. The last of `feedback_` is what was said.
        """
        return self._judge(X, event, "normal", dry_run, note=note)

    def confirm(
        self,
        X: Any,
        event: int | Event = 1,
        *,
        kind: str | None = None,
        note: str = "",
        dry_run: bool = False,
    ) -> AlarmChange:
        """Say that an event of `X` was an incident: those like it are alarms, and of this kind."""
        return self._judge(X, event, "incident", dry_run, note=note, kind=kind)

    def revoke(self, feedback: str, X: Any = None, *, dry_run: bool = False) -> AlarmChange | None:
        """Take back feedback, by its id: all is as if it had not been given.

        Returns the alarms of `X`, if that is given, that are gained and lost by it.
        """
        book = self.feedback_.revoke(feedback)
        change = None if X is None else self.change_by(self._analysis(X), book)
        if not dry_run:
            self.set_feedback(book)
        return change

    def silencer(self) -> Silencer | None:
        """What tells which events are no alarms; None where nothing was said or planned."""
        return self._silencer(self.feedback_)

    def _silencer(self, book: FeedbackBook) -> Silencer | None:
        if not book.active and not self.planned_:
            return None
        fitted = self._model()
        config = LikenessConfig.from_dict(fitted.facts.get("likeness", LikenessConfig().to_dict()))
        return Silencer(fitted, book, self.planned_, self.series_, config)

    def _analysis(self, X: Any) -> Analysis:
        return X if isinstance(X, Analysis) else self.analyze(X)

    def _judge(
        self, X: Any, event: int | Event, verdict: Verdict, dry_run: bool, **said: str | None
    ) -> AlarmChange:
        analysis = self._analysis(X)
        book = analysis.judge(_number(analysis, event), verdict, self.feedback_, **said)
        change = self.change_by(analysis, book)
        if not dry_run:
            self.set_feedback(book)
        return change

    def change_by(self, analysis: Analysis, book: FeedbackBook) -> AlarmChange:
        """The alarms of an analysis that other feedback gains and loses beside that so far."""
        before, after = (
            replace(analysis, silencer=self._silencer(each)) for each in (self.feedback_, book)
        )
        return changed_alarms(before, after)

    def decision_function(self, X: Any) -> FloatArray:
        """One score in [0, 1] for each row, higher is more anomalous; not-a-number for no value."""
        return self.analyze(X).score

    def score_samples(self, X: Any) -> FloatArray:
        """As scikit-learn has it, the opposite: the higher, the more normal."""
        return -self.decision_function(X)

    def predict(self, X: Any) -> NDArray[np.int8]:
        """1 for the rows of alarms, else 0."""
        return self.analyze(X).flag

    def predict_proba(self, X: Any) -> FloatArray:
        """As PyOD has it by default: 1 - score and score of each row, which are no probabilities.

        How often normal rows score as high is the `p_value` of `score_frame`.
        """
        score = self.decision_function(X)
        return np.column_stack([1 - score, score])

    def analyze(self, X: Any) -> Analysis:
        """Score once, look at it in many ways: scores, events, explanations, other budgets."""
        fitted = self._model()
        series = self._read(X)
        grid, rows, notes = on_regular_grid(series)
        config, _ = configs_of(fitted)
        return Analysis(
            series=_as_scored(series, fitted, grid, rows),
            grid=grid,
            rows=rows,
            fitted=fitted,
            scores=fitted.score(grid),
            threshold=self.threshold_,
            rules=fitted.calibration.rules,
            notes=tuple(notes),
            kind_of=self._kind_of(config),
            config=config,
            silencer=self.silencer(),
        )

    def score_frame(self, X: Any, *, bands: bool = False) -> Any:
        """Score, p_value, flag, event number and contributions, aligned to the rows of `X`.

        With `bands` also what was expected of every channel, and the range around it (lower, upper)
        that counts as normal.
        """
        return score_table(self.analyze(X), bands=bands)

    def events(self, X: Any) -> Any:
        """The events of `X` as a frame: when, how strong, of what kind, in which channels."""
        analysis = self.analyze(X)
        return event_table(analysis, analysis.explanations())

    def explain(self, X: Any, event: int | Event = 1) -> Explanation:
        """Explain one event of `X`, by its number in `events(X)` or by any row it covers."""
        analysis = self.analyze(X)
        return analysis.explain(_number(analysis, event))

    def explain_live(self, stream: Stream, event: Event) -> Explanation | None:
        """Explain an event of a stream by the rows that the stream still keeps.

        None where they are gone already. Rows after the event, if there are any, count too.
        """
        fitted, past = self._model(), stream.past
        first = stream.rows - len(past)  # row of the stream that is the first one kept
        start, end = max(event.start - first, 0), event.end - first
        if end <= start:
            return None
        times, rows = None, np.arange(len(past))
        if fitted.step is not None and event.end_time is not None:
            times = event.end_time + fitted.step * (rows - (end - 1))
        grid = Series(past, np.isfinite(past), fitted.names, times, "UTC")
        config, _ = configs_of(fitted)
        nothing = np.full(len(past), np.nan)
        analysis = Analysis(
            series=_as_scored(grid, fitted, grid, rows),
            grid=grid,
            rows=rows,
            fitted=fitted,
            scores=Scores(nothing, np.full(past.shape, np.nan), local=nothing),
            threshold=stream.tracker.threshold,
            rules=fitted.calibration.rules,
            kind_of=self._kind_of(config),
            config=config,
        )
        ranked = sorted(event.contributions.items(), key=lambda each: -each[1])
        peak = min(max(event.peak - first, start), end - 1)
        span = replace(event, start=start, end=end, peak=peak, contributions=dict(ranked))
        found = analysis.explain_event(Event.of(span), Event.of(span))
        return replace(found, start=event.start, end=event.end, peak=event.peak)

    def plot(self, X: Any) -> "Figure":
        """Draw the channels, the score and the events; needs matplotlib."""
        from caps.plots import draw  # here, as matplotlib takes a third of a second

        return draw(self.analyze(X))

    def stream(self, *, lateness: int = 0, state: str | os.PathLike[str] | None = None) -> Stream:
        """Score rows as they come; needs a model fitted with `causal=True`.

        `lateness` is how many steps a row waits for rows that should have come before it. `state`
        is a folder written by `Stream.save`, to continue from.
        """
        fitted = self._model()
        _, config = configs_of(fitted)
        stream = Stream(
            fitted,
            self.threshold_,
            lateness=lateness,
            config=config,
            bets=self.bets_,
            silencer=self.silencer(),
        )
        if state is not None:
            # safetensors: 0.03 s, which an export does without
            from caps.stream import SavedStreams

            SavedStreams(Path(state)).restore("", stream)
        return stream

    def _repr_html_(self) -> str:
        fitted = self._model()
        rows = {
            "channels": ", ".join(fitted.names),
            "learned from": self.learned_.part,
            "alarm budget": f"{self.alarms}, a threshold of {self.threshold_:.3f}",
        }
        cells = "".join(
            f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items()
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes_)
        return f"<table>{cells}</table>" + (f"<ul>{notes}</ul>" if notes else "")

    def _model(self) -> Fitted:
        return self.fitted_

    def _read(self, X: Any) -> Series:
        """The channels of training in what a method was given."""
        return read_channels(X, self.names_)

    def _kind_of(self, config: EventConfig) -> KindOf | None:
        """Names the kind of an event; None where it is not known well enough to be shown."""
        return None


def _number(analysis: Analysis, event: int | Event) -> int:
    """The number of an event that may be that of another analysis of the same rows."""
    if not isinstance(event, Event):
        return int(event)
    return int(analysis.event_id[event.peak]) if event.peak < len(analysis.rows) else 0


def _as_scored(series: Series, fitted: Fitted, grid: Series, rows: NDArray[np.intp]) -> Series:
    """The series with the rates of its counters, which are told on the grid."""
    if not fitted.counters:
        return series
    rated = fitted.rated(grid)
    return replace(series, values=rated.values[rows], observed=rated.observed[rows])


def write_configs(fitted: Fitted) -> None:
    """Keep the numbers that decide what is made of the scores with the model."""
    fitted.facts["events"] = EventConfig().to_dict()
    fitted.facts["stream"] = StreamConfig().to_dict()
    fitted.facts["likeness"] = LikenessConfig().to_dict()


def configs_of(fitted: Fitted) -> tuple[EventConfig, StreamConfig]:
    """The numbers that `write_configs` kept, checked."""
    try:
        events, stream = fitted.facts["events"], fitted.facts["stream"]
        return EventConfig.from_dict(events), StreamConfig.from_dict(stream)
    except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"a model with an odd configuration ({error})"
        raise ArtifactError(problem, "fit it again") from None
