"""Diffusion on residuals from its textbook formulas, one row and one step at a time."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

Clean = Callable[[np.ndarray, int], np.ndarray]  # (draw, tau) -> estimate of the clean residual


def alpha_bar(steps: int) -> list[float]:
    """The cosine schedule of Nichol and Dhariwal with its cap on beta."""

    def curve(t: float) -> float:
        return math.cos((t / steps + 0.008) / 1.008 * math.pi / 2) ** 2

    kept, product = [], 1.0
    for t in range(1, steps + 1):
        product *= 1 - min(1 - curve(t) / curve(t - 1), 0.999)
        kept.append(product)
    return kept


def masked_mean(values: np.ndarray, mask: np.ndarray) -> float:
    """The mean of `values` where the mask is 1, row by row, then over the rows."""
    rows = []
    for row, chosen in zip(values, mask, strict=True):
        total = count = 0.0
        for value, q in zip(row, chosen, strict=True):
            total += q * value
            count += q
        rows.append(total / (count + 1e-6))
    return sum(rows) / len(rows)


def losses(
    clean: np.ndarray,
    background: np.ndarray,
    noise: np.ndarray,
    predicted: np.ndarray,
    support: np.ndarray,
    ab: np.ndarray,
    prediction: str,
) -> tuple[float, float]:
    """L_main and L_out as printed; `ab` holds alpha-bar of every row.

    For predicted velocity by the noise it implies, whose error is divided by alpha-bar.
    """
    main, estimate = np.empty_like(clean), np.empty_like(clean)
    for i, kept in enumerate(ab):
        signal, sigma = math.sqrt(kept), math.sqrt(1 - kept)
        r_tau = signal * clean[i] + sigma * noise[i]
        implied, weight = predicted[i], 1.0
        if prediction == "velocity":
            implied, weight = signal * predicted[i] + sigma * r_tau, kept
        main[i] = (implied - noise[i]) ** 2 / weight
        estimate[i] = (r_tau - sigma * implied) / signal
    return masked_mean(main, support), masked_mean((estimate - background) ** 2, 1 - support)


def ddpm(
    draw: np.ndarray, clean: Clean, kept: Sequence[float], fresh: Sequence[np.ndarray]
) -> np.ndarray:
    """Ancestral sampling over every step, by the posterior's mean and variance."""
    noises = iter(fresh)
    for tau in range(len(kept) - 1, 0, -1):
        before = kept[tau - 1]
        alpha = kept[tau] / before
        beta = 1 - alpha
        mean = (
            math.sqrt(before) * beta * clean(draw, tau) + math.sqrt(alpha) * (1 - before) * draw
        ) / (1 - kept[tau])
        draw = mean + math.sqrt((1 - before) / (1 - kept[tau]) * beta) * next(noises)
    return clean(draw, 0)


def ddim(draw: np.ndarray, clean: Clean, kept: Sequence[float], grid: Sequence[int]) -> np.ndarray:
    """Deterministic sampling: the noise that the estimate implies is kept."""
    for tau, following in pairwise(grid):
        estimate = clean(draw, tau)
        noise = (draw - math.sqrt(kept[tau]) * estimate) / math.sqrt(1 - kept[tau])
        draw = math.sqrt(kept[following]) * estimate + math.sqrt(1 - kept[following]) * noise
    return clean(draw, grid[-1])


def dpm_solver(
    draw: np.ndarray, clean: Clean, kept: Sequence[float], grid: Sequence[int]
) -> np.ndarray:
    """DPM-Solver++(2M): alpha, sigma and lambda = log(alpha / sigma) of every point of the grid."""
    alpha = [math.sqrt(kept[tau]) for tau in grid]
    sigma = [math.sqrt(1 - kept[tau]) for tau in grid]
    lam = [math.log(a / s) for a, s in zip(alpha, sigma, strict=True)]
    estimates = []
    for i in range(1, len(grid)):
        estimates.append(clean(draw, grid[i - 1]))
        h = lam[i] - lam[i - 1]
        slope = estimates[-1]
        if i > 1:
            r = (lam[i - 1] - lam[i - 2]) / h
            slope = (1 + 1 / (2 * r)) * estimates[-1] - 1 / (2 * r) * estimates[-2]
        draw = sigma[i] / sigma[i - 1] * draw - alpha[i] * (math.exp(-h) - 1) * slope
    return clean(draw, grid[-1])
