"""Periodic operations that rebuild a segment from own data: its order or texture is wrong."""

from functools import partial

import numpy as np

from caps.simulate.anomaly.operation import Bases, Events, Rendered, operation, periods
from caps.simulate.normal.catalogue import GENERATORS

# Reversing, mirroring or moving a segment of these leaves a series with the same law: no anomaly.
_WITHOUT_ORDER = ("N10 autoregression", "N13 intermittent counts")
_SMOOTH = (
    "N2 multi-period",
    "N5 beat train",
    "N7 rotating machine",
    "N9 Gaussian process",
    "N15 slow process",
    "N16 bump train",
)
# Best matches of both ends that are looked at before one of them is spliced in.
CANDIDATES = 128
# Largest mismatch of both ends (value, slope, curvature), in squared local scales.
WORST_JOINT = 3.0


def with_order(bases: Bases) -> np.ndarray:
    """The order of the values matters: a season, or dynamics that are not mere noise."""
    orderless = np.isin(np.array(GENERATORS)[bases.generator], _WITHOUT_ORDER)
    return (bases.seasonal | ~orderless).astype(float)


def with_cycles(bases: Bases) -> np.ndarray:
    """A season or a chaotic rhythm with at least two cycles in a window."""
    rhythmic = bases.seasonal | (bases.generator == GENERATORS.index("N8 chaos"))
    return np.asarray((rhythmic & (bases.timescale < 100)).astype(float))


def with_smooth_dynamics(bases: Bases) -> np.ndarray:
    """Smooth trajectories that do not repeat exactly, chaos above all."""
    names = np.array(GENERATORS)[bases.generator]
    weight = np.where(names == "N8 chaos", 4.0, np.isin(names, _SMOOTH).astype(float))
    return np.where(bases.timescale >= 10, weight, 0.0)


with_other_order = partial(operation, suits=with_order, tapered=True)


@with_other_order("Q4 value mirror", periods(0.5, 2), "a swapped sign or polarity")
def value_mirror(events: Events, rng: np.random.Generator) -> Rendered:
    """Q4: upside down about the local mean."""
    inside = events.elapsed < events.length[:, None]
    values = events.values
    mean = np.where(inside, values, 0).sum(axis=1) / events.length
    return 2 * mean[:, None] - values, mean


@with_other_order("Q5 time reversal", periods(0.5, 2), "a segment in the wrong order")
def time_reversal(events: Events, rng: np.random.Generator) -> Rendered:
    """Q5: the segment runs backwards, tilted so that both ends meet their neighbours."""
    backwards = np.maximum(events.length[:, None] - 1 - events.elapsed, 0)
    values = np.take_along_axis(events.values, backwards, axis=1)
    last = np.take_along_axis(values, events.length[:, None] - 1, axis=1)
    gap = last - values[:, :1]
    return values + gap * (1 - 2 * events.progress), np.zeros(len(events))


@operation("Q10 local warp", periods(0.5, 3), "a stumble: slow then fast", suits=with_order)
def local_warp(events: Events, rng: np.random.Generator) -> Rendered:
    """Q10: first too slow then too fast, or the other way round, with both ends in time."""
    slow = rng.random(len(events)) < 0.5
    speed = np.where(slow, rng.uniform(0.4, 0.7, len(events)), rng.uniform(1.5, 2.5, len(events)))
    # The second speed has to stay within 0.4 to 2.5 as well, which bounds where the first ends.
    bound = np.where(slow, 1.5 / (2.5 - speed), 0.6 / (speed - 0.4))
    turn = (bound * rng.uniform(0.6, 1.0, len(events)))[:, None]
    first = speed[:, None] * events.progress
    second = 1 - (1 - speed[:, None] * turn) / (1 - turn) * (1 - events.progress)
    share = np.where(events.progress < turn, first, second)
    clock = events.start[:, None] + share * (events.length - 1)[:, None]
    return events.signal_at(clock) + events.background, speed


