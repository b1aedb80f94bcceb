"""What a fitted model makes of a series: scores, events and what explains them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError
from caps.events.events import Direction, Event, find_events
from caps.events.extent import deviating, excess
from caps.events.match import Nearest, nearest_match
from caps.neighbours import Counterpart, counterpart_of, deviation
from caps.scoring import NOTABLE, EventRules, Fitted, LearnedChannel, Scores, carrying
from caps.series import Series

FloatArray = NDArray[np.float64]
# Association of the rows [start, end) of a scaled channel, given their counterpart, with every
# kind, the best first; None if not known.
KindOf = Callable[[FloatArray, int, int, FloatArray], dict[str, float] | None]

# Of the router on unseen simulated events: kinds known less well are not shown.
LEAST_KIND_ACCURACY = 0.75
# Association from which on a kind is named: of simulated events with rows not quite right, 78 to
# 81 % of the kinds named are true, and half to two thirds of the events get one.
CERTAIN = 0.7
MOST_VIEWS = 3  # channels shown of an event


@dataclass(frozen=True, slots=True, eq=False)
class ChannelView:
    """One channel around an event, in the units of the data; rows are those of the input."""

    name: str
    contribution: float  # share of the evidence, all channels together 1
    direction: Direction | None
    size: float | None  # mean distance to the counterpart, in local spreads
    rows: NDArray[np.intp]  # the event and its surroundings
    values: FloatArray
    counterpart: FloatArray  # not-a-number outside the event


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why an event is one: its kind, and a look at the channels that carry most of it."""

    number: int
    event: Event  # in rows of the input, with the direction and size of the leading channel
    contributions: dict[str, float]  # of every channel, the largest first, sum 1
    channels: tuple[ChannelView, ...]  # the largest contributions, at most MOST_VIEWS
    kind: str | None
    kind_scores: dict[str, float]  # of the router, best first; empty if it is not good enough
    reason: str
    nearest: Nearest | None = None  # of the leading channel's past; None without a memory


@dataclass(frozen=True, slots=True)
class Alarms:
    """What an alarm budget gives on a series."""

    threshold: float
    expected: float  # false alarms, if all rows were normal
    spans: tuple[tuple[int, int], ...]  # rows of the events found, the end exclusive


