"""Clocks and waveforms: what a generator and an operation both need to draw a season."""

from collections.abc import Callable

import numpy as np

TABLE = 1024


def log_uniform(
    rng: np.random.Generator, low: float, high: float, size: int | tuple[int, ...]
) -> np.ndarray:
    """Draws whose logarithm is uniform: every octave equally often."""
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def steady_clock(
    rng: np.random.Generator, period: np.ndarray, length: int, drift: float = 0.02
) -> np.ndarray:
    """Phase in cycles of a clock whose rate wanders slowly by up to `drift`."""
    rows = len(period)
    time = np.arange(length)
    depth = rng.uniform(0.0, drift, rows) * (rng.random(rows) < 0.5)
    sway = log_uniform(rng, 300.0, 3000.0, rows)
    angle = 2 * np.pi * (time / sway[:, None] + rng.random((rows, 1)))
    wander = (depth * sway / (2 * np.pi))[:, None] * np.sin(angle)
    return np.asarray((time + wander) / period[:, None] + rng.uniform(1.0, 2.0, (rows, 1)))


def jittered_clock(
    rng: np.random.Generator, period: np.ndarray, length: int, jitter: np.ndarray
) -> np.ndarray:
    """Phase in cycles where each cycle has its own length, off by the share `jitter`."""
    time = np.arange(length)
    phase = np.empty((len(period), length))
    for row, (steps, off) in enumerate(zip(period, jitter, strict=True)):
        cycles = int(1.5 * length / steps) + 4
        gaps = steps * np.clip(1 + off * rng.standard_normal(cycles), 0.5, 1.5)
        edges = np.cumsum(gaps) - gaps[0] - steps * rng.random()
        phase[row] = np.interp(time, edges, np.arange(cycles) + 1.0)
    return phase


def lookup(table: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Values of one cycle per row (rows, TABLE) at `phase` cycles, linear between entries."""
    position = (phase % 1.0) * TABLE
    left = position.astype(np.int64)
    share = position - left
    rows = np.arange(len(table))[:, None]
    closed = np.concatenate([table, table[:, :1]], axis=1)
    left = np.minimum(left, TABLE - 1)
    return np.asarray(closed[rows, left] * (1 - share) + closed[rows, left + 1] * share)


def per_cycle(values: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """The value (rows, cycles) of the cycle that each `phase` lies in."""
    cycle = np.clip(phase.astype(np.int64), 0, values.shape[1] - 1)
    return np.take_along_axis(values, cycle, axis=1)


def intervals(phase: np.ndarray, opens: np.ndarray, closes: np.ndarray) -> np.ndarray:
    """Start and stop steps (rows, n, 2) of the part of every cycle from `opens` to `closes`."""
    length = phase.shape[1]
    time = np.arange(length)
    found = []
    for row, opening, closing in zip(phase, opens, closes, strict=True):
        cycle = np.arange(np.ceil(row[0] - opening), np.floor(row[-1] - closing) + 1)
        start = np.round(np.interp(cycle + opening, row, time))
        stop = np.round(np.interp(cycle + closing, row, time)) + 1
        found.append(np.stack([start, np.minimum(stop, length)], axis=1).astype(np.int64))
    most = max((len(pair) for pair in found), default=0)
    padded = np.full((len(phase), most, 2), -1)
    for row_index, pair in enumerate(found):
        padded[row_index, : len(pair)] = pair
    return padded


def harmonics(rng: np.random.Generator, period: np.ndarray, most: int = 8) -> np.ndarray:
    """One cycle per row (rows, TABLE) from harmonics with amplitudes falling as a power."""
    rows = len(period)
    order = np.arange(1, most + 1)
    count = rng.integers(1, most + 1, rows)
    # A harmonic shorter than three steps is not a wave any more once it is sampled.
    count = np.minimum(count, np.maximum(1, period // 3))
    amplitude = order ** -rng.uniform(0.5, 2.0, (rows, 1)) * rng.uniform(0.3, 1, (rows, most))
    amplitude[:, 0] = 1.0
    amplitude *= order <= count[:, None]
    turn = np.arange(TABLE) / TABLE
    angle = order[:, None] * turn + rng.random((rows, most, 1))
    return np.asarray((amplitude[:, :, None] * np.sin(2 * np.pi * angle)).sum(axis=1))


def bumps(centre: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """One cycle per row (rows, TABLE) as a sum of Gaussian bumps, all arguments (rows, n)."""
    turn = np.arange(TABLE) / TABLE
    distance = (turn - centre[:, :, None] + 0.5) % 1.0 - 0.5
    bell = np.exp(-0.5 * (distance / width[:, :, None]) ** 2)
    return np.asarray((height[:, :, None] * bell).sum(axis=1))


def slow_wave(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """A smooth path of about unit std, slower than a window of 256 steps."""
    time = np.arange(length)
    wavelength = log_uniform(rng, 250.0, 3000.0, (rows, 3, 1))
    angle = 2 * np.pi * (time / wavelength + rng.random((rows, 3, 1)))
    return np.asarray(np.sin(angle).sum(axis=1) / np.sqrt(1.5))


def smoothed(values: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Moving average of each row over its own `width` steps (1 keeps the row)."""
    from scipy.ndimage import uniform_filter1d  # half a second that fits do without

    result = np.array(values, dtype=float)
    for row, steps in enumerate(np.asarray(width, dtype=int)):
        if steps > 1:
            result[row] = uniform_filter1d(result[row], steps, mode="nearest")
    return result


def _ricker(turn: np.ndarray, duty: np.ndarray) -> np.ndarray:
    distance = ((turn - 0.5) / (0.25 * duty + 0.03)) ** 2
    return np.asarray((1 - distance) * np.exp(-0.5 * distance))


def _morlet(turn: np.ndarray, duty: np.ndarray) -> np.ndarray:
    distance = (turn - 0.5) / (0.3 * duty + 0.06)
    return np.asarray(np.exp(-0.5 * distance**2) * np.cos(5.0 * distance))


def _triangle(turn: np.ndarray, duty: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(turn < duty, turn / duty, (1 - turn) / (1 - duty)))


# Value of a waveform at `turn` in [0, 1) for a `duty` in (0, 1); both broadcast.
WAVEFORMS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "sine": lambda turn, duty: np.sin(2 * np.pi * turn),
    "square": lambda turn, duty: np.where(turn < 0.5, 1.0, -1.0),
    "saw": lambda turn, duty: 2 * turn - 1,
    "triangle": _triangle,
    "pulse": lambda turn, duty: np.where(turn < duty, 1.0, 0.0),
    "ricker": _ricker,
    "morlet": _morlet,
}
