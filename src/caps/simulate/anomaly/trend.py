"""Trend operations: the level path is wrong for a while."""

from functools import partial

import numpy as np

from caps.simulate.anomaly.operation import (
    Bases,
    Events,
    Place,
    Rendered,
    either,
    operation,
    signs,
    spans,
)
from caps.simulate.cycles import log_uniform


def with_states(bases: Bases) -> np.ndarray:
    """The series has at least two known levels."""
    return np.asarray((np.isfinite(bases.parts.levels).sum(axis=1) >= 2).astype(float))


at_any_size = partial(operation, scalable=True)


@at_any_size(
    "T1 level shift",
    spans(8, 192),
    "a changed configuration, a lost replica",
    weight=2.0,
    covers=True,
)
def level_shift(events: Events, rng: np.random.Generator) -> Rendered:
    """T1: another level, reached within four steps, left again at the end."""
    height = log_uniform(rng, 1.0, 6.0, len(events))
    return events.values + _signed(rng, events, height) * _plateau(rng, events), height


@at_any_size(
    "T2 persistent shift", spans(16, 200), "a change point that stays", place=Place.TO_THE_END
)
def persistent_shift(events: Events, rng: np.random.Generator) -> Rendered:
    """T2: another level that stays to the end of the window and beyond."""
    height = log_uniform(rng, 0.8, 5.0, len(events))
    return events.values + _signed(rng, events, height) * _onset(rng, events), height


@at_any_size("T3 drift", spans(24, 200), "leaks, fouling, growing queues", covers=True)
def drift(events: Events, rng: np.random.Generator) -> Rendered:
    """T3: the level creeps away and is reset at once or decays back."""
    height = log_uniform(rng, 1.0, 6.0, len(events))
    turn = np.where(rng.random(len(events)) < 0.6, 1.0, rng.uniform(0.6, 0.9, len(events)))[:, None]
    power = rng.uniform(0.5, 2.0, (len(events), 1))
    progress = events.progress
    rise = np.minimum(progress / turn, 1.0) ** power
    fall = np.exp(-4 * np.maximum(progress - turn, 0) / np.maximum(1 - turn, 0.05))
    return events.values + _signed(rng, events, height) * rise * fall, height


@at_any_size("T4 trend break", spans(24, 200), "growth that speeds up or turns")
def trend_break(events: Events, rng: np.random.Generator) -> Rendered:
    """T4: the local slope is multiplied or reversed, then the path rejoins by a ramp."""
    factor = either(rng, events, (-1.5, 0.2), (1.8, 3.0))
    own = (factor - 1) * events.slope * events.length
    least = log_uniform(rng, 1.0, 4.0, len(events)) * events.scale
    change = np.where(own < 0, -1.0, 1.0) * np.clip(np.abs(own), least, 4 * least)
    turn = rng.uniform(0.6, 0.95, (len(events), 1))
    progress = events.progress
    path = np.where(progress < turn, progress / turn, (1 - progress) / (1 - turn))
    return events.values + change[:, None] * path, factor


@at_any_size("T5 bump", spans(8, 128), "campaigns, backfills, short disturbances", weight=2.0)
def bump(events: Events, rng: np.random.Generator) -> Rendered:
    """T5: a raised cosine or a plateau with soft edges, up or down."""
    height = log_uniform(rng, 1.0, 5.0, len(events))
    centred = (events.elapsed + 0.5) / events.length[:, None]
    bell = 0.5 - 0.5 * np.cos(2 * np.pi * np.minimum(centred, 1.0))
    soft = (rng.random(len(events)) < 0.5)[:, None]
    shape = np.where(soft, bell, _plateau(rng, events, least=1))
    return events.values + _signed(rng, events, height) * shape, height


@at_any_size("T6 transient", spans(10, 64), "a shock and its recovery")
def transient(events: Events, rng: np.random.Generator) -> Rendered:
    """T6: fast rise and slow decay, or slow rise and fast fall, up or down."""
    height = log_uniform(rng, 1.5, 6.0, len(events))
    rise = rng.integers(1, 6, (len(events), 1))
    mirrored = (rng.random(len(events)) < 0.4)[:, None]
    last = events.length[:, None] - 1
    clock = np.where(mirrored, np.maximum(last - events.elapsed, 0), events.elapsed)
    decay = np.maximum(events.length[:, None] / rng.uniform(2.0, 4.5, (len(events), 1)), 3.0)
    shape = np.minimum((clock + 1) / rise, 1.0) * np.exp(-np.maximum(clock - rise + 1, 0) / decay)
    return events.values + _signed(rng, events, height) * shape, height


@at_any_size("T7 spike then shift", spans(12, 128), "a restart that settles elsewhere")
def spike_then_shift(events: Events, rng: np.random.Generator) -> Rendered:
    """T7: a spike after which the level stays a little (0.1 to 0.7 of it) up or down."""
    height = log_uniform(rng, 3.0, 10.0, len(events))
    stays = rng.uniform(0.1, 0.7, (len(events), 1)) * rng.choice([-1, 1], (len(events), 1))
    away = np.abs(events.elapsed - rng.integers(1, 4, (len(events), 1)))
    pulse = np.maximum(1 - away / rng.integers(1, 4, (len(events), 1)), 0)
    shape = np.maximum(pulse, 0) + np.where(pulse > 0, 0.0, stays)
    return events.values + _signed(rng, events, height) * shape, height