@operation(
    "Q11 missing or extra cycle",
    periods(1.5, 3, shortest=12, longest=200),
    "a skipped or doubled beat or cycle",
    suits=with_cycles,
    tapered=True,
)
def cycle_count(events: Events, rng: np.random.Generator) -> Rendered:
    """Q11: one cycle too few or too many; the others are re-timed to fill the segment."""
    missing = rng.random(len(events)) < 0.5
    cycles = np.where(missing, -1.0, 1.0)
    length = (events.length - 1.0)[:, None]
    rate = 1 + (cycles * events.period)[:, None] / length
    turn = rng.uniform(0.2, 0.8, (len(events), 1))
    # Re-timed before the turn; after it the clock has jumped by the cycle that went or came.
    clock = rate * events.elapsed
    jump = np.where(events.progress < turn, 0.0, -(cycles * events.period)[:, None])
    return events.signal_at(events.start[:, None] + clock + jump) + events.background, cycles


@with_other_order(
    "Q12 segment swap",
    periods(0.5, 2.5, shortest=8, longest=128),
    "replayed, delayed or misplaced data; the own past at the wrong time",
    weight=2.0,
    covers=True,
)
def segment_swap(events: Events, rng: np.random.Generator) -> Rendered:
    """Q12: another segment of the same series, at the wrong phase or from anywhere."""
    size, bases = len(events), events.bases
    cycles = rng.integers(-3, 4, size) + rng.uniform(0.2, 0.8, size)
    room = np.maximum(bases.length - events.length, 1)
    anywhere = rng.random(size) * room - events.start
    far = np.abs(anywhere) > np.maximum(0.2 * events.period, 4)
    anywhere = np.where(far, anywhere, room / 2 - events.start)
    phased = bases.seasonal[events.row] & (rng.random(size) < 0.7)
    lag = np.round(np.where(phased, cycles * events.period, anywhere))
    origin = np.clip(events.start + lag, 0, room).astype(np.int64)
    source = np.minimum(origin[:, None] + events.elapsed, bases.length - 1)
    row = events.row[:, None]
    pasted = bases.parts.signal[row, source] + bases.parts.noise[row, source]
    # Where the level wanders a raw paste is only a level shift; joined at the onset it is not.
    aligned = ~bases.seasonal[events.row] & (rng.random(size) < 0.7)
    offset = (
        events.before(bases.parts.signal)
        - bases.parts.signal[events.row, np.maximum(origin - 1, 0)]
    )
    pasted = pasted + np.where(aligned, offset, 0.0)[:, None]
    return pasted + events.current(bases.parts.trend), lag


@operation(
    "Q13 smooth splice",
    periods(0.4, 1.4, shortest=12, longest=80),
    "wrong dynamics without any visible joint",
    suits=with_smooth_dynamics,
    weight=2.0,
)
def smooth_splice(events: Events, rng: np.random.Generator) -> Rendered:
    """Q13: another segment of the trajectory, chosen for how well both of its ends fit.

    What mismatch is left fades out towards the ends, so no joint can be seen: only the dynamics
    in between are not those of this moment.
    """
    signal = events.bases.parts.signal[events.row]
    cost = _joint_cost(events, signal)
    best = np.argpartition(cost, CANDIDATES, axis=1)[:, :CANDIDATES]
    rows = np.arange(len(events))[:, None, None]
    taken = signal[rows, np.minimum(best[:, :, None] + events.elapsed, signal.shape[1] - 1)]
    change = (taken - events.signal[:, None]) * _fade(rng, events)[:, None]
    size = np.sqrt((change**2).sum(axis=2) / events.length[:, None])
    price = np.take_along_axis(cost, best, axis=1)
    # Deterministic dynamics return to the same path after the best matches: those change nothing.
    usable = (size > 0.4 * events.scale[:, None]) & (price < WORST_JOINT)
    drawn = np.where(usable, price, np.inf).argmin(axis=1)[:, None]
    chosen = np.take_along_axis(change, drawn[:, :, None], axis=1)[:, 0]
    # Without any usable match the row stays as it is, and the gate has it drawn again.
    chosen = np.where(usable.any(axis=1, keepdims=True), chosen, 0.0)
    lag = np.take_along_axis(best, drawn, axis=1)[:, 0] - events.start
    return events.values + chosen, lag.astype(float)


