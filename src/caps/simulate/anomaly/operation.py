"""Events to render and what surrounds them, and the operations that do it.

Operations see all events that drew them at once. Arrays over event time have the shape
(events, longest), columns past an event's length are computed and then ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from caps.simulate.components import Components
from caps.simulate.cycles import log_uniform

# Steps on either side of an event that count as its surroundings.
SURROUNDINGS = 32
# Every local statistic is taken over this many evenly spread samples, so one array holds them all.
SAMPLES = 96
SMALLEST_LOCAL_SCALE = 0.1
LONGEST_SPIKE = 48


@dataclass(frozen=True, slots=True)
class Bases:
    """Normalised long series of one block with the figures that all events share."""

    parts: Components
    series: np.ndarray  # (rows, length)
    timescale: np.ndarray  # (rows,) the period, or that of the autocorrelation, or 32
    noise: np.ndarray  # (rows,) standard deviation of what cannot be predicted
    low: np.ndarray  # (rows,)
    high: np.ndarray  # (rows,)
    generator: np.ndarray  # (rows,) index into GENERATORS

    @property
    def length(self) -> int:
        return int(self.series.shape[1])

    @property
    def seasonal(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.parts.period))


@dataclass(frozen=True, slots=True)
class Events:
    """Events that share an operation, with their local context in units of the series."""

    bases: Bases
    row: np.ndarray  # (events,) row of the long series
    start: np.ndarray  # (events,) first step of the support
    length: np.ndarray  # (events,) steps of the support
    time: np.ndarray  # (events, longest) step in the long series
    elapsed: np.ndarray  # (longest,) steps since the start
    period: np.ndarray  # (events,) timescale of the series
    scale: np.ndarray  # (events,) sigma_loc
    low: np.ndarray  # (events,) 5% quantile over two periods
    high: np.ndarray  # (events,) 95% quantile over two periods
    centre: np.ndarray  # (events,) local median of the series
    slope: np.ndarray  # (events,) local change per step
    noise: np.ndarray  # (events,) standard deviation of the noise

    def __len__(self) -> int:
        return len(self.row)

    @property
    def reach(self) -> np.ndarray:
        """A_loc: the usual range of values around the event."""
        return np.asarray(self.high - self.low)

    @property
    def progress(self) -> np.ndarray:
        """0 at the first and 1 at the last step of each event (events, longest)."""
        return np.asarray(np.minimum(self.elapsed / np.maximum(self.length - 1, 1)[:, None], 1.0))

    def current(self, part: np.ndarray) -> np.ndarray:
        """Values of a (rows, length) array over the time of the events."""
        return np.asarray(part[self.row[:, None], self.time])

    @property
    def values(self) -> np.ndarray:
        return self.current(self.bases.series)

    @property
    def background(self) -> np.ndarray:
        """Trend and noise, which stay when the signal is rendered anew."""
        parts = self.bases.parts
        return np.asarray(self.current(parts.trend) + self.current(parts.noise))

    @property
    def signal(self) -> np.ndarray:
        return self.current(self.bases.parts.signal)

    @property
    def phase(self) -> np.ndarray:
        return self.current(self.bases.parts.phase)

    def before(self, part: np.ndarray) -> np.ndarray:
        """The value just before each event (events,)."""
        return np.asarray(part[self.row, np.maximum(self.start - 1, 0)])

    def after(self, part: np.ndarray) -> np.ndarray:
        """The value just after each event (events,)."""
        stop = np.minimum(self.start + self.length, self.bases.length - 1)
        return np.asarray(part[self.row, stop])

    def signal_at(self, time: np.ndarray) -> np.ndarray:
        """The noise-free signal at fractional steps (events, any): its own clock, re-timed."""
        return interpolated(self.bases.parts.signal, self.row, self.folded(time))

    def folded(self, time: np.ndarray) -> np.ndarray:
        """`time` moved by whole periods into the series where it runs over an end."""
        last = self.bases.length - 1
        period = self.period[:, None]
        time = time - np.ceil(np.maximum(time - last, 0) / period) * period
        time = time + np.ceil(np.maximum(-time, 0) / period) * period
        return np.asarray(np.clip(time, 0, last))


def short_features(features: np.ndarray) -> np.ndarray:
    """Which expected spikes and beats (rows, n) last no longer than a point anomaly may."""
    steps = features[:, :, 1] - features[:, :, 0]
    return np.asarray((features[:, :, 0] > 0) & (steps <= LONGEST_SPIKE))


def interpolated(part: np.ndarray, row: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Cubic interpolation of rows of `part`, kept within the four neighbours.

    Without that bound the cubic overshoots at the edges of square waves.
    """
    last = part.shape[1] - 1
    left = np.clip(time.astype(np.int64), 0, last)
    share = (time - left).astype(np.float32)
    row = row[:, None]
    p0, p1 = part[row, np.maximum(left - 1, 0)], part[row, left]
    p2, p3 = part[row, np.minimum(left + 1, last)], part[row, np.minimum(left + 2, last)]
    value = p1 + 0.5 * share * (
        p2 - p0 + share * (2 * p0 - 5 * p1 + 4 * p2 - p3 + share * (3 * (p1 - p2) + p3 - p0))
    )
    lowest = np.minimum(np.minimum(p0, p1), np.minimum(p2, p3))
    highest = np.maximum(np.maximum(p0, p1), np.maximum(p2, p3))
    return np.asarray(np.clip(value, lowest, highest))


