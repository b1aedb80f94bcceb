"""The VUS window of a series: its strongest period by autocorrelation, as TSB-AD finds it."""

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError
from caps.metrics.scored import as_array

NO_PERIOD = 125  # what the rule answers when it finds no usable period

_POINTS = 20_000  # the rule looks at this many points from the beginning
_LAGS = 400
_FIRST_LAG = 3
_SHORTEST, _LONGEST = 3, 300  # usable peaks, counted from the first lag


def acf_window(series: ArrayLike, *, rank: int = 1) -> int:
    """Return the lag of the highest autocorrelation peak, or 125 when there is no usable one.

    With rank 2 it is the highest of the peaks at longer lags, where there are any: mostly two
    periods. Of a `(time, channel)` array the first channel counts.

    >>> wave = np.sin(np.arange(1000) * 2 * np.pi / 50)
    >>> acf_window(wave), acf_window(wave, rank=2)
    (50, 100)
    """
    if rank not in (1, 2):
        raise InputError(f"the peak of rank {rank}", "ask for rank 1 or 2")
    values = as_array(series, "series")
    if values.ndim == 2:
        values = values[:, 0]
    if values.ndim != 1 or values.dtype.kind not in "fiub" or not len(values):
        raise InputError(
            f"the series has shape {values.shape} and type {values.dtype}",
            "give numbers of shape (time,) or (time, channel)",
        )
    values = values[:_POINTS].astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError("the series has missing or infinite values", "fill them or give a window")
    if values.max() == values.min():
        return NO_PERIOD
    correlation = _autocorrelation(values)[_FIRST_LAG:]
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:]))
    if not len(peaks):
        return NO_PERIOD
    highest = int(peaks[np.argmax(correlation[peaks])])
    later = peaks[peaks > highest]
    if rank == 2 and len(later):
        highest = int(later[np.argmax(correlation[later])])
    return highest + _FIRST_LAG if _SHORTEST <= highest <= _LONGEST else NO_PERIOD


def _autocorrelation(values: np.ndarray) -> np.ndarray:
    """Autocorrelation at lags 0..400, by a Fourier transform padded against wrapping round."""
    centred = values - values.mean()
    spectrum = np.fft.rfft(centred, 2 ** int(np.ceil(np.log2(2 * len(values)))))
    covariance = np.fft.irfft(spectrum * spectrum.conj())[: min(_LAGS + 1, len(values))]
    return np.asarray(covariance / covariance[0])
