"""Random processes: Gaussian-process mixtures, autoregressions, random walks."""

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
