"""Reference windows: what the training part of a series offers as examples of normal."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from caps.errors import InputError
from caps.series import bridge, pad_short, window_starts

WINDOW = 256
STRIDE = 4  # the paper's number of IOPS windows is that of stride 4
FEW = 64  # below this many windows a short training part is read with stride 1
LIMIT = 1500  # windows of one series; a long one has far more, which say the same
LEAST_OBSERVED = 0.5  # a window observed for less than this share is no example of anything


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """Windows of the scaled training part, in order of time.

    Only `trusted` points are evidence of normal behaviour: those that were observed and are not
    suspected to be anomalous themselves. The others keep a value, for the networks to read.

    >>> references = reference_windows(np.sin(np.arange(400.0)), rng=np.random.default_rng(0))
    >>> references.windows.shape, references.starts[:3].tolist()
    ((145, 256), [0, 1, 2])
    """

    windows: np.ndarray  # (n, time) float32
    starts: np.ndarray  # (n,) first row of each; negative where a short series was padded
    trusted: np.ndarray  # (n, time) bool

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, rows: np.ndarray | slice | Sequence[int]) -> "References":
        """The references selected by a slice, an index array or a boolean array."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        return References(*(getattr(self, field.name)[rows] for field in fields(self)))

    def labels(self, marks: np.ndarray) -> np.ndarray:
        """The marks (n, time) of the rows under each window; rows before a short series have none.

        >>> references = References(np.zeros((1, 3)), np.array([-1]), np.ones((1, 3), bool))
        >>> references.labels(np.array([True, False]))
        array([[False,  True, False]])
        """
        rows = self.starts[:, None] + np.arange(self.windows.shape[1])
        return np.asarray((rows >= 0) & marks[np.maximum(rows, 0)])


def reference_windows(
    values: np.ndarray,
    *,
    size: int = WINDOW,
    limit: int = LIMIT,
    rng: np.random.Generator,
) -> References:
    """The references of one scaled channel (time,): at most `limit`, chosen at random."""
    if limit < 1:
        raise InputError(f"at most {limit} references", "allow at least one")
    filled, seen = readable(values)
    starts = window_starts(len(filled), size, STRIDE)
    if len(starts) < FEW:
        starts = window_starts(len(filled), size, 1)
    padding = max(0, size - len(filled))
    filled, seen = pad_short(filled, size), pad_short(seen, size)
    total = np.concatenate([[0], np.cumsum(seen)])
    share = (total[starts + padding + size] - total[starts + padding]) / size
    starts = starts[share >= LEAST_OBSERVED]
    if len(starts) == 0:
        raise InputError(
            f"every window of {size} rows is observed for less than half",
            "give a longer training part or one with fewer gaps",
        )
    if len(starts) > limit:
        starts = np.sort(rng.choice(starts, limit, replace=False))
    rows = (starts + padding)[:, None] + np.arange(size)
    return References(filled[rows].astype(np.float32), starts, seen[rows])


def readable(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One channel with its gaps bridged, and which of its rows were observed."""
    if values.ndim != 1:
        raise InputError(f"values of shape {values.shape}", "give one channel at a time: (time,)")
    seen = np.isfinite(values)
    if not seen.any():
        raise InputError("no value was observed", "give a training part with observed values")
    return bridge(np.where(seen, values, np.nan)), seen
