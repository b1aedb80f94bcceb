"""Long normal series kept in parts, so that an operation can re-render one part and keep the rest.

Every array has one row per series. `signal` is the noise-free structure, `trend` the slow level,
`noise` what no one could predict; the series is their sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

# Standard deviations below this share of the level count as rounding, not as variation.
SMALLEST_STD = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A set of long normal series and what the operations need to know about them."""

    signal: np.ndarray  # (rows, length)
    trend: np.ndarray  # (rows, length)
    noise: np.ndarray  # (rows, length)
    phase: np.ndarray  # (rows, length) cycles since the start, 0 where there is no season
    period: np.ndarray  # (rows,) steps per cycle, nan where there is no season
    texture: np.ndarray  # (rows,) standard deviation of randomness that lies in the signal itself
    floor: np.ndarray  # (rows,) no value can be lower (counts), -inf where anything goes
    quantum: np.ndarray  # (rows,) values are multiples of it above `zero`, 0 where continuous
    zero: np.ndarray  # (rows,) where a dead sensor reads 0, nan where the generator has no zero
    features: np.ndarray  # (rows, n, 2) start and stop of expected spikes and beats, -1 as padding
    levels: np.ndarray  # (rows, n) levels of the states, nan as padding
    day: np.ndarray  # (rows, length) 0 weekday, 1 weekend, -1 without a calendar

    def __len__(self) -> int:
        return len(self.signal)

    @property
    def series(self) -> np.ndarray:
        return np.asarray(self.signal + self.trend + self.noise)


def components(signal: np.ndarray, **known: np.ndarray) -> Components:
    """Components of `signal` with defaults for everything not `known`."""
    rows = len(signal)
    defaults = {
        "trend": np.zeros_like(signal),
        "noise": np.zeros_like(signal),
        "phase": np.zeros_like(signal),
        "period": np.full(rows, np.nan),
        "texture": np.zeros(rows),
        "floor": np.full(rows, -np.inf),
        "quantum": np.zeros(rows),
        "zero": np.full(rows, np.nan),
        "features": np.full((rows, 0, 2), -1),
        "levels": np.full((rows, 0), np.nan),
        "day": np.full(signal.shape, -1, dtype=np.int8),
    }
    return Components(signal=signal, **(defaults | known))


def stack(parts: Sequence[Components]) -> Components:
    """All rows of `parts` in order, padded lists made equally long."""
    stacked = {}
    for field in fields(Components):
        arrays = [getattr(part, field.name) for part in parts]
        if field.name in ("features", "levels"):
            arrays = _padded(arrays)
        stacked[field.name] = np.concatenate(arrays)
    return Components(**stacked)


def _padded(arrays: list[np.ndarray]) -> list[np.ndarray]:
    longest = max(array.shape[1] for array in arrays)
    padded = []
    for array in arrays:
        missing = [(0, 0)] * array.ndim
        missing[1] = (0, longest - array.shape[1])
        empty = np.nan if array.dtype.kind == "f" else -1
        padded.append(np.pad(array, missing, constant_values=empty))
    return padded


def normalised(raw: Components, rng: np.random.Generator) -> Components:
    """Every row scaled by the mean and standard deviation of the whole normal series.

    The anomalous member is never used: no such statistics exist when a target series arrives.
    Rows without a natural zero get one: in the middle of the values or well below them.
    """
    series = raw.series
    mean = series.mean(axis=1)
    std = np.maximum(series.std(axis=1), SMALLEST_STD * np.maximum(np.abs(mean), 1.0))
    below = np.where(rng.random(len(raw)) < 0.5, -rng.uniform(2.0, 6.0, len(raw)), 0.0)
    zero = np.where(np.isnan(raw.zero), below, (raw.zero - mean) / std)

    def parts(values: np.ndarray) -> np.ndarray:
        return np.asarray((values / std[:, None]).astype(np.float32))

    return replace(
        raw,
        signal=((raw.signal - mean[:, None]) / std[:, None]).astype(np.float32),
        trend=parts(raw.trend),
        noise=parts(raw.noise),
        texture=raw.texture / std,
        floor=(raw.floor - mean) / std,
        quantum=raw.quantum / std,
        zero=zero,
        levels=(raw.levels - mean[:, None]) / std[:, None],
    )
