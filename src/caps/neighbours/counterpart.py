"""The normal counterpart of an event: what the series would have looked like without it.

The rows around the event are looked up in the training part, shape and level; what followed there
between such surroundings is what was to be expected here. Where the index sums up and looks for the
nearest alone, distances in full weigh single rows or count further neighbours, in double precision.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, Rows
from caps.errors import InputError
from caps.neighbours.config import CounterpartConfig


def sliding_product(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of products at every index where the weights fit; wrapped ends are left out."""
    size = 1 << (len(values) - 1).bit_length()
    spectrum = np.fft.rfft(values, size) * np.conj(np.fft.rfft(weights, size))
    return np.asarray(np.fft.irfft(spectrum, size)[: len(values) - len(weights) + 1])


def distance_profile(query: FloatArray, weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted squared distance of the query to every subsequence of the values."""
    product = sliding_product(values, weights * query)
    square = sliding_product(values**2, weights)
    return np.asarray(float((weights * query**2).sum()) - 2 * product + square)


def kth_distance(
    subsequences: FloatArray, starts: Rows, queries: Rows, among: Rows, k: int
) -> FloatArray:
    """Squared distance of the queries, given by number, to the k-th nearest that is apart."""
    these, those = subsequences[queries], subsequences[among]
    squares = (these**2).sum(axis=1)[:, None] + (those**2).sum(axis=1) - 2 * these @ those.T
    squares[np.abs(starts[queries][:, None] - starts[among]) < subsequences.shape[1]] = np.inf
    nearest = np.partition(squares, k - 1, axis=1)[:, k - 1]
    return np.asarray(np.maximum(nearest, 0.0))


DEFAULT = CounterpartConfig()


class Counterpart(NamedTuple):
    """What was to be expected in the rows of an event, and how well such rows are known."""

    expected: FloatArray  # (end - start,)
    error: float | None  # robust std beside the event; None where too little was comparable


def normal_counterpart(
    values: FloatArray,
    start: int,
    end: int,
    training: FloatArray,
    config: CounterpartConfig = DEFAULT,
) -> FloatArray:
    """What was to be expected in the rows [start, end) of a scaled channel: (end - start,).

    `training` is scaled. Where it holds no comparable subsequence, the counterpart is the
    line between the surroundings; without surroundings, the mean of training, which is zero.

    >>> wave = np.sin(np.arange(600) / 5)
    >>> broken = wave[300:500].copy()
    >>> broken[90:110] += 3
    >>> bool(np.abs(normal_counterpart(broken, 90, 110, wave) - wave[390:410]).max() < 0.05)
    True
    """
    return counterpart_of(values, start, end, training, config).expected


def counterpart_of(
    values: FloatArray,
    start: int,
    end: int,
    training: FloatArray,
    config: CounterpartConfig = DEFAULT,
) -> Counterpart:
    """The normal counterpart of the rows [start, end), and its error in their surroundings."""
    if not 0 <= start < end <= len(values):
        raise InputError(
            f"an event from row {start} to {end} in {len(values)} rows", "name rows of the series"
        )
    first, last = max(0, start - config.margin), min(len(values), end + config.margin)
    window, inside = values[first:last], slice(start - first, end - first)
    around = _surroundings(window, inside, config.guard)
    line = _line(window, around, config)
    if around.sum() < config.fewest_rows:
        return Counterpart(line[inside], None)
    # Surroundings are given up at the far ends where the training part is shorter.
    spare = max(0, len(window) - len(training))
    cut = slice(min(spare, inside.start), len(window) - max(0, spare - inside.start))
    if cut.stop < inside.stop or around[cut].sum() < config.fewest_rows:
        return Counterpart(line[inside], None)
    expected = _recalled(window[cut], around[cut], training, config)
    if expected is None:
        return Counterpart(line[inside], None)
    error = np.where(around[cut], window[cut] - expected, np.nan)
    tied = _line(error, around[cut], config)
    whole = (expected + tied)[inside.start - cut.start : inside.stop - cut.start]
    if around[cut].sum() < config.telling_rows:
        return Counterpart(whole, None)
    return Counterpart(whole, 1.4826 * float(np.nanmedian(np.abs(error - tied))))


def deviation(
    values: FloatArray,
    start: int,
    end: int,
    counterpart: FloatArray,
    config: CounterpartConfig = DEFAULT,
) -> tuple[FloatArray, float]:
    """Signed distance of the rows [start, end) to their counterpart in local stds, and that."""
    first, last = max(0, start - config.margin), min(len(values), end + config.margin)
    around = _surroundings(values[first:last], slice(start - first, end - first), config.guard)
    std = float(values[first:last][around].std()) if around.any() else 1.0
    std = max(std, config.least_std)
    return np.asarray((values[start:end] - counterpart) / std), std


def _surroundings(window: FloatArray, inside: slice, guard: int) -> NDArray[np.bool_]:
    around = np.isfinite(window)
    around[max(0, inside.start - guard) : inside.stop + guard] = False
    return around


def _line(window: FloatArray, around: NDArray[np.bool_], config: CounterpartConfig) -> FloatArray:
    """A line across the event from the mean of the nearest surroundings on either side."""
    rows = np.flatnonzero(around)
    if len(rows) == 0:
        return np.zeros(len(window))
    breaks = np.diff(rows)
    cut = int(np.argmax(breaks)) + 1 if len(breaks) and breaks.max() > 2 * config.guard else 0
    ends = [rows[max(0, cut - config.edge) : cut], rows[cut : cut + config.edge]]
    known = [(side.mean(), window[side].mean()) for side in ends if len(side)]
    where, level = np.array(known).T
    return np.asarray(np.interp(np.arange(len(window)), where, level))


def _recalled(
    window: FloatArray, around: NDArray[np.bool_], training: FloatArray, config: CounterpartConfig
) -> FloatArray | None:
    """Mean of the subsequences whose surroundings are most alike, moved to their level."""
    size = len(window)
    seen = np.isfinite(training)
    if size > len(training) or not seen.any():
        return None
    rows = np.arange(len(training))
    filled = np.interp(rows, rows[seen], training[seen])
    distance, level = _distances(window, around, filled, config.level_weight)
    unseen = sliding_product((~seen).astype(np.float64), np.ones(size))
    distance[unseen > config.most_unseen * size] = np.inf
    _exclude_itself(distance, window, around, filled)
    found = []
    for _ in range(config.neighbours):
        best = int(np.argmin(distance))
        if not np.isfinite(distance[best]):
            break
        found.append((distance[best], filled[best : best + size] + level[best]))
        apart = max(1, size // 8)
        distance[max(0, best - apart) : best + apart + 1] = np.inf
    if not found:
        return None
    # Places far less alike than the best one say little.
    nearness = np.array([found[0][0] + 1e-6]) / (np.array([far for far, _ in found]) + 1e-6)
    return np.average([values for _, values in found], axis=0, weights=nearness)


def _distances(
    window: FloatArray, around: NDArray[np.bool_], training: FloatArray, level_weight: float
) -> tuple[FloatArray, FloatArray]:
    """Mean squared distance to every subsequence of training, and the level to move it by."""
    weight = around / around.sum()
    here = np.where(around, window, 0.0)
    level = float((weight * here).sum()) - sliding_product(training, weight)
    whole = distance_profile(here, weight, training)
    return np.maximum(whole - (1 - level_weight) * level**2, 0.0), level


def _exclude_itself(
    distance: FloatArray, window: FloatArray, around: NDArray[np.bool_], training: FloatArray
) -> None:
    """An event in the training part itself must not be its own expectation."""
    inside = np.flatnonzero(~around & np.isfinite(window))
    if len(inside) == 0:
        return
    weight = np.zeros(len(window))
    weight[inside] = 1 / len(inside)
    apart = distance_profile(np.where(weight > 0, window, 0.0), weight, training)
    for start in np.flatnonzero((apart < 1e-9) & (distance < 1e-9)):
        if np.allclose(training[start + inside], window[inside], rtol=0, atol=1e-6):
            distance[max(0, start - len(window)) : start + len(window) + 1] = np.inf
