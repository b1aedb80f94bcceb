"""Does the stream still look like what the model was calibrated on?

While it does, the p-value of a row is uniform. Every few rows - far enough apart that they hardly
hang together - one p-value is taken, and bets are placed: "more than a share u of them are small",
"... large". Each u is an upper confidence limit of that share on the held-out rows, so that a bet
gains only beyond what a short calibration could have missed.

The capital of the bets is that of a Shiryaev-Roberts e-detector: M <- (M + 1) * gain. If nothing
drifts, the mean time until M reaches a limit is at least that many samples, whatever the bets. So
the configured limit is the mean time to a false recommendation, or longer.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from caps.arrays import FloatArray
from caps.scoring import Calibration
from caps.stream.config import DriftConfig

GOLDEN = 0.6180339887498949


class DriftWatch:
    """Watches the p-values of a stream; `found` from the moment a refit is recommended."""

    def __init__(
        self,
        calibration: Calibration,
        config: DriftConfig | None = None,
        bets: FloatArray | None = None,
    ) -> None:
        self.config = config or DriftConfig()
        self.bets = _bets(calibration, self.config) if bets is None else bets
        self.capital = np.zeros((len(self.bets), len(self.config.stakes)))
        self.samples = 0
        self.rows = 0  # observed
        self.next_sample = self._spacing()
        self.found = False

    def watch(self, p_values: FloatArray) -> bool:
        """Take in the p-values of the next rows; True when drift is found, once."""
        if self.found:
            return False
        for p_value in p_values[np.isfinite(p_values)].tolist():
            self.rows += 1
            if self.rows == self.next_sample:
                self._bet(p_value)
                if self.found:
                    return True
        return False

    def _bet(self, p_value: float) -> None:
        self.samples += 1
        self.next_sample += self._spacing()
        low, high, limit = self.bets.T
        hit = (low <= p_value) & (p_value <= high)
        won = np.where(hit, 1.0 / limit, 0.0)[:, None] - 1.0
        self.capital = (self.capital + 1.0) * (1.0 + np.array(self.config.stakes) * won)
        self.found = self.found or bool(self.capital.mean() >= self.config.limit)

    def _spacing(self) -> int:
        """Rows to the next sample: never the same twice, so that no season is favoured."""
        spacing = self.config.spacing
        return spacing // 2 + int(spacing * ((self.samples + 1) * GOLDEN % 1.0))

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        return {
            "capital": self.capital.tolist(),
            "samples": self.samples,
            "rows": self.rows,
            "next_sample": self.next_sample,
            "found": self.found,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        capital = np.array(facts["capital"], dtype=np.float64)
        if capital.shape != self.capital.shape or not np.isfinite(capital).all():
            raise ValueError("bets of another model")
        self.capital = capital
        self.samples, self.rows = int(facts["samples"]), int(facts["rows"])
        self.next_sample, self.found = int(facts["next_sample"]), bool(facts["found"])


def _bets(calibration: Calibration, config: DriftConfig) -> FloatArray:
    """(low, high, limit): at most the share `limit` of p-values lies in [low, high]."""
    from scipy.special import betaincinv  # 0.3 s; an exported model brings its bets

    def upper_limit(share: float) -> float:
        """Clopper and Pearson's upper confidence limit of a share seen in so many samples."""
        if share >= 1.0:
            return 1.0
        hits, misses = share * samples + 1.0, (1.0 - share) * samples
        return float(betaincinv(hits, misses, 1.0 - config.doubt))

    rate = calibration.row_rate
    samples = max(1.0, calibration.rows / config.spacing)
    bets = []
    for share in config.shares:
        bets.append((0.0, share, upper_limit(share)))
        # Rows that tie at the lowest score all have the largest p-value: count them as held out.
        below = rate[rate < 1.0 - share]
        held_share = 1.0 - float(below[0]) if len(below) else 1.0
        bets.append((1.0 - share, 1.0, upper_limit(held_share)))
    return np.array(bets)