@operation(
    "Q15 noise burst",
    periods(0.5, 3, shortest=8, longest=128),
    "interference, contact noise, or a filter that hides it",
    tapered=True,
    scalable=True,
    covers=True,
)
def noise_burst(events: Events, rng: np.random.Generator) -> Rendered:
    """Q15: much more noise, coloured or white, or noise that goes silent."""
    from scipy.ndimage import uniform_filter1d  # half a second that fits do without

    factor = np.exp(rng.uniform(np.log(1.5), np.log(6.0), len(events)))
    shape = (len(events), len(events.elapsed))
    white = rng.standard_normal(shape)
    soft = uniform_filter1d(rng.standard_normal((shape[0], shape[1] + 8)), 4, axis=1)[:, 4:-4] * 2
    burst = np.where(rng.random((len(events), 1)) < 0.3, soft, white)
    scale = factor * np.maximum(events.noise, 0.12 * events.scale)
    quiet = (rng.random(len(events)) < 0.25) & (events.noise > 0.3 * events.scale)
    share = rng.uniform(0.0, 0.4, len(events))
    noise = events.current(events.bases.parts.noise)
    change = np.where(quiet[:, None], (share[:, None] - 1) * noise, scale[:, None] * burst)
    return events.values + change, np.where(quiet, share, factor)


@operation(
    "Q16 smoothing",
    periods(0.7, 3, shortest=16, longest=128),
    "averaged, interpolated or re-sampled data",
    tapered=True,
    covers=True,
)
def smoothing(events: Events, rng: np.random.Generator) -> Rendered:
    """Q16: a moving average took the detail away."""
    share = rng.uniform(0.1, 0.5, len(events))
    width = np.maximum(np.round(share * events.length), 3)
    half = (width // 2).astype(np.int64)[:, None]
    total = np.cumsum(events.bases.series[events.row], axis=1, dtype=np.float64)
    last = events.bases.length - 1
    right, left = np.minimum(events.time + half, last), np.maximum(events.time - half, 1)
    sums = np.take_along_axis(total, right, axis=1) - np.take_along_axis(total, left - 1, axis=1)
    return sums / (right - left + 1), share


def _joint_cost(events: Events, signal: np.ndarray) -> np.ndarray:
    """Mismatch (events, length) of value, slope and curvature at both ends, by index of origin."""
    length = signal.shape[1]
    origin = np.arange(length)
    cost = np.zeros(signal.shape)
    radian = (events.period / (2 * np.pi))[:, None]
    for end in (np.zeros_like(events.length), events.length):
        positions = np.clip(origin + end[:, None], 1, length - 2)
        target = np.clip(events.start + end, 1, length - 2)
        value, slope, bend = _jet(signal, positions)
        value0, slope0, bend0 = _jet(signal, target[:, None])
        cost += (value - value0) ** 2 + (radian * (slope - slope0)) ** 2
        cost += 0.3 * (radian**2 * (bend - bend0)) ** 2
    cost /= (events.scale**2)[:, None]
    near = np.abs(origin - events.start[:, None]) < np.maximum(6, 0.15 * events.period)[:, None]
    cost[near | (origin < 2) | (origin + events.length[:, None] > length - 3)] = np.inf
    return cost


def _jet(signal: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, slope and curvature at each position."""
    left = np.take_along_axis(signal, position - 1, axis=1)
    here = np.take_along_axis(signal, position, axis=1)
    right = np.take_along_axis(signal, position + 1, axis=1)
    return here, (right - left) / 2, right - 2 * here + left


def _fade(rng: np.random.Generator, events: Events) -> np.ndarray:
    """1 in the middle of each event, with value and slope 0 at both ends."""
    edge = np.minimum(rng.uniform(0.35, 0.5, len(events)) * events.length, events.period / 2)
    after = events.elapsed + 1
    before = events.length[:, None] - events.elapsed
    share = np.clip(np.minimum(after, before) / (edge[:, None] + 1), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
