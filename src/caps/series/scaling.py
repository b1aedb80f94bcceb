"""Scaling by the training part alone: z-scores that survive constants and extreme magnitudes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caps.arrays import FloatArray
from caps.configuration import check_keys
from caps.errors import ArtifactError, InputError
from caps.series.series import Series

SCALE_FLOOR = 1e-3  # of the range: one value in a million must not set the scale alone
CLIP = 10.0  # beyond ten standard deviations the size of a deviation says nothing more
_RESOLUTION = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Scaler:
    """`(x - centre) / scale` for each channel, fitted on the training part only.

    >>> from caps.series import read
    >>> train, rest = read([1.0, 3.0, 1.0, 3.0, 4.0]).split(4)
    >>> Scaler.fit(train).transform(rest.values)
    array([[2.]])
    """

    centre: FloatArray  # (channel,)
    scale: FloatArray  # (channel,), all above zero
    clip: float | None = CLIP

    def __post_init__(self) -> None:
        if self.centre.ndim != 1 or self.centre.shape != self.scale.shape:
            raise InputError(
                f"centre {self.centre.shape} and scale {self.scale.shape} differ",
                "give one of each for every channel",
            )
        finite = np.isfinite(self.centre) & np.isfinite(self.scale)
        if not (finite & (self.scale > 0)).all():
            raise InputError(
                "a centre or scale is not finite, or a scale not above zero",
                "fit on observed values",
            )
        if self.clip is not None and not self.clip > 0:
            raise InputError(f"clip={self.clip}", "give a limit above zero, or None")

    @classmethod
    def fit(cls, train: Series | ArrayLike, *, clip: float | None = CLIP) -> "Scaler":
        """Fit on the training part, a `Series` or an array (time, channel); missing is ignored.

        Centre and scale are mean and standard deviation, the latter at least a thousandth of the
        range. The values of a constant channel are only centred.
        """
        values = train.values if isinstance(train, Series) else np.asarray(train, dtype=np.float64)
        if values.ndim != 2:
            raise InputError(f"values of shape {values.shape}", "give values as (time, channel)")
        channels = values.shape[1]
        fitted = [_fit_channel(values[:, column]) for column in range(channels)]
        centre, scale = np.array(fitted, dtype=np.float64).reshape(channels, 2).T
        return cls(centre.copy(), scale.copy(), clip)

    def transform(self, values: NDArray[Any]) -> FloatArray:
        """Scale values whose last axis is the channel; not-a-number stays."""
        values = self._fitting(values)
        # In units of a power of two near the largest magnitude: exact, and nothing overflows
        # unless the scaled value itself is beyond float64.
        exponent = self._exponent()
        with np.errstate(over="ignore"):
            scaled = np.ldexp(values, -exponent) - np.ldexp(self.centre, -exponent)
            scaled /= np.ldexp(self.scale, -exponent)
        limit = np.finfo(np.float64).max if self.clip is None else self.clip
        return np.asarray(np.clip(scaled, -limit, limit))

    def inverse(self, scaled: NDArray[Any]) -> FloatArray:
        """Back to the units of the data; what `transform` clipped stays clipped."""
        scaled = self._fitting(scaled)
        exponent = self._exponent()
        values = scaled * np.ldexp(self.scale, -exponent) + np.ldexp(self.centre, -exponent)
        with np.errstate(over="ignore"):
            values = np.ldexp(values, exponent)
        limit = np.finfo(np.float64).max
        return np.asarray(np.clip(values, -limit, limit))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same scaler back."""
        return {"centre": self.centre.tolist(), "scale": self.scale.tolist(), "clip": self.clip}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Scaler":
        """The scaler that `to_dict` described; other or missing keys are errors."""
        check_keys(facts, ("centre", "scale", "clip"), "a scaler")
        try:
            centre = np.array(facts["centre"], dtype=np.float64)
            scale = np.array(facts["scale"], dtype=np.float64)
            clip = None if facts["clip"] is None else float(facts["clip"])
            return cls(centre, scale, clip)
        except (TypeError, ValueError) as error:
            raise ArtifactError(f"a scaler cannot be read ({error})", "write it again") from None

    def _exponent(self) -> NDArray[np.int32]:
        return np.frexp(np.maximum(np.abs(self.centre), self.scale))[1]

    def _fitting(self, values: NDArray[Any]) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim < 1 or array.shape[-1] != len(self.centre):
            raise InputError(
                f"values of shape {array.shape} for a scaler of {len(self.centre)} channels",
                "give the channels that the scaler was fitted on, as the last axis",
            )
        return array


def _fit_channel(values: FloatArray) -> tuple[float, float]:
    """Centre and scale of one channel; 0 and 1 where nothing was observed."""
    seen = values[np.isfinite(values)]
    if seen.size == 0:
        return 0.0, 1.0
    exponent = int(np.frexp(np.abs(seen).max())[1])
    near_one = np.ldexp(seen, -exponent)
    low, high = float(near_one.min()), float(near_one.max())
    centre, scale = float(near_one.mean()), float(near_one.std())
    scale = max(scale, SCALE_FLOOR * (high - low))
    # Below the resolution of float64 the differences are rounding, not signal.
    if high - low <= _RESOLUTION * max(abs(low), abs(high)):
        return float(np.ldexp(np.quantile(near_one, 0.5), exponent)), 1.0
    return float(np.ldexp(centre, exponent)), float(np.ldexp(scale, exponent)) or 1.0