def survey(parts: Components, generator: np.ndarray) -> Bases:
    """Bases of normalised components: timescale, noise and range of every row."""
    series = parts.series
    noise = np.maximum(parts.noise.std(axis=1), parts.texture)
    timescale = parts.period.copy()
    free = np.flatnonzero(np.isnan(timescale))
    timescale[free] = rhythm(series[free])
    return Bases(
        parts=parts,
        series=series,
        timescale=timescale,
        noise=noise,
        low=series.min(axis=1),
        high=series.max(axis=1),
        generator=generator,
    )


def rhythm(series: np.ndarray, shortest: int = 6, longest: int = 200) -> np.ndarray:
    """Lag of the first clear peak of the autocorrelation per row, 32 where there is none."""
    span = 1 << int(np.ceil(np.log2(2 * series.shape[1])))
    power = np.abs(np.fft.rfft(series, span)) ** 2
    lags = np.fft.irfft(power, span)[:, : longest + 2]
    correlation = lags / np.maximum(lags[:, :1], 1e-12)
    middle = correlation[:, 1:-1]
    peak = (middle >= correlation[:, :-2]) & (middle > correlation[:, 2:]) & (middle > 0.2)
    peak[:, : shortest - 1] = False
    return np.where(peak.any(axis=1), peak.argmax(axis=1) + 1.0, 32.0)


def in_context(bases: Bases, row: np.ndarray, start: np.ndarray, length: np.ndarray) -> Events:
    """Measure the local context of events at `start` of `length` steps on rows of `bases`."""
    elapsed = np.arange(int(length.max()))
    time = np.minimum(start[:, None] + elapsed, bases.length - 1)
    near = _samples(bases, row, start - SURROUNDINGS, start + length + SURROUNDINGS)
    around = bases.series[row[:, None], near]
    offset = (near - near.mean(axis=1, keepdims=True)).astype(np.float32)
    slope = (offset * around).sum(axis=1) / np.maximum((offset**2).sum(axis=1), 1e-9)
    flat = around - slope[:, None] * offset
    centre = np.median(around, axis=1)
    deviation = np.abs(flat - np.median(flat, axis=1, keepdims=True))
    # The scale of spiky series (beats, counts) is nearly zero by the median alone.
    scale = np.maximum(1.4826 * np.median(deviation, axis=1), 0.3 * flat.std(axis=1))
    wide = np.maximum(SURROUNDINGS, bases.timescale[row])
    middle = start + length / 2
    broad = bases.series[row[:, None], _samples(bases, row, middle - wide, middle + wide)]
    ordered = np.sort(broad, axis=1)
    return Events(
        bases=bases,
        row=row,
        start=start,
        length=length,
        time=time,
        elapsed=elapsed,
        period=bases.timescale[row],
        scale=np.maximum(scale, SMALLEST_LOCAL_SCALE),
        low=ordered[:, round(0.05 * SAMPLES)],
        high=ordered[:, round(0.95 * SAMPLES) - 1],
        centre=centre,
        slope=slope,
        noise=bases.noise[row],
    )


