"""Periodic operations on a season: its amplitude, clock, shape or calendar is wrong for a while."""

from functools import partial

import numpy as np

from caps.simulate.anomaly.operation import (
    SAMPLES,
    Bases,
    Events,
    Place,
    Rendered,
    either,
    operation,
    periods,
    seasonal,
    steps,
)
from caps.simulate.cycles import WAVEFORMS

# Days either way in which another kind of day is looked for.
DAYS = np.array([-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6])


def with_beats(bases: Bases) -> np.ndarray:
    """One expected feature per cycle, and cycles short enough for a window."""
    expected = (bases.parts.features[:, :, 0] >= 0).sum(axis=1) > 2
    once = (bases.parts.day.max(axis=1) < 0) & (bases.timescale <= 200)
    return np.where(expected & once, 1.0, 0.0)


def with_calendar(bases: Bases) -> np.ndarray:
    """The series has weekdays and weekends, and days short enough for a window."""
    known = (bases.parts.day.max(axis=1) >= 0) & (bases.timescale <= 160)
    return np.asarray((known & (bases.length > 6 * bases.timescale)).astype(float))


# The season itself is rendered anew, eased in and out, for a while or all over a window.
of_season = partial(operation, suits=seasonal, tapered=True, covers=True)


@of_season(
    "Q1 amplitude", periods(0.5, 3), "weak or excessive swing, wear of a machine", scalable=True
)
def amplitude(events: Events, rng: np.random.Generator) -> Rendered:
    """Q1: the season swings too little or too much."""
    factor = either(rng, events, (0.1, 0.7), (1.4, 3.0))
    centre = _signal_centre(events)
    scaled = centre + factor[:, None] * (events.signal - centre)
    return scaled + events.background, factor


@of_season("Q2 frequency", periods(1, 4), "a speed change, arrhythmia", weight=2.0)
def frequency(events: Events, rng: np.random.Generator) -> Rendered:
    """Q2: the clock runs slow or fast from the onset on, and jumps back at the end."""
    factor = either(rng, events, (0.4, 0.8), (1.25, 3.0))
    # Three times the rate of a short season would leave less than three steps a cycle.
    factor = np.minimum(factor, np.maximum(events.period / 3.5, 1.3))
    clock = events.start[:, None] + factor[:, None] * events.elapsed
    return events.signal_at(clock) + events.background, factor


@operation(
    "Q3 phase slip",
    periods(0.5, 3, shortest=10),
    "early or late cycles, clock errors",
    suits=seasonal,
)
def phase_slip(events: Events, rng: np.random.Generator) -> Rendered:
    """Q3: the season comes early or late, eased in and out."""
    shift = either(rng, events, (-0.5, -0.08), (0.08, 0.5))
    eased = np.clip(np.minimum(events.progress, 1 - events.progress) / 0.15, 0, 1)
    eased = eased * eased * (3 - 2 * eased)
    clock = events.time + (shift * events.period)[:, None] * eased
    return events.signal_at(clock) + events.background, shift


@of_season("Q6 waveform swap", periods(0.5, 3), "another process with the same schedule")
def waveform_swap(events: Events, rng: np.random.Generator) -> Rendered:
    """Q6: another waveform of the same period, phase and range."""
    names = ("sine", "square", "saw", "triangle", "pulse", "ricker")
    kind = rng.integers(0, len(names), len(events))
    duty = rng.uniform(0.15, 0.6, (len(events), 1))
    turn = np.broadcast_to(np.arange(SAMPLES) / SAMPLES, (len(events), SAMPLES))
    shapes = np.stack([WAVEFORMS[name](turn, duty) for name in names])[kind, np.arange(len(events))]
    # Both fundamentals get the same phase, so that the shape changes and not the timing.
    own = np.angle(_harmonic(events, 1)[0])
    new = np.angle((shapes * np.exp(-2j * np.pi * turn)).mean(axis=1))
    shifted = (events.phase + ((own - new) / (2 * np.pi))[:, None]) % 1.0
    drawn = np.stack([WAVEFORMS[name](shifted, duty) for name in names])[
        kind, np.arange(len(events))
    ]
    low, high = shapes.min(axis=1)[:, None], shapes.max(axis=1)[:, None]
    share = (drawn - low) / np.maximum(high - low, 1e-6)
    floor, top = _signal_range(events)
    return floor + share * (top - floor) + events.background, kind.astype(float)


