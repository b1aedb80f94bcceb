"""Diagnosis: which modes the anomalies that a user knows of are associated with (appendix B.3)."""

from collections.abc import Sequence

import numpy as np
import torch

from caps.errors import InputError
from caps.realize import Pretrained, select_modes
from caps.recover.references import WINDOW, readable
from caps.series import pad_short, window_starts

BATCH = 256


def diagnose(
    pretrained: Pretrained, windows: np.ndarray, support: np.ndarray, *, rho: float = 0.8
) -> list[int]:
    """The fewest modes whose mean association with the known windows reaches `rho`, best first.

    The windows (n, time) of the scaled series choose modes only; no detector is trained on them.
    `support` marks where in them the known anomalies lie.
    """
    if windows.ndim != 2 or len(windows) == 0 or support.shape != windows.shape:
        raise InputError(
            f"known anomalous windows of shape {windows.shape} with support {support.shape}",
            "give one or more of each: (n, time)",
        )
    known = torch.from_numpy(np.ascontiguousarray(windows, dtype=np.float32))
    marked = torch.from_numpy(np.ascontiguousarray(support, dtype=np.float32))
    batches = zip(torch.split(known, BATCH), torch.split(marked, BATCH), strict=True)
    scores = [pretrained.associate(*batch) for batch in batches]
    return select_modes(np.concatenate(scores), rho=rho)


def known_windows(
    values: np.ndarray, spans: Sequence[tuple[int, int]], *, size: int = WINDOW
) -> tuple[np.ndarray, np.ndarray]:
    """Windows around spans of rows [start, end) of one scaled channel, and their supports.

    A span sits in the middle of its window where the series allows; one longer than a window is
    covered by several.

    >>> windows, support = known_windows(np.arange(9.0), [(4, 6)], size=4)
    >>> windows.tolist(), support.tolist()
    ([[3.0, 4.0, 5.0, 6.0]], [[False, True, True, False]])
    """
    if not spans:
        raise InputError("no known anomaly was named", "name at least one span of rows")
    filled, _ = readable(values)
    padding = max(0, size - len(filled))
    padded = pad_short(filled, size)
    windows, supports = [], []
    for start, end in spans:
        rows = _starts(start, end, len(filled), size)[:, None] + np.arange(size)
        windows.append(padded[rows + padding])
        supports.append((rows >= start) & (rows < end))
    return np.concatenate(windows).astype(np.float32), np.concatenate(supports)


def _starts(start: int, end: int, length: int, size: int) -> np.ndarray:
    if not 0 <= start < end <= length:
        raise InputError(
            f"a known anomaly from row {start} to {end} in {length} rows",
            "name rows of the series, the start before the end",
        )
    if end - start > size:
        return np.asarray(start + window_starts(end - start, size, size // 2))
    centred = (start + end - size) // 2
    return np.array([min(max(centred, 0), length - size)])
