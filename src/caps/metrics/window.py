"""The VUS window of a series: its strongest period by autocorrelation, as TSB-AD finds it."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError, check_known
from caps.metrics.scored import as_array

WindowRule = Literal["1.5", "2026"]  # of TSB-AD 1.5, and of its code since February 2026

NO_PERIOD = 125  # what the rule answers when it finds no usable period

_POINTS = 20_000  # the rule looks at this many points from the beginning
_LAGS = 400
_FIRST_LAG = 3
# Usable lags. Version 1.5 counts 3 to 300 from the first lag it looks at, which is 3; the code of
# 2026 means the lags themselves, and the first peak that can be lies at 4.
_USABLE: dict[WindowRule, tuple[int, int]] = {"1.5": (6, 303), "2026": (3, 300)}


def acf_window(series: ArrayLike, *, rank: int = 1, rule: WindowRule = "1.5") -> int:
    """Return the lag of the highest autocorrelation peak, or 125 when there is no usable one.

    With rank 2 it is the highest of the peaks at longer lags, where there are any: mostly two
    periods. Of a `(time, channel)` array the first channel counts. The rule of TSB-AD 1.5 takes
    lags from 6 to 303, that of its code since February 2026 all up to 300.

    >>> wave = np.sin(np.arange(1000) * 2 * np.pi / 50)
    >>> acf_window(wave), acf_window(wave, rank=2)
    (50, 100)
    >>> short = np.tile([0, 2, 3, 1, 4.0], 90)
    >>> acf_window(short), acf_window(short, rule="2026")
    (125, 5)
    """
    check_known("window rule", rule, get_args(WindowRule))
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
    shortest, longest = _USABLE[rule]
    return highest + _FIRST_LAG if shortest <= highest + _FIRST_LAG <= longest else NO_PERIOD


def _autocorrelation(values: np.ndarray) -> np.ndarray:
    """Autocorrelation at lags 0..400, by a Fourier transform padded against wrapping round."""
    centred = values - values.mean()
    spectrum = np.fft.rfft(centred, 2 ** int(np.ceil(np.log2(2 * len(values)))))
    covariance = np.fft.irfft(spectrum * spectrum.conj())[: min(_LAGS + 1, len(values))]
    return np.asarray(covariance / covariance[0])
