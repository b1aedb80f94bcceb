"""What an operation is: how it renders, where it may act, how long it lasts, and why it exists."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from caps.simulate.anomaly.events import Bases, Events
from caps.simulate.cycles import log_uniform

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