@of_season(
    "Q7 harmonic change",
    periods(0.5, 3),
    "a looseness or imbalance of a machine, distorted beats",
    scalable=True,
)
def harmonic_change(events: Events, rng: np.random.Generator) -> Rendered:
    """Q7: a harmonic is added, lost or shifted in phase."""
    order = rng.integers(2, 7, len(events))
    order = np.minimum(order, np.maximum(events.period // 3, 2))
    strength = rng.uniform(0.25, 0.8, len(events))
    own = _harmonic(events, 2, 3, 4, 5, 6).T
    strongest = np.abs(own).argmax(axis=1)
    coefficient = np.take_along_axis(own, strongest[:, None], axis=1)[:, 0]
    kind = rng.choice(3, len(events), p=[0.5, 0.25, 0.25])
    turned = coefficient * (np.exp(2j * np.pi * rng.uniform(0.25, 0.75, len(events))) - 1)
    added = 0.25 * strength * events.reach * np.exp(2j * np.pi * rng.random(len(events)))
    change = np.select([kind == 0, kind == 1], [added, -coefficient], turned)
    which = np.where(kind == 0, order, strongest + 2)[:, None]
    wave = 2 * np.real(change[:, None] * np.exp(2j * np.pi * which * events.phase))
    return events.values + wave, strength


@of_season("Q8 modulation", periods(1, 4), "hunting control loops, beating")
def modulation(events: Events, rng: np.random.Generator) -> Rendered:
    """Q8: amplitude or clock of the season is modulated."""
    rate = rng.uniform(1 / 8, 1 / 2, (len(events), 1))
    depth = rng.uniform(0.4, 0.95, len(events))
    wave = np.sin(2 * np.pi * (rate * events.phase + rng.random((len(events), 1))))
    centre = _signal_centre(events)
    louder = centre + (events.signal - centre) * (1 + depth[:, None] * wave)
    sway = 0.3 * (depth * events.period)[:, None]
    faster = events.signal_at(events.time + sway * wave)
    by_clock = (rng.random(len(events)) < 0.5)[:, None]
    return np.where(by_clock, faster, louder) + events.background, depth


@operation(
    "Q9 pulse edit",
    steps(1, 1),
    "one premature, late, wide or narrow beat",
    suits=with_beats,
    place=Place.CYCLE,
)
def pulse_edit(events: Events, rng: np.random.Generator) -> Rendered:
    """Q9: the pulse or beat of one cycle is wider, narrower, early or late."""
    half = 0.12
    width = either(rng, events, (0.45, 0.7), (1.4, 2.2))
    shift = either(rng, events, (-0.33, -0.1), (0.1, 0.33))
    moves = rng.random(len(events)) < 0.5
    width, shift = np.where(moves, 1.0, width), np.where(moves, shift, 0.0)
    first, second = 0.5 + shift - half * width, 0.5 + shift + half * width
    progress = events.progress
    before = progress / first[:, None] * (0.5 - half)
    within = 0.5 - half + (progress - first[:, None]) / width[:, None]
    beyond = 1 - (1 - progress) / (1 - second)[:, None] * (0.5 - half)
    share = np.where(progress < first[:, None], before, np.minimum(within, beyond))
    share = np.where(progress > second[:, None], beyond, share)
    clock = events.start[:, None] + share * (events.length - 1)[:, None]
    return events.signal_at(clock) + events.background, np.where(moves, shift, width)


@operation(
    "Q14 discord day",
    steps(1, 2),
    "a holiday on a weekday",
    suits=with_calendar,
    place=Place.DAY,
    tapered=True,
)
def discord_day(events: Events, rng: np.random.Generator) -> Rendered:
    """Q14: a weekend comes on a weekday or the other way round (holidays, strikes)."""
    day = events.bases.parts.day
    noon = events.start + 0.5 * events.period
    there = np.round(noon[:, None] + DAYS * events.period[:, None]).astype(np.int64)
    valid = (there >= 0) & (there < events.bases.length)
    there = np.clip(there, 0, events.bases.length - 1)
    here = np.minimum(np.round(noon).astype(np.int64), events.bases.length - 1)
    other = valid & (day[events.row[:, None], there] != day[events.row, here][:, None])
    drawn = (other * rng.uniform(0.1, 1.0, other.shape)).argmax(axis=1)
    lag = np.where(other.any(axis=1), DAYS[drawn], 0)
    clock = events.time + (lag * events.period)[:, None]
    return events.signal_at(clock) + events.background, lag.astype(float)


def _two_periods(events: Events) -> np.ndarray:
    """SAMPLES evenly spread steps over the two periods around each event."""
    middle = events.start + events.length / 2
    share = np.linspace(-1, 1, SAMPLES)
    span = np.maximum(events.period, events.length / 2)[:, None]
    time = np.clip(np.round(middle[:, None] + share * span), 0, events.bases.length - 1)
    return np.asarray(time, dtype=np.int64)


def _signal_centre(events: Events) -> np.ndarray:
    near = events.bases.parts.signal[events.row[:, None], _two_periods(events)]
    return np.asarray(np.median(near, axis=1, keepdims=True))


def _signal_range(events: Events) -> tuple[np.ndarray, np.ndarray]:
    near = np.sort(events.bases.parts.signal[events.row[:, None], _two_periods(events)], axis=1)
    return near[:, 2:3], near[:, -3:-2]


def _harmonic(events: Events, *orders: int) -> np.ndarray:
    """Complex coefficients (orders, events) of the season around each event."""
    near = _two_periods(events)
    signal = events.bases.parts.signal[events.row[:, None], near]
    signal = signal - signal.mean(axis=1, keepdims=True)
    phase = events.bases.parts.phase[events.row[:, None], near]
    return np.stack([(signal * np.exp(-2j * np.pi * h * phase)).mean(axis=1) for h in orders])
