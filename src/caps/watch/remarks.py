"""What is odd about the input, told while it happens: at first, and at every tenfold of it."""

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SILENT = 100  # rows without a value after which a channel is called silent


class Remarks:
    """Says things on standard error, each kind less often the more often it happens."""

    def __init__(self) -> None:
        self.due: dict[tuple[str, str], int] = {}

    def say(self, what: str) -> None:
        """Say it now."""
        print(what, file=sys.stderr, flush=True)

    def count(self, kind: str, total: int, detail: str, series: str = "") -> None:
        """Say that something has happened `total` times, if that is worth saying."""
        if total < self.due.get((series, kind), 1):
            return
        self.due[series, kind] = 10 ** len(str(total))
        of = f" of {series!r}" if series else ""
        self.say(f"{total} {kind}{of}: {detail}")


class Silence:
    """Rows since each channel of one series last had a value."""

    def __init__(self, channels: Sequence[str]) -> None:
        self.channels = channels
        self.rows = np.zeros(len(channels), dtype=np.int64)
        self.total = 0

    def take(self, values: NDArray[np.float64]) -> list[str]:
        """Take in rows (row, channel); the channels that have just been silent for too long."""
        known, before = np.isfinite(values), self.rows
        heard = known.any(axis=0)
        self.total += len(values)
        self.rows = np.where(heard, known[::-1].argmax(axis=0), before + len(values))
        longest = np.where(heard, before + known.argmax(axis=0), self.rows)
        return self._named((before < SILENT) & (longest >= SILENT))

    def silent(self) -> list[str]:
        """Channels that bring no values now, or never did."""
        return self._named((self.rows >= SILENT) | (self.rows == self.total))

    def _named(self, chosen: NDArray[np.bool_]) -> list[str]:
        return [name for name, one in zip(self.channels, chosen, strict=True) if one]
