"""Scores of a series of any length, from overlapping windows and in bounded memory.

Values are scaled and of one channel; not-a-number marks what was not observed.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from caps.detect.few_windows import FEW, few_logits
from caps.detect.networks import LARGEST, Detector
from caps.errors import InputError
from caps.series import Reassembly, bridge, chunked_windows, pad_short

FloatArray = NDArray[np.float64]

BATCH = 64  # windows at once through the network: their activations fit the processor's cache
GROUP = 1024  # windows at once into the reassembly
CHUNK = 2**16  # rows at once: what is held of windows does not grow with the series
# A window that saw less than half of its rows counts only where no better window does.
SPARSE_WEIGHT = 1e-6
bridge_gaps = bridge  # the name that caps.baselines knows


def score_series(
    detector: Detector, values: FloatArray, *, causal: bool = False, last: int | None = None
) -> FloatArray:
    """Scores in [0, 1] of a scaled series; not-a-number exactly where nothing was observed.

    Windows overlap, and the logits of a row are averaged with more weight in the middle of a
    window. With `causal`, a row is scored by the last place of the window that ends there. `last`
    asks for so many rows at the end only.
    """
    return np.asarray(expit(score_logits(detector, values, causal=causal, last=last)))


def score_logits(
    detector: Detector, values: FloatArray, *, causal: bool = False, last: int | None = None
) -> FloatArray:
    """The logits of `score_series`, for sums with other evidence."""
    values = _checked(values)
    if len(values) == 0:
        raise InputError("an empty series has no scores", "give at least one row")
    first = 0 if last is None else max(0, len(values) - last)
    if causal:
        return _causal_logits(detector, values, first)
    chunks = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
    return np.concatenate([*score_chunks(detector, chunks)])[first:]


def score_chunks(detector: Detector, chunks: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Logits of a series that arrives in pieces, handed out as soon as no window can change them.

    Together they are the logits of the whole series.
    """
    size, stride = detector.config.window, detector.config.stride
    weighted, weight = Reassembly(size, "hann"), Reassembly(size, "hann")
    observed = _Mask()
    for windows in chunked_windows(observed.watch(chunks), size, stride):
        for starts, batch in windows.batches(GROUP):
            trust = _trust(batch)
            logits = window_logits(detector, batch)
            flat = np.broadcast_to(trust[:, None], logits.shape)
            above, below = weighted.add(flat * logits, starts), weight.add(flat, starts)
            yield observed.cover(above / below)
    length = observed.rows
    yield observed.cover(weighted.finish(length) / weight.finish(length))


@torch.inference_mode()
def window_logits(detector: Detector, windows: FloatArray) -> FloatArray:
    """Logits (window, time) of windows with gaps, which are bridged for the network."""
    logits = np.empty(windows.shape)
    for first in range(0, len(windows), BATCH):
        batch = np.clip(windows[first : first + BATCH], -LARGEST, LARGEST)
        bridged = bridge(batch).astype(np.float32)
        few = few_logits(detector, bridged) if len(windows) <= FEW else None
        if few is None:
            few = detector(torch.from_numpy(bridged)).numpy()
        logits[first : first + BATCH] = few
    return logits


def _causal_logits(detector: Detector, values: FloatArray, first: int) -> FloatArray:
    """Logits of the rows from `first` on."""
    size = detector.config.window
    whole = max(first, size - 1)  # the first row with a whole window behind it
    logits = np.empty(len(values) - first)
    short = [pad_short(values[: row + 1], size) for row in range(first, min(whole, len(values)))]
    if short:
        logits[: len(short)] = window_logits(detector, np.stack(short))[:, -1]
    if len(values) > whole:
        view = np.lib.stride_tricks.sliding_window_view(values[whole - size + 1 :], size)
        for start in range(0, len(view), GROUP):
            batch = view[start : start + GROUP]
            place = whole - first + start
            logits[place : place + len(batch)] = window_logits(detector, batch)[:, -1]
    return np.where(np.isfinite(values[first:]), logits, np.nan)


def _trust(windows: FloatArray) -> FloatArray:
    return np.where(np.isfinite(windows).mean(axis=1) >= 0.5, 1.0, SPARSE_WEIGHT)


class _Mask:
    """Which of the rows still to be handed out were observed."""

    def __init__(self) -> None:
        self.rows = 0
        self.waiting = np.zeros(0, dtype=bool)

    def watch(self, chunks: Iterable[FloatArray]) -> Iterator[FloatArray]:
        """Pass the chunks on and remember what was observed."""
        for chunk in chunks:
            chunk = _checked(chunk)
            self.rows += len(chunk)
            self.waiting = np.concatenate([self.waiting, np.isfinite(chunk)])
            yield chunk

    def cover(self, rows: FloatArray) -> FloatArray:
        """The next rows, with not-a-number where nothing was observed."""
        observed, self.waiting = self.waiting[: len(rows)], self.waiting[len(rows) :]
        return np.where(observed, rows, np.nan)


def _checked(values: FloatArray) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise InputError(f"values of shape {values.shape}", "score one channel at a time: (time,)")
    if np.isinf(values).any():
        raise InputError("a value is infinite", "read the series with caps.read, which masks them")
    return values
