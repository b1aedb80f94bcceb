"""The normal counterpart of an event: what the series would have looked like without it.

The rows around the event are looked up in the training part, shape and level; what followed there
between such surroundings is what was to be expected here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caps.errors import InputError

FloatArray = NDArray[np.float64]

MARGIN = 64  # rows of surroundings on either side; with 160 fewer places are alike
GUARD = 4  # rows next to an event that may still belong to it
LIKES = 7  # places averaged: one alone brings its own noise along (error 0.39, seven: 0.31)
LEVEL = 0.1  # weight of a squared difference in level beside one in shape
FEWEST = 8  # rows of surroundings below which nothing can be matched
TELLING = 32  # rows of surroundings from which on they tell how well
MOST_UNSEEN = 0.1  # of a place in the bank
EDGE = 16  # rows at either end that tie the counterpart to its surroundings
LEAST_SPREAD = 0.1  # of the whole series, whose spread is 1: flat surroundings still have a scale


class Counterpart(NamedTuple):
    """What was to be expected in the rows of an event, and how well such rows are known."""

    expected: FloatArray  # (end - start,)
    error: float | None  # robust spread beside the event; None where too little was comparable


def normal_counterpart(
    values: FloatArray, start: int, end: int, bank: FloatArray, *, likes: int = LIKES
) -> FloatArray:
    """What was to be expected in the rows [start, end) of a scaled channel: (end - start,).

    `bank` is the scaled training part. Where it holds no comparable place, the counterpart is the
    line between the surroundings; without surroundings, the mean of training, which is zero.

    >>> wave = np.sin(np.arange(600) / 5)
    >>> broken = wave[300:500].copy()
    >>> broken[90:110] += 3
    >>> bool(np.abs(normal_counterpart(broken, 90, 110, wave) - wave[390:410]).max() < 0.05)
    True
    """
    return counterpart_of(values, start, end, bank, likes=likes).expected


def counterpart_of(
    values: FloatArray, start: int, end: int, bank: FloatArray, *, likes: int = LIKES
) -> Counterpart:
    """The normal counterpart of the rows [start, end), and its error in their surroundings."""
    if not 0 <= start < end <= len(values):
        raise InputError(
            f"an event from row {start} to {end} in {len(values)} rows", "name rows of the series"
        )
    first, last = max(0, start - MARGIN), min(len(values), end + MARGIN)
    window, inside = values[first:last], slice(start - first, end - first)
    around = _surroundings(window, inside)
    line = _line(window, around)
    if around.sum() < FEWEST:
        return Counterpart(line[inside], None)
    # Surroundings are given up at the far ends where the training part is shorter.
    spare = max(0, len(window) - len(bank))
    cut = slice(min(spare, inside.start), len(window) - max(0, spare - inside.start))
    if cut.stop < inside.stop or around[cut].sum() < FEWEST:
        return Counterpart(line[inside], None)
    expected = _recalled(window[cut], around[cut], bank, likes)
    if expected is None:
        return Counterpart(line[inside], None)
    error = np.where(around[cut], window[cut] - expected, np.nan)
    tied = _line(error, around[cut], rows=EDGE)
    whole = (expected + tied)[inside.start - cut.start : inside.stop - cut.start]
    if around[cut].sum() < TELLING:
        return Counterpart(whole, None)
    return Counterpart(whole, 1.4826 * float(np.nanmedian(np.abs(error - tied))))


def deviation(
    values: FloatArray, start: int, end: int, counterpart: FloatArray
) -> tuple[FloatArray, float]:
    """Signed distance of the rows [start, end) to their counterpart in local spreads, and that."""
    first, last = max(0, start - MARGIN), min(len(values), end + MARGIN)
    around = _surroundings(values[first:last], slice(start - first, end - first))
    spread = float(values[first:last][around].std()) if around.any() else 1.0
    spread = max(spread, LEAST_SPREAD)
    return np.asarray((values[start:end] - counterpart) / spread), spread


def _surroundings(window: FloatArray, inside: slice) -> NDArray[np.bool_]:
    around = np.isfinite(window)
    around[max(0, inside.start - GUARD) : inside.stop + GUARD] = False
    return around


def _line(window: FloatArray, around: NDArray[np.bool_], rows: int = 16) -> FloatArray:
    """A line across the event from the mean of the nearest surroundings on either side."""
    places = np.flatnonzero(around)
    if len(places) == 0:
        return np.zeros(len(window))
    breaks = np.diff(places)
    cut = int(np.argmax(breaks)) + 1 if len(breaks) and breaks.max() > 2 * GUARD else 0
    ends = [places[max(0, cut - rows) : cut], places[cut : cut + rows]]
    known = [(side.mean(), window[side].mean()) for side in ends if len(side)]
    where, level = np.array(known).T
    return np.asarray(np.interp(np.arange(len(window)), where, level))


def _recalled(
    window: FloatArray, around: NDArray[np.bool_], bank: FloatArray, likes: int
) -> FloatArray | None:
    """Mean of the places in the bank whose surroundings are most alike, moved to their level."""
    size = len(window)
    seen = np.isfinite(bank)
    if size > len(bank) or not seen.any():
        return None
    rows = np.arange(len(bank))
    filled = np.interp(rows, rows[seen], bank[seen])
    distance, level = _distances(window, around, filled)
    unseen = _correlate((~seen).astype(np.float64), np.ones(size))
    distance[unseen > MOST_UNSEEN * size] = np.inf
    _leave_itself_out(distance, window, around, filled)
    found = []
    for _ in range(likes):
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
    return np.average([place for _, place in found], axis=0, weights=nearness)


def _distances(
    window: FloatArray, around: NDArray[np.bool_], bank: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean squared distance to every place in the bank, and the level it has to be moved by."""
    weight = around / around.sum()
    here = np.where(around, window, 0.0)
    mean_here = float((weight * here).sum())
    mean = _correlate(bank, weight)
    square = _correlate(bank**2, weight)
    product = _correlate(bank, weight * here)
    level = mean_here - mean
    whole = float((weight * here**2).sum()) - 2 * product + square
    return np.maximum(whole - (1 - LEVEL) * level**2, 0.0), level


def _leave_itself_out(
    distance: FloatArray, window: FloatArray, around: NDArray[np.bool_], bank: FloatArray
) -> None:
    """An event in the training part itself must not be its own expectation."""
    inside = np.flatnonzero(~around & np.isfinite(window))
    if len(inside) == 0:
        return
    weight = np.zeros(len(window))
    weight[inside] = 1 / len(inside)
    here = np.where(weight > 0, window, 0.0)
    apart = (
        float((weight * here**2).sum())
        - 2 * _correlate(bank, weight * here)
        + _correlate(bank**2, weight)
    )
    for place in np.flatnonzero((apart < 1e-9) & (distance < 1e-9)):
        if np.allclose(bank[place + inside], window[inside], rtol=0, atol=1e-6):
            distance[max(0, place - len(window)) : place + len(window) + 1] = np.inf


def _correlate(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of products at every place where the weights fit; wrapped ends are left out."""
    size = 1 << (len(values) - 1).bit_length()
    spectrum = np.fft.rfft(values, size) * np.conj(np.fft.rfft(weights, size))
    return np.asarray(np.fft.irfft(spectrum, size)[: len(values) - len(weights) + 1])
