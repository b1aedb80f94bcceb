"""What a fitted model does, be it `CAPS` or one that was exported: score, find events, stream."""

import os
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import ArtifactError, InputError
from caps.events import (
    Analysis,
    Event,
    EventConfig,
    Explanation,
    KindOf,
    event_table,
    score_table,
)
from caps.scoring import Fitted, Learned, alarm_rate, on_regular_grid, read_channels
from caps.series import Series
from caps.stream import Stream, StreamConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FittedModel:
    """The interface of all fitted models, made of `fitted_` and an alarm budget."""

    alarms: str | float
    fitted_: Fitted
    bets_: FloatArray | None = None  # of the drift watch, where an export brings them

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

    def decision_function(self, X: Any) -> FloatArray:
        """One score in [0, 1] for each row, higher is more anomalous; not-a-number for no value."""
        return self.analyze(X).score

    def score_samples(self, X: Any) -> FloatArray:
        """As scikit-learn has it, the opposite: the higher, the more normal."""
        return -self.decision_function(X)

    def predict(self, X: Any) -> NDArray[np.int8]:
        """1 for the rows of events, else 0."""
        return self.analyze(X).flag

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
        if isinstance(event, Event):
            number = int(analysis.event_id[event.peak]) if event.peak < len(analysis.rows) else 0
        else:
            number = int(event)
        return analysis.explain(number)

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
        stream = Stream(fitted, self.threshold_, lateness=lateness, config=config, bets=self.bets_)
        if state is not None:
            from caps.stream import SavedStreams  # here, as an export does without safetensors

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


def configs_of(fitted: Fitted) -> tuple[EventConfig, StreamConfig]:
    """The numbers that `write_configs` kept, checked."""
    try:
        events, stream = fitted.facts["events"], fitted.facts["stream"]
        return EventConfig.from_dict(events), StreamConfig.from_dict(stream)
    except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"a model with an odd configuration ({error})"
        raise ArtifactError(problem, "fit it again") from None
