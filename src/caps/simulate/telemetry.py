"""A month of operations telemetry with five known incidents: the data of `caps demo`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from caps.errors import InputError

DAYS = 30
TRAIN_DAYS = 12  # free of incidents
STEPS_PER_HOUR = 6
STEPS_PER_DAY = 24 * STEPS_PER_HOUR
START = np.datetime64("2024-03-04T00:00:00")  # a Monday
STEP = np.timedelta64(600, "s")
# Each metric and the decimals it is written with.
METRICS = {"requests": 0, "latency_ms": 1, "cpu": 1, "queue": 0, "memory_gb": 2}

GROWTH = 0.1  # of the load over the whole month
WEEKEND_DIP = 0.35
SCATTERED_MISSING = 0.003  # share of single values that were never recorded
# (day, hours): the collector was down and its rows do not exist, or one exporter was silent.
COLLECTOR_DOWN = ((5, 3.0), (20, 1.5))
QUEUE_UNKNOWN = (9, 8.0)

Columns = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Incident:
    """What went wrong, from `start` up to but not including `end`, and where it shows."""

    name: str
    start: np.datetime64
    end: np.datetime64
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Telemetry:
    """Metrics over time, rows in UTC; not-a-number marks values that were not recorded."""

    time: np.ndarray  # (time,) seconds; rows that the collector missed are left out
    values: np.ndarray  # (time, metric)
    metrics: tuple[str, ...]
    incidents: tuple[Incident, ...]
    train_end: np.datetime64  # no incident starts before

    @property
    def labels(self) -> np.ndarray:
        """For each row, whether an incident was going on."""
        during = [(self.time >= each.start) & (self.time < each.end) for each in self.incidents]
        return np.asarray(np.any(during, axis=0))


def month_of_telemetry(seed: int) -> Telemetry:
    """Simulate 30 days in steps of 10 minutes; incidents come after the first 12 days.

    >>> month = month_of_telemetry(seed=0)
    >>> month.metrics
    ('requests', 'latency_ms', 'cpu', 'queue', 'memory_gb')
    >>> [incident.name for incident in month.incidents]
    ['latency spikes', 'outage', 'costly release', 'night without rest', 'memory leak']
    """
    if seed < 0:
        raise InputError(f"the seed is {seed}", "give 0 or a positive whole number")
    rng = np.random.default_rng(seed)
    columns = _normal(rng)
    incidents = tuple(_happen(plan, columns, rng) for plan in PLANS)
    values = np.column_stack([columns[name].round(digits) for name, digits in METRICS.items()])
    kept = _lose_values(values, rng)
    return Telemetry(
        time=_moments(np.flatnonzero(kept)),
        values=values[kept],
        metrics=tuple(METRICS),
        incidents=incidents,
        train_end=START + TRAIN_DAYS * STEPS_PER_DAY * STEP,
    )


def _moments(steps: np.ndarray) -> np.ndarray:
    return np.asarray(START + steps * STEP)


def _normal(rng: np.random.Generator) -> Columns:
    """Every metric follows one load, whose noise they share, and adds noise of its own."""
    steps = np.arange(DAYS * STEPS_PER_DAY)
    growth = 1 + GROWTH * steps / len(steps)
    load = _load(steps) * growth * np.exp(_red_noise(rng, len(steps), keep=0.9, std=0.05))
    batch = _nightly_batch(steps)
    latency = (42 + 25 * load**2) * np.exp(_red_noise(rng, len(steps), keep=0.6, std=0.05))
    jobs = (4 + 8 * load + 90 * batch) * np.exp(_red_noise(rng, len(steps), keep=0.8, std=0.12))
    slow_load = lfilter([0.05], [1, -0.95], load, zi=[0.95 * load[0]])[0]
    return {
        "requests": rng.poisson(1200 * load).astype(np.float64),
        "latency_ms": latency,
        "cpu": 9 + 45 * load + 14 * batch + _red_noise(rng, len(steps), keep=0.7, std=1.4),
        "queue": rng.poisson(jobs).astype(np.float64),
        "memory_gb": 9 + 1.4 * slow_load + _red_noise(rng, len(steps), keep=0.98, std=0.12),
    }


def _load(steps: np.ndarray) -> np.ndarray:
    """Expected load: low at night, two peaks a day, calmer from Saturday to Sunday."""
    hour = steps / STEPS_PER_HOUR % 24
    angle = 2 * np.pi * hour / 24
    day = 0.6 - 0.34 * np.cos(angle - 0.75) - 0.12 * np.cos(2 * angle - 0.6)
    hour_of_week = steps / STEPS_PER_HOUR % 168
    weekend = np.interp(hour_of_week, [0, 6, 116, 126, 164, 168], [0.6, 0, 0, 1, 1, 0.6])
    return np.asarray(day * (1 - WEEKEND_DIP * weekend))


def _nightly_batch(steps: np.ndarray) -> np.ndarray:
    """A job from about 02:00 to 03:40 that rises, holds and ends."""
    minutes = steps % STEPS_PER_DAY * 10
    return np.asarray(np.interp(minutes, [110, 140, 200, 230], [0.0, 1.0, 0.8, 0.0]))


def _red_noise(rng: np.random.Generator, length: int, *, keep: float, std: float) -> np.ndarray:
    """Noise of standard deviation `std` that remembers the share `keep` of its last value."""
    drive = rng.standard_normal(length)
    drive[1:] *= np.sqrt(1 - keep**2)
    return np.asarray(std * lfilter([1.0], [1.0, -keep], drive))


def _lose_values(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Blank what was not recorded; return which rows were recorded at all."""
    values[rng.random(values.shape) < SCATTERED_MISSING] = np.nan
    values[_span(rng, *QUEUE_UNKNOWN), list(METRICS).index("queue")] = np.nan
    kept = np.ones(len(values), dtype=bool)
    for day, hours in COLLECTOR_DOWN:
        kept[_span(rng, day, hours)] = False
    return kept