def _samples(bases: Bases, row: np.ndarray, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """SAMPLES evenly spread steps from `first` to `stop`, kept inside the series."""
    share = np.linspace(0, 1, SAMPLES)
    first = np.maximum(first, 0)[:, None]
    stop = np.minimum(stop, bases.length - 1)[:, None]
    return np.asarray(np.round(first + share * (stop - first)).astype(np.int64))


FAMILIES = ("point", "periodic", "trend")

# Values over the time of the events (events, longest), and the strength that was drawn (events,).
Rendered = tuple[np.ndarray, np.ndarray]
Render = Callable[[Events, np.random.Generator], Rendered]
# Lengths in steps for events on series with the given timescales.
Lengths = Callable[[np.random.Generator, np.ndarray], np.ndarray]
# How well each base suits an operation; 0 where it makes no sense.
Suits = Callable[[Bases], np.ndarray]


class Place(Enum):
    """Where the events of an operation lie."""

    ANYWHERE = "anywhere"
    FEATURE = "on an expected spike or beat"
    CYCLE = "on the whole cycle around an expected spike or beat"
    DAY = "from one midnight to another"
    TO_THE_END = "from the onset past the end of the window"


def anything(bases: Bases) -> np.ndarray:
    return np.ones(len(bases.series))


@dataclass(frozen=True, slots=True)
class Operation:
    """A named way to make a normal segment anomalous."""

    render: Render
    name: str
    lengths: Lengths
    reason: str
    suits: Suits = anything
    weight: float = 1.0
    place: Place = Place.ANYWHERE
    tapered: bool = False  # blend over 1-4 steps at both ends, inside the support
    scalable: bool = False  # a weaker copy of the residual is still the same kind of event
    covers: bool = False  # may fill a whole window

    @property
    def family(self) -> str:
        return {"P": "point", "Q": "periodic", "T": "trend"}[self.name[0]]

    def __call__(self, events: Events, rng: np.random.Generator) -> Rendered:
        """The values that the events get."""
        return self.render(events, rng)


def operation(
    name: str, lengths: Lengths, reason: str, **facts: Any
) -> Callable[[Render], Operation]:
    """Declare a function as an operation, with the facts that are to be known of it."""
    return lambda render: Operation(render, name, lengths, reason, **facts)


def seasonal(bases: Bases) -> np.ndarray:
    """A season is needed, because it is the season that breaks."""
    return bases.seasonal.astype(float)


def steps(low: int, high: int, single: float = 0.0) -> Lengths:
    """Uniform lengths from `low` to `high`; with probability `single` just one step."""

    def draw(rng: np.random.Generator, timescale: np.ndarray) -> np.ndarray:
        drawn = rng.integers(low, high + 1, len(timescale))
        return np.where(rng.random(len(timescale)) < single, 1, drawn)

    return draw


def spans(low: float, high: float) -> Lengths:
    """Log-uniform lengths from `low` to `high` steps."""

    def draw(rng: np.random.Generator, timescale: np.ndarray) -> np.ndarray:
        return np.round(log_uniform(rng, low, high, len(timescale))).astype(np.int64)

    return draw


def periods(low: float, high: float, shortest: int = 8, longest: int = 160) -> Lengths:
    """Uniform lengths in periods of the series, kept between `shortest` and `longest` steps."""

    def draw(rng: np.random.Generator, timescale: np.ndarray) -> np.ndarray:
        drawn = timescale * rng.uniform(low, high, len(timescale))
        return np.round(np.clip(drawn, shortest, longest)).astype(np.int64)

    return draw


def signs(rng: np.random.Generator, events: Events) -> np.ndarray:
    return rng.choice([-1.0, 1.0], len(events))


def either(
    rng: np.random.Generator, events: Events, low: tuple[float, float], high: tuple[float, float]
) -> np.ndarray:
    """A factor from one of two ranges, never near the 1 that would change nothing."""
    size = len(events)
    return np.where(rng.random(size) < 0.5, rng.uniform(*low, size), rng.uniform(*high, size))
