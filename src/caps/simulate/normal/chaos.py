"""N8: deterministic chaos. Smooth, never repeating, with strict dynamics: the hardest normal."""

from collections.abc import Callable

import numpy as np

from caps.simulate.components import Components, components
from caps.simulate.cycles import log_uniform

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