@operation(
    "T8 flatline", spans(8, 160), "a frozen sensor or a stuck collector", weight=2.0, covers=True
)
def flatline(events: Events, rng: np.random.Generator) -> Rendered:
    """T8: the sensor freezes at its last value, the mean or the minimum."""
    kind = rng.choice(3, len(events), p=[0.7, 0.15, 0.15])
    bases, row = events.bases, events.row
    choices = np.stack([events.before(bases.series), events.centre, bases.low[row]])
    held = choices[kind, np.arange(len(events))][:, None]
    hiss = np.where(rng.random((len(events), 1)) < 0.3, 0.1, 0.0)
    return held + hiss * events.current(bases.parts.noise), kind.astype(float)


@operation("T9 saturation", spans(16, 160), "a limit reached")
def saturation(events: Events, rng: np.random.Generator) -> Rendered:
    """T9: values above (or below) a local quantile are cut off."""
    share = rng.uniform(0.3, 0.9, len(events))
    above = signs(rng, events) > 0
    ordered = np.sort(np.where(events.elapsed < events.length[:, None], events.values, np.inf), 1)
    rank = np.where(above, share, 1 - share) * (events.length - 1)
    bound = np.take_along_axis(ordered, rank.astype(np.int64)[:, None], axis=1)
    values = events.values
    cut = np.where(above[:, None], np.minimum(values, bound), np.maximum(values, bound))
    return cut, share


@operation("T10 cutoff", spans(4, 128), "an outage or missing data stored as zero", covers=True)
def cutoff(events: Events, rng: np.random.Generator) -> Rendered:
    """T10: an outage: zero or the minimum for the whole event."""
    dead = rng.random(len(events)) < 0.6
    value = np.where(dead, events.bases.parts.zero[events.row], events.bases.low[events.row])
    return np.broadcast_to(value[:, None], events.time.shape), dead.astype(float)


@at_any_size("T11 gain and offset", spans(16, 192), "lost calibration", covers=True)
def gain_and_offset(events: Events, rng: np.random.Generator) -> Rendered:
    """T11: a calibration error: another gain about the local mean, and an offset."""
    gain = either(rng, events, (0.5, 0.8), (1.25, 2.0))
    offset = _signed(rng, events, rng.uniform(0.5, 2.0, len(events)))
    centre = events.centre[:, None]
    return centre + gain[:, None] * (events.values - centre) + offset, gain


@operation(
    "T12 wrong state",
    spans(10, 160),
    "a command missed or given at the wrong time",
    suits=with_states,
)
def wrong_state(events: Events, rng: np.random.Generator) -> Rendered:
    """T12: the machine goes to another of its own states at the wrong time."""
    levels = events.bases.parts.levels[events.row]
    signal = events.signal
    here = np.median(signal, axis=1)[:, None]
    # Only states that lie clearly away from the present one count as another state.
    far = np.where(np.isfinite(levels) & (np.abs(levels - here) > 0.25), 1.0, 0.0)
    drawn = (far * rng.random(levels.shape)).argmax(axis=1)
    target = np.nan_to_num(np.take_along_axis(levels, drawn[:, None], axis=1))
    first = events.before(events.bases.parts.signal)[:, None]
    slow = np.where(
        rng.random((len(events), 1)) < 0.5, 0.3, rng.uniform(1.0, 6.0, (len(events), 1))
    )
    path = target + (first - target) * np.exp(-(events.elapsed + 1) / slow)
    return path + events.background, target[:, 0]


@at_any_size(
    "T13 creeping change", spans(32, 200), "wear that grows in level or vibration", covers=True
)
def creeping(events: Events, rng: np.random.Generator) -> Rendered:
    """T13: level and variance grow slowly until something is done about it."""
    from scipy.ndimage import uniform_filter1d  # half a second that fits do without

    height = log_uniform(rng, 1.0, 5.0, len(events))
    onset = np.minimum(events.progress / rng.uniform(0.3, 0.9, (len(events), 1)), 1.0)
    rough = rng.standard_normal((len(events), len(events.elapsed)))
    rough = np.where(rng.random((len(events), 1)) < 0.5, rough, uniform_filter1d(rough, 3, axis=1))
    shaking = (rng.random(len(events)) < 0.5)[:, None]
    swing = 0.6 * (height * events.scale)[:, None] * rough
    shape = np.where(shaking, swing, _signed(rng, events, height))
    return events.values + shape * onset, height


def _signed(rng: np.random.Generator, events: Events, height: np.ndarray) -> np.ndarray:
    return np.asarray((signs(rng, events) * height * events.scale)[:, None])


def _onset(rng: np.random.Generator, events: Events) -> np.ndarray:
    """0 to 1 within at most four steps."""
    return np.minimum((events.elapsed + 1) / rng.integers(1, 5, (len(events), 1)), 1.0)


def _plateau(rng: np.random.Generator, events: Events, least: int = 0) -> np.ndarray:
    """0 to 1 and back, each within at most four steps."""
    left = np.maximum(events.length[:, None] - events.elapsed, 0)
    edge = rng.integers(max(least, 1), 5, (len(events), 1)) + least
    return np.asarray(np.minimum(_onset(rng, events), np.minimum(left / edge, 1.0)))
