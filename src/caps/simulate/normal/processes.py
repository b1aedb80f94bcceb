"""Series without a waveform: random processes, machines with states, deterministic chaos."""

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from caps.simulate.components import Components, components
from caps.simulate.cycles import harmonics, log_uniform, lookup, smoothed, steady_clock


def gaussian_process(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N9: sums and products of smooth, rough, linear and periodic kernels (general purpose).

    Independent sample paths multiply to a path with the product kernel, so no matrix is factored.
    """
    period = log_uniform(rng, 7.0, 336.0, rows)
    phase = steady_clock(rng, period, length, drift=0.0)
    season = lookup(harmonics(rng, period, most=5), phase)
    signal = smooth_path(rng, length, log_uniform(rng, 0.02, 1.0, rows) * length)
    rough = smooth_path(rng, length, log_uniform(rng, 4.0, 40.0, rows))
    signal += rng.uniform(0.1, 0.6, (rows, 1)) * (rng.random((rows, 1)) < 0.5) * rough
    line = rng.normal(0, 1.2, (rows, 1)) * np.linspace(-1, 1, length)
    signal += line * (rng.random((rows, 1)) < 0.25)
    seasonal = rng.random(rows) < 0.6
    multiplied = (rng.random(rows) < 0.4)[:, None]
    envelope = smooth_path(rng, length, log_uniform(rng, 3.0, 12.0, rows) * period)
    with_season = np.where(
        multiplied, 0.6 * signal + season * (1 + 0.35 * envelope), signal + 1.2 * season
    )
    signal = np.where(seasonal[:, None], with_season, signal)
    return components(
        signal,
        phase=np.where(seasonal[:, None], phase, 0.0),
        period=np.where(seasonal, period, np.nan),
    )


def autoregression(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N10: autoregressive noise of order one to four, half of the rows with a season."""
    process = np.empty((rows, length))
    innovation = np.empty(rows)
    for row in range(rows):
        poles = _poles(rng)
        path = lfilter([1.0], np.real(np.poly(poles)), rng.standard_normal(length + 400))[400:]
        std = path.std()
        process[row] = path / std
        innovation[row] = 1.0 / std
    period = log_uniform(rng, 8.0, 300.0, rows)
    phase = steady_clock(rng, period, length)
    season = lookup(harmonics(rng, period, most=4), phase) * rng.uniform(1.0, 4.0, (rows, 1))
    seasonal = rng.random(rows) < 0.5
    return components(
        np.where(seasonal[:, None], season, process),
        noise=np.where(seasonal[:, None], process, 0.0),
        phase=np.where(seasonal[:, None], phase, 0.0),
        period=np.where(seasonal, period, np.nan),
        texture=np.where(seasonal, 0.0, np.minimum(1.0, innovation)),
    )


def random_walk(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N11: integrated noise with drift, smoothing or mean reversion: prices, queues, disks."""
    steps = rng.standard_normal((rows, length))
    jumps = rng.random((rows, length)) < 0.01
    steps *= np.where(jumps & (rng.random((rows, 1)) < 0.3), 4.0, 1.0)
    walk = np.empty((rows, length))
    for row in range(rows):
        pull = 0.0 if rng.random() < 0.5 else float(log_uniform(rng, 0.003, 0.05, 1)[0])
        walk[row] = lfilter([1.0], [1.0, -(1.0 - pull)], steps[row])
    walk += rng.normal(0, 0.04, (rows, 1)) * (rng.random((rows, 1)) < 0.4) * np.arange(length)
    width = np.where(rng.random(rows) < 0.5, 1, rng.integers(2, 12, rows))
    texture = 1.0 / np.sqrt(width)
    return components(smoothed(walk, width), texture=texture * 0.7)


def smooth_path(rng: np.random.Generator, length: int, scale: np.ndarray) -> np.ndarray:
    """Paths of unit std of a Gaussian process with squared-exponential kernels of `scale` steps.

    White noise is filtered in the frequency domain, on twice the length so that ends do not meet.
    """
    rows, span = len(scale), 2 * length
    frequency = np.fft.rfftfreq(span)
    gain = np.exp(-((np.pi * frequency * scale[:, None]) ** 2))
    gain[:, 0] = np.minimum(gain[:, 0], 1.0)
    gain /= np.sqrt((gain**2).sum(axis=1, keepdims=True) * 2 / span)
    white = rng.standard_normal((rows, len(frequency))) + 1j * rng.standard_normal(
        (rows, len(frequency))
    )
    return np.asarray(np.fft.irfft(white * gain, span)[:, :length] * np.sqrt(span / 2))


def _poles(rng: np.random.Generator) -> np.ndarray:
    """Real poles and conjugate pairs inside the unit circle, up to order four."""
    poles: list[complex] = [float(rng.uniform(0.3, 0.97))]
    if rng.random() < 0.5:
        pair = rng.uniform(0.4, 0.93) * np.exp(2j * np.pi * rng.uniform(0.02, 0.3))
        poles += [pair, np.conj(pair)]
    if rng.random() < 0.3:
        poles.append(float(rng.uniform(-0.5, 0.7)))
    return np.array(poles)


def piecewise_state(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N12: two to six levels held for a while, at random or on a fixed schedule (telemetry)."""
    levels = _levels(rng, rows)
    signal = np.empty((rows, length))
    phase = np.zeros((rows, length))
    period = np.full(rows, np.nan)
    for row in range(rows):
        known = levels[row][np.isfinite(levels[row])]
        if rng.random() < 0.35:
            dwell = np.round(log_uniform(rng, 8.0, 60.0, len(known))).astype(int)
            cycle = np.repeat(known, dwell)
            offset = int(rng.integers(len(cycle)))
            signal[row] = cycle[(np.arange(length) + offset) % len(cycle)]
            period[row] = len(cycle)
            phase[row] = 1 + (np.arange(length) + offset) / len(cycle)
        else:
            signal[row] = _held(rng, known, length, 10.0, 200.0)
    signal = smoothed(signal, np.where(rng.random(rows) < 0.5, 1, rng.integers(2, 7, rows)))
    return components(signal, phase=phase, period=period, levels=levels)


def slow_process(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N15: first-order response to random set-points: temperatures, pressures, tank levels."""
    levels = _levels(rng, rows)
    signal = np.empty((rows, length))
    for row in range(rows):
        target = _held(rng, levels[row][np.isfinite(levels[row])], length, 30.0, 250.0)
        keep = float(np.exp(-1 / log_uniform(rng, 4.0, 50.0, 1)[0]))
        state = np.array([keep * target[0]])
        signal[row] = lfilter([1 - keep], [1, -keep], target, zi=state)[0]
    return components(signal, levels=levels)


def intermittent_counts(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N13: counts that are mostly zero: tickets, errors, tweets; some have busy hours."""
    zero_share = rng.uniform(0.3, 0.95, (rows, 1))
    period = log_uniform(rng, 24.0, 300.0, rows)
    busy = rng.uniform(0.6, 1.0, (rows, 1)) * (rng.random((rows, 1)) < 0.4)
    rate = 1 + busy * np.sin(2 * np.pi * steady_clock(rng, period, length, drift=0.0))
    active = rng.random((rows, length)) < np.clip((1 - zero_share) * rate, 0, 1)
    mean_size = log_uniform(rng, 1.3, 12.0, (rows, 1))
    sizes = rng.geometric(np.broadcast_to(1 / mean_size, (rows, length)))
    counts = np.where(active, np.minimum(sizes, np.ceil(4 * mean_size)), 0).astype(float)
    # Something must happen in every series, or it has no std to be scaled by.
    counts[:, ::97] = np.maximum(counts[:, ::97], 1.0)
    # Only the rate is seasonal, the counts are not: moved within a cycle they would look the same.
    return components(
        counts,
        texture=0.5 * counts.std(axis=1),
        floor=np.zeros(rows),
        quantum=np.ones(rows),
        zero=np.zeros(rows),
    )


def _levels(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Two to six clearly different levels per row (rows, 6), nan as padding."""
    gaps = rng.uniform(0.4, 1.6, (rows, 6))
    levels = rng.permuted(np.cumsum(gaps, axis=1), axis=1)
    levels[np.arange(6) >= rng.integers(2, 7, (rows, 1))] = np.nan
    return levels


def _held(
    rng: np.random.Generator, levels: np.ndarray, length: int, shortest: float, longest: float
) -> np.ndarray:
    """Levels visited at random, never the same twice in a row, each held for a random time."""
    visits = int(length / shortest) + 2
    moves = rng.integers(1, len(levels), visits)
    order = (rng.integers(len(levels)) + np.cumsum(moves)) % len(levels)
    # A series shorter than the longest dwell would otherwise stay in one state.
    dwell = np.round(log_uniform(rng, shortest, min(longest, length / 4), visits)).astype(int)
    return np.asarray(np.repeat(levels[order], dwell)[:length])


BURN_IN = 300


def chaos(rng: np.random.Generator, rows: int, length: int) -> Components:
    """N8: Mackey-Glass, Lorenz, Rössler or the logistic map, one system for all rows of a call."""
    systems = (mackey_glass, lorenz, roessler, logistic)
    system = systems[rng.choice(len(systems), p=[0.68, 0.12, 0.12, 0.08])]
    return components(system(rng, rows, length))


def mackey_glass(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """x' = b x(t-tau) / (1 + x(t-tau)^n) - g x, one step of time per sample.

    Over one delay the right-hand side is a known forcing of a linear equation, so a whole delay
    is integrated at once: x(t) = e^(-g t) (x(0) + integral of e^(g s) forcing(s) ds).
    """
    delay = rng.uniform(16.0, 30.0, rows)[:, None]
    exponent = rng.uniform(9.0, 11.0, rows)[:, None]
    gain = rng.uniform(0.2, 0.27, rows)[:, None]
    decay = 0.1
    fine = 128
    chunks = int(np.ceil((length + BURN_IN) / delay.min())) + 1
    step = delay / fine
    grow = np.exp(decay * step * np.arange(1, fine + 1))
    path = np.empty((rows, (chunks + 1) * fine))
    path[:, :fine] = rng.uniform(0.6, 1.3, (rows, 1)) + 0.1 * np.sin(np.arange(fine) / 9.0)
    for chunk in range(1, chunks + 1):
        here = chunk * fine
        past = path[:, here - fine : here]
        force = gain * past / (1 + past**exponent)
        # Trapezoid rule on the forcing weighted by e^(g s); the sample before `past` closes it.
        weighted = force * grow
        before = np.concatenate([force[:, :1], weighted[:, :-1]], axis=1)
        area = np.cumsum(0.5 * step * (weighted + before), axis=1)
        path[:, here : here + fine] = (path[:, here - 1 : here] + area) / grow
    clock = (BURN_IN + np.arange(length)) / step
    left = clock.astype(np.int64)
    share = clock - left
    index = np.arange(rows)[:, None]
    return np.asarray(path[index, left] * (1 - share) + path[index, left + 1] * share)


def lorenz(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The first coordinate of the Lorenz system, sampled every 0.015 to 0.05 time units."""
    rho = rng.uniform(26.0, 36.0, rows)

    def slope(state: np.ndarray) -> np.ndarray:
        x, y, z = state
        return np.array([10.0 * (y - x), x * (rho - z) - y, x * y - 8.0 / 3.0 * z])

    start = rng.normal(0, 5, (3, rows)) + np.array([[0.0], [0.0], [25.0]])
    return _integrated(slope, start, rng.uniform(0.015, 0.05, rows), length)


def roessler(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The first coordinate of the Rössler system, 30 to 120 samples a turn."""
    c = rng.uniform(4.5, 9.0, rows)

    def slope(state: np.ndarray) -> np.ndarray:
        x, y, z = state
        return np.array([-y - z, x + 0.2 * y, 0.2 + z * (x - c)])

    start = rng.normal(0, 2, (3, rows)) * np.array([[1.0], [1.0], [0.1]])
    return _integrated(slope, start, 2 * np.pi / log_uniform(rng, 40.0, 120.0, rows), length)


def logistic(rng: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """The logistic map in its banded chaos, where even and odd steps visit different bands."""
    gain = rng.uniform(3.57, 3.68, rows)
    state = rng.uniform(0.2, 0.8, rows)
    path = np.empty((length + BURN_IN, rows))
    for step in range(length + BURN_IN):
        state = gain * state * (1 - state)
        path[step] = state
    return path[BURN_IN:].T.copy()


def _integrated(
    slope: Callable[[np.ndarray], np.ndarray], state: np.ndarray, step: np.ndarray, length: int
) -> np.ndarray:
    """The first coordinate after every Runge-Kutta step of fourth order, burn-in removed."""
    path = np.empty((length + BURN_IN, state.shape[1]))
    for index in range(length + BURN_IN):
        first = slope(state)
        second = slope(state + 0.5 * step * first)
        third = slope(state + 0.5 * step * second)
        fourth = slope(state + step * third)
        state = state + step / 6 * (first + 2 * (second + third) + fourth)
        path[index] = state[0]
    return path[BURN_IN:].T.copy()
