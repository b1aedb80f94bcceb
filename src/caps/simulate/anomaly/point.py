"""Point operations: single values or short spikes that do not belong where they are."""

from functools import partial

import numpy as np

from caps.simulate.anomaly.operation import (
    Bases,
    Events,
    Place,
    Rendered,
    either,
    operation,
    seasonal,
    short_features,
    signs,
    steps,
)
from caps.simulate.cycles import log_uniform


def with_spikes(bases: Bases) -> np.ndarray:
    """The series has expected spikes or beats that are short enough to be called points."""
    found = short_features(bases.parts.features).sum(axis=1)
    return np.where(found > 2, 1.0, 0.0)


on_a_spike = partial(operation, suits=with_spikes, place=Place.FEATURE)


@operation(
    "P1 global outlier", steps(2, 3, single=0.7), "faulty readings, bursts beyond everything seen"
)
def global_outlier(events: Events, rng: np.random.Generator) -> Rendered:
    """P1: beyond every value the series ever had, by 0.5 to 6 of its standard deviations."""
    height = log_uniform(rng, 0.5, 6.0, len(events))
    up = signs(rng, events) > 0
    bases, row = events.bases, events.row
    value = np.where(up, bases.high[row] + height, bases.low[row] - height)
    wobble = 1 + 0.1 * rng.standard_normal((len(events), len(events.elapsed)))
    base = events.values
    return base + (value[:, None] - base) * np.clip(wobble, 0.8, 1.2), height


@operation(
    "P2 contextual outlier",
    steps(2, 2, single=0.75),
    "a usual value at an unusual time",
    weight=2.0,
    scalable=True,
)
def contextual_outlier(events: Events, rng: np.random.Generator) -> Rendered:
    """P2: far from its neighbours, yet a value the series has elsewhere."""
    height = rng.uniform(3.0, 10.0, len(events))
    change = (signs(rng, events) * height * events.scale)[:, None]
    low, high = events.bases.low[events.row, None], events.bases.high[events.row, None]
    values = events.values
    # Where one direction would leave the range, the other has more room.
    outside = (values + change > high) | (values + change < low)
    change = np.where(outside.any(axis=1, keepdims=True), -change, change)
    return np.clip(values + change, low, high), height


@operation(
    "P3 phase-swapped value",
    steps(2, 4, single=0.5),
    "a reading of another hour, late or doubled delivery",
    suits=seasonal,
)
def phase_swapped(events: Events, rng: np.random.Generator) -> Rendered:
    """P3: the value of half a period later: normal by itself, wrong now."""
    lag = events.period[:, None] * rng.uniform(0.3, 0.7, (len(events), 1))
    return events.signal_at(events.time + lag) + events.background, lag[:, 0] / events.period


@operation(
    "P4 spike", steps(2, 8, single=0.4), "load peaks, glitches, retries", weight=2.0, scalable=True
)
def spike(events: Events, rng: np.random.Generator) -> Rendered:
    """P4: a pulse up or down, triangular or falling off exponentially on both sides."""
    height = log_uniform(rng, 2.0, 15.0, len(events))
    size = (signs(rng, events) * height * events.scale)[:, None]
    return events.values + size * _pulse(rng, events), height


@operation("P5 spike run", steps(6, 40), "a retry storm, a loose contact", scalable=True)
def spike_run(events: Events, rng: np.random.Generator) -> Rendered:
    """P5: two to six spikes in a row; the whole run is one event."""
    height = log_uniform(rng, 2.0, 12.0, len(events))
    size = signs(rng, events) * height * events.scale
    count = np.clip(events.length // rng.integers(2, 9, len(events)), 2, 6)
    gap = np.maximum((events.length - 1) / (count - 1), 1.0)[:, None]
    nth = np.minimum(np.round(events.elapsed / gap), count[:, None] - 1).astype(np.int64)
    distance = np.abs(events.elapsed - np.round(nth * gap))
    heights = np.take_along_axis(rng.uniform(0.6, 1.5, (len(events), 6)), nth, axis=1)
    width = np.where(rng.random((len(events), 1)) < 0.6, 0.5, np.minimum(gap / 3, 2.0))
    shape = np.maximum(1 - distance / (width + 0.5), 0) * heights
    return events.values + size[:, None] * shape, height


@operation(
    "P6 dropout", steps(2, 6, single=0.4), "lost samples filled by zero, minimum or last value"
)
def dropout(events: Events, rng: np.random.Generator) -> Rendered:
    """P6: the sensor reads zero, its minimum or the last value for a moment."""
    row, kind = events.row, rng.choice(3, len(events), p=[0.45, 0.3, 0.25])
    choices = np.stack(
        [events.bases.parts.zero[row], events.bases.low[row], events.before(events.bases.series)]
    )
    value = choices[kind, np.arange(len(events))]
    return np.broadcast_to(value[:, None], events.time.shape), kind.astype(float)


@on_a_spike("P7 missing spike", steps(1, 1), "a beat, a job or a command that did not happen")
def missing_spike(events: Events, rng: np.random.Generator) -> Rendered:
    """P7: an expected spike or beat does not come; the baseline runs through."""
    return _baseline(events) + events.background, np.zeros(len(events))


@on_a_spike("P8 wrong height", steps(1, 1), "a weak or excessive beat", scalable=True)
def wrong_height(events: Events, rng: np.random.Generator) -> Rendered:
    """P8: an expected spike or beat comes far too low or too high."""
    scale = either(rng, events, (0.2, 0.6), (1.5, 3.0))
    baseline = _baseline(events)
    return baseline + scale[:, None] * (events.signal - baseline) + events.background, scale


def _pulse(rng: np.random.Generator, events: Events) -> np.ndarray:
    """Unit pulses with the peak anywhere inside the event."""
    size, length = (len(events), 1), events.length[:, None]
    peak = np.round(rng.uniform(0.25, 0.75, size) * (length - 1))
    left, right = peak + 1, length - peak
    away = events.elapsed - peak
    share = np.where(away < 0, -away / left, away / right)
    triangle = 1 - share
    exponential = np.exp(-3.0 * share)
    pulse = np.where(rng.random(size) < 0.5, triangle, exponential)
    return np.asarray(np.maximum(pulse, 0.0))


def _baseline(events: Events) -> np.ndarray:
    """A straight line through the signal from just before to just after each event."""
    signal = events.bases.parts.signal
    first, last = events.before(signal)[:, None], events.after(signal)[:, None]
    share = (events.elapsed + 1) / (events.length + 1)[:, None]
    return np.asarray(first + np.minimum(share, 1.0) * (last - first))