@dataclass(frozen=True, eq=False)
class Analysis:
    """Scores of every row of `series`, and the events among them.

    Everything is aligned to the rows of `series`; `grid` holds the same rows without gaps in time.
    """

    series: Series
    grid: Series
    rows: NDArray[np.intp]  # place of each row of `series` in `grid`
    fitted: Fitted
    scores: Scores  # of the rows of `grid`
    threshold: float
    rules: EventRules
    notes: tuple[str, ...] = ()
    kind_of: KindOf | None = None
    _counterparts: dict[tuple[int, int, int], Counterpart] = field(default_factory=dict, init=False)

    @cached_property
    def scaled(self) -> FloatArray:
        """The values of `grid` in the units of training."""
        return self.fitted.scaled(self.grid)

    @cached_property
    def found(self) -> tuple[Event, ...]:
        """The events as the scores give them, in rows of `grid`."""
        return tuple(self._find(self.threshold))

    @cached_property
    def spans(self) -> tuple[Event, ...]:
        """The same events, cut to the rows that deviate."""
        return tuple(self._tightened(event) for event in self.found)

    @property
    def score(self) -> FloatArray:
        """Scores in [0, 1], not-a-number where nothing was observed."""
        return self.scores.score[self.rows]

    @property
    def p_value(self) -> FloatArray:
        """How often a normal row scores at least as high."""
        return self.fitted.calibration.p_values(self.score)

    @property
    def event_id(self) -> NDArray[np.intp]:
        """The number of the event each row belongs to, from 1 on; 0 for none."""
        numbers = np.zeros(len(self.grid), dtype=np.intp)
        for number, event in enumerate(self.spans, start=1):
            numbers[event.start : event.end] = number
        return numbers[self.rows]

    @property
    def flag(self) -> NDArray[np.int8]:
        """1 in the rows of events, else 0; rows without any observation are 0."""
        return ((self.event_id > 0) & np.isfinite(self.score)).astype(np.int8)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events in order of time, in rows of `series`."""
        return tuple(self._on_rows(event) for event in self.spans)

    def contributions(self, number: int) -> dict[str, float]:
        """Each channel's share of the evidence of event `number` (from 1 on)."""
        event = self._span(number)
        share = self.scores.of_event(event.start, event.end)
        return dict(zip(self.fitted.names, share.tolist(), strict=True))

    def alarms(self, budget: str | float) -> Alarms:
        """What another budget would give."""
        calibration = self.fitted.calibration
        threshold = self.fitted.threshold(budget)
        observed = int(np.isfinite(self.scores.score).sum())
        found = [self._on_rows(event) for event in map(self._tightened, self._find(threshold))]
        return Alarms(
            threshold,
            calibration.expected_alarms(threshold, observed),
            tuple((event.start, event.end) for event in found),
        )

    def explain(self, number: int) -> Explanation:
        """Explain event `number`, counted from 1."""
        event, wide = self._span(number), self.found[number - 1]
        share = self.scores.of_event(event.start, event.end)
        order = np.argsort(-share, kind="stable")
        names = self.fitted.names
        contributions = {names[place]: float(share[place]) for place in order}
        shown = [int(place) for place in order[:MOST_VIEWS]]
        inside = slice(event.start - wide.start, event.end - wide.start)
        expected = [self._counterpart(place, wide).expected[inside] for place in shown]
        views = tuple(
            self._view(place, event, normal, float(share[place]))
            for place, normal in zip(shown, expected, strict=True)
        )
        kinds = self._kinds(shown[0], event, expected[0])
        kind = next((name for name, share in kinds.items() if share >= CERTAIN), None)
        lead = views[0]
        told = replace(self._on_rows(event), direction=lead.direction, size=lead.size)
        reason, nearest = _reason(told, contributions, kind), self._nearest(shown[0], event)
        if nearest is not None:
            reason = f"{reason} {nearest.sentence(self.series.timezone)}"
        return Explanation(number, told, contributions, views, kind, kinds, reason, nearest)

    def nearest(self, number: int) -> Nearest | None:
        """The stretch of training most like event `number`, in the channel that leads it."""
        event = self._span(number)
        return self._nearest(int(self.scores.of_event(event.start, event.end).argmax()), event)

    def explanations(self) -> list[Explanation]:
        """Explanations of all events."""
        return [self.explain(number) for number in range(1, len(self.spans) + 1)]

    def _find(self, threshold: float) -> list[Event]:
        return find_events(
            self.scores.score,
            threshold,
            self.rules,
            calibration=self.fitted.calibration,
            time=self.grid.time,
        )

    def _span(self, number: int) -> Event:
        if not 1 <= number <= len(self.spans):
            raise InputError(
                f"there is no event {number} among {len(self.spans)}",
                "give the number of an event, counted from 1",
            )
        return self.spans[number - 1]

    def _on_rows(self, event: Event) -> Event:
        """The same event in rows of the input: every end and peak of an event was observed."""
        start, last, peak = np.searchsorted(self.rows, [event.start, event.end - 1, event.peak])
        return replace(event, start=int(start), end=int(last) + 1, peak=int(peak))

    def _tightened(self, event: Event) -> Event:
        """The event cut to its peak and the rows where a channel that carries it is off.

        A causal event stays as it is: while it lasts, a stream does not know what comes after it.
        """
        if self.fitted.causal:
            return event
        share = self.scores.of_event(event.start, event.end)
        excesses = []
        for place in {int(share.argmax()), *np.flatnonzero(share >= NOTABLE).tolist()}:
            values = self.scaled[event.start : event.end, place]
            told = excess(values, self._counterpart(place, event))
            if told is None:
                return event
            excesses.append(told)
        rows = deviating(excesses)
        if rows is None:
            return event
        start, end = (
            min(event.start + rows[0], event.peak),
            max(event.start + rows[1], event.peak + 1),
        )
        if end - start < self.rules.minimum_length:
            return event
        cut = replace(event, start=start, end=end)
        if self.grid.time is not None:
            times = self.grid.time[[start, end - 1]]
            cut = replace(cut, start_time=times[0], end_time=times[1])
        return cut

    def _counterpart(self, place: int, event: Event) -> Counterpart:
        """The scaled counterpart of an event in one channel."""
        key = (place, event.start, event.end)
        if key not in self._counterparts:
            bank = self.fitted.channels[place].bank.astype(np.float64)
            values = self.scaled[:, place]
            self._counterparts[key] = counterpart_of(
                values, event.start, event.end, bank, self.fitted.config.neighbours.counterpart
            )
        return self._counterparts[key]

    def _nearest(self, place: int, event: Event) -> Nearest | None:
        channel, values = self.fitted.channels[place], self.scaled[:, place]
        if not isinstance(channel, LearnedChannel) or channel.memory is None:
            return None  # nothing moved that could be shown
        match = nearest_match(
            channel.memory,
            values,
            event,
            self.scores.standardisers[place],
            self.scores.overlap,
            causal=self.fitted.causal,
        )
        if match is None:
            return None
        end = match.start + len(match.values)
        laid = np.full((len(match.values), len(self.fitted.channels)), np.nan)
        laid[:, place] = match.values
        beside = [match.place, match.place + len(match.values)]
        rows = np.arange(*np.searchsorted(self.rows, beside))
        return Nearest(
            channel=self.fitted.names[place],
            start=match.start,
            end=end,
            start_time=self.fitted.training_time(match.start),
            end_time=self.fitted.training_time(end - 1),
            distance=match.distance,
            times=match.times,
            rows=rows,
            values=self.fitted.scaler.inverse(laid)[self.rows[rows] - match.place, place],
        )

    def _kinds(self, place: int, event: Event, expected: FloatArray) -> dict[str, float]:
        values = self.scaled[:, place]
        if self.kind_of is None or not np.isfinite(values[event.start : event.end]).any():
            return {}
        return self.kind_of(values, event.start, event.end, expected) or {}

    def _view(
        self, place: int, event: Event, expected: FloatArray, contribution: float
    ) -> ChannelView:
        channel, values = self.fitted.channels[place], self.scaled[:, place]
        config = self.fitted.config.neighbours.counterpart
        away, _ = deviation(values, event.start, event.end, expected, config)
        direction, size = effect(away)
        first, last = (
            max(0, event.start - config.margin),
            min(len(values), event.end + config.margin),
        )
        whole = np.full((last - first, len(self.fitted.channels)), np.nan)
        whole[event.start - first : event.end - first, place] = expected
        counterpart = self.fitted.scaler.inverse(whole)[:, place]
        inside = np.arange(*np.searchsorted(self.rows, [first, last]))
        return ChannelView(
            name=channel.name,
            contribution=contribution,
            direction=direction,
            size=size,
            rows=inside,
            values=self.series.values[inside, place],
            counterpart=counterpart[self.rows[inside] - first],
        )


def effect(away: FloatArray) -> tuple[Direction | None, float | None]:
    """Direction and mean size of signed distances to the counterpart."""
    steady = find_events(np.ones(len(away)), 0.5, EventRules(), deviation=away)
    return (steady[0].direction, steady[0].size) if steady else (None, None)


def _reason(event: Event, contributions: dict[str, float], kind: str | None) -> str:
    """One sentence a person on call can use."""
    what = f"A {kind} anomaly" if kind else "An anomaly"
    where = f" in {' and '.join(carrying(contributions))}" if len(contributions) > 1 else ""
    if event.size is None or event.direction is None:
        return f"{what}{where}."
    way = {"up": "above", "down": "below", "both": "away from"}[event.direction]
    return f"{what}{where}: on average {event.size:.1f} local spreads {way} what was expected."
