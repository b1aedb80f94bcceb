"""What a fitted model makes of a series: scores, events and what explains them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.events.config import EventConfig, LikenessConfig
from caps.events.events import Direction, Event, Silence, effect, find_events, lasting_shift
from caps.events.feedback import Example, Feedback, FeedbackBook, Verdict
from caps.events.match import Nearest, clock, nearest_match
from caps.events.silencer import Silencer
from caps.neighbours import Counterpart, counterpart_of, deviation
from caps.scoring import Band, EventRules, Fitted, LearnedChannel, Scores, carrying
from caps.series import Series, write_moment

# Association of the rows [start, end) of a scaled channel, given their counterpart, with every
# kind, the best first; None if not known.
KindOf = Callable[[FloatArray, int, int, FloatArray], dict[str, float] | None]


@dataclass(frozen=True, slots=True, eq=False)
class ChannelView:
    """One channel around an event, in the units of the data; rows are those of the input."""

    name: str
    contribution: float  # share of the evidence, all channels together 1
    direction: Direction | None
    size: float | None  # mean distance to the counterpart, in local standard deviations
    rows: NDArray[np.intp]  # the event and its surroundings
    values: FloatArray
    counterpart: FloatArray  # not-a-number outside the event


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explanation(Event):
    """An event with its kind and reason, and a view of the channels that carry most of it."""

    channels: tuple[ChannelView, ...]  # the largest contributions
    nearest: Nearest | None = None  # of the leading channel's past; None without a memory


@dataclass(frozen=True, slots=True)
class Alarms:
    """What an alarm budget gives on a series."""

    threshold: float
    expected: float  # false alarms, if all rows were normal
    spans: tuple[tuple[int, int], ...]  # rows of the alarms found, the end exclusive


@dataclass(frozen=True, eq=False)
class Analysis:
    """Scores of every row of `series`, and the events among them.

    Everything is aligned to the rows of `series`; `grid` holds the same rows without gaps in time.
    """

    series: Series
    grid: Series
    rows: NDArray[np.intp]  # index of each row of `series` in `grid`
    fitted: Fitted
    scores: Scores  # of the rows of `grid`
    threshold: float
    rules: EventRules
    notes: tuple[str, ...] = ()
    kind_of: KindOf | None = None
    config: EventConfig = field(default_factory=EventConfig)
    silencer: Silencer | None = None  # tells which events are no alarms; None: all are
    _counterparts: dict[tuple[int, int, int], Counterpart] = field(default_factory=dict, init=False)

    @cached_property
    def scaled(self) -> FloatArray:
        """The values of `grid` in the units of training."""
        return self.fitted.scaled(self.grid)

    @cached_property
    def spans(self) -> tuple[Event, ...]:
        """The events in rows of `grid`."""
        return tuple(self._find(self.threshold))

    @property
    def score(self) -> FloatArray:
        """Scores in [0, 1], not-a-number where nothing was observed."""
        return self.scores.score[self.rows]

    @property
    def p_value(self) -> FloatArray:
        """How often a normal row scores at least as high."""
        return self.fitted.calibration.p_values(self.score)

    @cached_property
    def band(self) -> Band:
        """What was expected of every row and the range that counts as normal: (time, channel)."""
        return Band(*(each[self.rows] for each in self.fitted.band(self.scores)))

    @property
    def event_id(self) -> NDArray[np.intp]:
        """The number of the event each row belongs to, from 1 on; 0 for none."""
        numbers = np.zeros(len(self.grid), dtype=np.intp)
        for number, event in enumerate(self.spans, start=1):
            numbers[event.start : event.end] = number
        return numbers[self.rows]

    @property
    def flag(self) -> NDArray[np.int8]:
        """1 in the rows of alarms, else 0; rows without any observation are 0."""
        alarm = np.array([False, *(event.alarm for event in self.spans)])
        return (alarm[self.event_id] & np.isfinite(self.score)).astype(np.int8)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events in order of time, in rows of `series`."""
        return tuple(self._on_rows(event) for event in self.spans)

    def alarms(self, budget: str | float) -> Alarms:
        """What another budget would give."""
        calibration = self.fitted.calibration
        threshold = self.fitted.threshold(budget)
        observed = int(np.isfinite(self.scores.score).sum())
        return Alarms(
            threshold,
            calibration.expected_alarms(threshold, observed),
            tuple(self._rows_of(event)[:2] for event in self._find(threshold) if event.alarm),
        )

    def explain(self, number: int) -> Explanation:
        """Explain event `number`, counted from 1."""
        return self.explain_event(self._span(number), self.events[number - 1])

    def explain_event(self, span: Event, event: Event) -> Explanation:
        """Explain an event, given in rows of `grid` and, with its channels, in those of `series`.

        It need not be one of `events`: a stream has found it by rows that are gone.
        """
        names = self.fitted.names
        leading = [names.index(name) for name in event.contributions][: self.config.most_channels]
        expected = [self._counterpart(channel, span).expected for channel in leading]
        views = tuple(
            self._view(channel, span, normal, event.contributions[names[channel]])
            for channel, normal in zip(leading, expected, strict=True)
        )
        judged = self._said(span)[1]
        if judged is not None and judged.kind is not None:
            kinds = {judged.kind: 1.0}
        else:
            kinds = self._kinds(leading[0], span, expected[0])
        nearest = self._nearest(leading[0], span)
        kind = next((name for name, share in kinds.items() if share >= self.config.certain), None)
        event = replace(
            event, kind=kind, kind_scores=kinds, direction=views[0].direction, size=views[0].size
        )
        reason = _reason(event)
        if judged is not None and judged.verdict == "incident":
            reason += f" It is like the incident confirmed by feedback {judged.id}."
        if event.silence is not None:
            reason += f" {event.silence}"
        reason += self._staying(leading[0], span)
        if nearest is not None:
            reason += f" {nearest.sentence(self.config.far, self.series.timezone)}"
        return Explanation.of(event, reason=reason, channels=views, nearest=nearest)

    def nearest(self, number: int) -> Nearest | None:
        """The subsequence of training most like event `number`, in the channel that leads it."""
        event = self._span(number)
        return self._nearest(int(self.scores.of_event(event.start, event.end).argmax()), event)

    def explanations(self) -> list[Explanation]:
        """Explanations of all events."""
        return [self.explain(number) for number in range(1, len(self.spans) + 1)]

    def judge(
        self, number: int, verdict: Verdict, book: FeedbackBook, **said: str | None
    ) -> FeedbackBook:
        """The book with a judgement of event `number`; `said` is its kind, note and moment."""
        span, event = self._span(number), self.events[number - 1]
        moments = [
            None if time is None else write_moment(time, "s", separator="T")
            for time in (event.start_time, event.end_time)
        ]
        return book.add(
            verdict,
            self._example(span),
            row=event.start,
            start=moments[0],
            end=moments[1],
            **said,  # type: ignore[arg-type]
        )

    def _example(self, event: Event) -> Example:
        """The rows of an event and their surroundings, of the channels that carry it."""
        config = LikenessConfig() if self.silencer is None else self.silencer.config
        if len(event) > config.rows:
            raise InputError(
                f"the event lasts {len(event):,} rows",
                f"judge events of at most {config.rows:,}; what stays longer is a new normal, "
                "which a new fit learns",
            )
        names = carrying(self._shares(event))
        columns = [self.fitted.names.index(name) for name in names]
        beside = max(config.beside, len(event))
        first = max(0, event.start - beside)
        values = self.fitted.rated(self.grid).values[first : event.end + beside]
        return Example(tuple(names), values[:, columns], event.start - first, event.end - first)

    def _find(self, threshold: float) -> list[Event]:
        found = find_events(
            self.scores.score,
            threshold,
            self.rules,
            local=self.scores.local,
            causal=self.fitted.causal,
            calibration=self.fitted.calibration,
            time=self.grid.time,
        )
        return [replace(event, silence=self._said(event)[0]) for event in found]

    def _said(self, event: Event) -> tuple[Silence | None, Feedback | None]:
        """Why an event is no alarm, and the newest feedback on one like it."""
        if self.silencer is None:
            return None, None
        return self.silencer.judged(
            replace(event, contributions=self._shares(event)), self.scaled, self.scores.overlap
        )

    def _span(self, number: int) -> Event:
        if not 1 <= number <= len(self.spans):
            raise InputError(
                f"there is no event {number} among {len(self.spans)}",
                "give the number of an event, counted from 1",
            )
        return self.spans[number - 1]

    def _rows_of(self, event: Event) -> tuple[int, int, int]:
        """Start, end and peak in rows of the input: every end and peak of an event was observed."""
        start, last, peak = np.searchsorted(self.rows, [event.start, event.end - 1, event.peak])
        return int(start), int(last) + 1, int(peak)

    def _on_rows(self, event: Event) -> Event:
        """The same event in rows of the input, with the share of every channel, largest first."""
        start, end, peak = self._rows_of(event)
        return replace(event, start=start, end=end, peak=peak, contributions=self._shares(event))

    def _shares(self, event: Event) -> dict[str, float]:
        share = self.scores.of_event(event.start, event.end)
        order = np.argsort(-share, kind="stable")
        return {self.fitted.names[index]: float(share[index]) for index in order}

    def _counterpart(self, channel: int, event: Event) -> Counterpart:
        """The scaled counterpart of an event in one channel."""
        key = (channel, event.start, event.end)
        if key not in self._counterparts:
            bank = self.fitted.channels[channel].bank.astype(np.float64)
            values = self.scaled[:, channel]
            self._counterparts[key] = counterpart_of(
                values, event.start, event.end, bank, self.fitted.config.neighbours.counterpart
            )
        return self._counterparts[key]

    def _nearest(self, column: int, event: Event) -> Nearest | None:
        channel, values = self.fitted.channels[column], self.scaled[:, column]
        if not isinstance(channel, LearnedChannel) or channel.memory is None:
            return None  # nothing moved that could be shown
        match = nearest_match(channel.memory, values, event, self.scores.overlap)
        if match is None:
            return None
        end = match.start + len(match.values)
        laid = np.full((len(match.values), len(self.fitted.channels)), np.nan)
        laid[:, column] = match.values
        beside = [match.row, match.row + len(match.values)]
        rows = np.arange(*np.searchsorted(self.rows, beside))
        return Nearest(
            channel=self.fitted.names[column],
            start=match.start,
            end=end,
            start_time=self.fitted.training_time(match.start),
            end_time=self.fitted.training_time(end - 1),
            distance=match.distance,
            times=match.times,
            rows=rows,
            values=self.fitted.scaler.inverse(laid)[self.rows[rows] - match.row, column],
        )

    def _staying(self, channel: int, event: Event) -> str:
        """What is to be said of a level that did not go back; nothing as a rule."""
        shift = lasting_shift(self.grid.values[:, channel], event.start, event.end, self.config)
        if shift is None:
            return ""
        since = f"row {event.end:,}"
        if self.grid.time is not None:
            since = clock(self.grid.time[event.end], self.series.timezone)
        way = "above" if shift > 0 else "below"
        return (
            f" The level stayed {abs(shift):.3g} {way} that before: it counts as the new normal "
            f"from {since} on."
        )

    def _kinds(self, channel: int, event: Event, expected: FloatArray) -> dict[str, float]:
        values = self.scaled[:, channel]
        if self.kind_of is None or not np.isfinite(values[event.start : event.end]).any():
            return {}
        return self.kind_of(values, event.start, event.end, expected) or {}

    def _view(
        self, channel: int, event: Event, expected: FloatArray, contribution: float
    ) -> ChannelView:
        values, config = self.scaled[:, channel], self.fitted.config.neighbours.counterpart
        away, _ = deviation(values, event.start, event.end, expected, config)
        direction, size = effect(away, self.config)
        first, last = (
            max(0, event.start - config.margin),
            min(len(values), event.end + config.margin),
        )
        whole = np.full((last - first, len(self.fitted.channels)), np.nan)
        whole[event.start - first : event.end - first, channel] = expected
        counterpart = self.fitted.scaler.inverse(whole)[:, channel]
        inside = np.arange(*np.searchsorted(self.rows, [first, last]))
        return ChannelView(
            name=self.fitted.names[channel],
            contribution=contribution,
            direction=direction,
            size=size,
            rows=inside,
            values=self.series.values[inside, channel],
            counterpart=counterpart[self.rows[inside] - first],
        )


def _reason(event: Event) -> str:
    what = f"A {event.kind} anomaly" if event.kind else "An anomaly"
    several = len(event.contributions) > 1
    where = f" in {' and '.join(carrying(event.contributions))}" if several else ""
    if event.size is None or event.direction is None:
        return f"{what}{where}."
    way = {"up": "above", "down": "below", "both": "away from"}[event.direction]
    size = f"{event.size:.1f} local standard deviations"
    return f"{what}{where}: on average {size} {way} what was expected."