def _span(rng: np.random.Generator, day: int, hours: float) -> slice:
    start = day * STEPS_PER_DAY + int(rng.integers(STEPS_PER_DAY // 2))
    return slice(start, start + round(hours * STEPS_PER_HOUR))


def _spike(columns: Columns, rows: slice, rng: np.random.Generator) -> None:
    height = rng.uniform(1.0, 3.0, columns["latency_ms"][rows].size)
    height[rng.random(height.size) < 0.6] = 0
    height[[0, -1]] = rng.uniform(1.0, 3.0, 2)  # the burst starts and ends with a spike
    columns["latency_ms"][rows] *= 1 + height


def _stop(columns: Columns, rows: slice, rng: np.random.Generator) -> None:
    left = rng.uniform(0.01, 0.05)
    columns["requests"][rows] *= left
    columns["cpu"][rows] = 9 + left * (columns["cpu"][rows] - 9)


def _shift(columns: Columns, rows: slice, rng: np.random.Generator) -> None:
    columns["cpu"][rows] += rng.uniform(13, 18)
    columns["latency_ms"][rows] *= rng.uniform(1.25, 1.4)


def _turn_night_into_day(columns: Columns, rows: slice, rng: np.random.Generator) -> None:
    """The load of twelve hours before, with the noise of now."""
    steps = np.arange(rows.start, rows.stop)
    night, day = _load(steps), _load(steps - STEPS_PER_DAY // 2)
    columns["requests"][rows] *= day / night
    columns["cpu"][rows] += 45 * (day - night)


def _leak(columns: Columns, rows: slice, rng: np.random.Generator) -> None:
    length = rows.stop - rows.start
    columns["memory_gb"][rows] += rng.uniform(3.0, 4.5) * np.arange(1, length + 1) / length


@dataclass(frozen=True, slots=True)
class _Plan:
    """When an incident may start, how long it may last (both in hours) and what it does."""

    name: str
    day: int
    hour: tuple[float, float]
    hours: tuple[float, float]
    metrics: tuple[str, ...]
    effect: Callable[[Columns, slice, np.random.Generator], None]


PLANS = (
    _Plan("latency spikes", 14, (9, 15), (3, 5), ("latency_ms",), _spike),
    _Plan("outage", 16, (8, 15), (1.5, 3), ("requests", "cpu"), _stop),
    _Plan("costly release", 18, (8, 12), (20, 28), ("cpu", "latency_ms"), _shift),
    _Plan("night without rest", 22, (22, 23), (7.5, 9), ("requests", "cpu"), _turn_night_into_day),
    _Plan("memory leak", 25, (6, 12), (54, 66), ("memory_gb",), _leak),
)


def _happen(plan: _Plan, columns: Columns, rng: np.random.Generator) -> Incident:
    """Let the incident happen in `columns`."""
    start = round((plan.day * 24 + rng.uniform(*plan.hour)) * STEPS_PER_HOUR)
    stop = start + round(rng.uniform(*plan.hours) * STEPS_PER_HOUR)
    plan.effect(columns, slice(start, stop), rng)
    first, end = _moments(np.array([start, stop]))
    return Incident(plan.name, first, end, plan.metrics)
