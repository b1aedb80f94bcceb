"""Does the stream still look like what the model was calibrated on?

While it does, the p-value of a row is uniform. Every few rows - far enough apart that they hardly
hang together - one p-value is taken, and bets are placed: "more than a share u of them are small",
"... large". Each u is an upper confidence limit of that share on the held-out rows, so that a bet
gains only beyond what a short calibration could have missed.

The capital of the bets is that of a Shiryaev-Roberts e-detector: M <- (M + 1) * gain. If nothing
drifts, the mean time until M reaches a limit is at least that many looks, whatever the bets. So
LIMIT looks is the mean time to a false recommendation, or longer.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caps.scoring import Calibration

FloatArray = NDArray[np.float64]

LIMIT = 10_000  # looks
SPACING = 64  # rows between looks on average: a quarter of a window
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # of p-values, at either end
STAKES = (0.25, 0.75)  # of the capital
DOUBT = 0.01  # that a share is larger than its limit
GOLDEN = 0.6180339887498949


class DriftWatch:
    """Watches the p-values of a stream; `found` from the moment a refit is recommended."""

    def __init__(self, calibration: Calibration, bets: FloatArray | None = None) -> None:
        self.bets = _bets(calibration) if bets is None else bets
        self.capital = np.zeros((len(self.bets), len(STAKES)))
        self.looks = 0
        self.rows = 0  # observed
        self.next_look = _spacing(0)
        self.found = False

    def watch(self, p_values: FloatArray) -> bool:
        """Take in the p-values of the next rows; True when drift is found, once."""
        if self.found:
            return False
        for p_value in p_values[np.isfinite(p_values)].tolist():
            self.rows += 1
            if self.rows == self.next_look:
                self._look(p_value)
                if self.found:
                    return True
        return False

    def _look(self, p_value: float) -> None:
        self.looks += 1
        self.next_look += _spacing(self.looks)
        low, high, limit = self.bets.T
        hit = (low <= p_value) & (p_value <= high)
        won = np.where(hit, 1.0 / limit, 0.0)[:, None] - 1.0
        self.capital = (self.capital + 1.0) * (1.0 + np.array(STAKES) * won)
        self.found = self.found or bool(self.capital.mean() >= LIMIT)

    def facts(self) -> dict[str, Any]:
        """The state as JSON values."""
        return {
            "capital": self.capital.tolist(),
            "looks": self.looks,
            "rows": self.rows,
            "next_look": self.next_look,
            "found": self.found,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Continue from a state."""
        capital = np.array(facts["capital"], dtype=np.float64)
        if capital.shape != self.capital.shape or not np.isfinite(capital).all():
            raise ValueError("bets of another model")
        self.capital = capital
        self.looks, self.rows = int(facts["looks"]), int(facts["rows"])
        self.next_look, self.found = int(facts["next_look"]), bool(facts["found"])


def _bets(calibration: Calibration) -> FloatArray:
    """(low, high, limit): at most the share `limit` of p-values lies in [low, high]."""
    rate = calibration.row_rate
    looks = max(1.0, calibration.rows / SPACING)
    bets = []
    for share in SHARES:
        bets.append((0.0, share, _upper_limit(share, looks)))
        # Rows that tie at the lowest score all have the largest p-value: count them as held out.
        below = rate[rate < 1.0 - share]
        usual = 1.0 - float(below[0]) if len(below) else 1.0
        bets.append((1.0 - share, 1.0, _upper_limit(usual, looks)))
    return np.array(bets)


def _upper_limit(share: float, looks: float) -> float:
    """Clopper and Pearson's upper confidence limit of a share seen in so many looks."""
    if share >= 1.0:
        return 1.0
    from scipy.special import betaincinv  # an exported model brings its bets and does without

    return float(betaincinv(share * looks + 1.0, (1.0 - share) * looks, 1.0 - DOUBT))


def _spacing(look: int) -> int:
    """Rows to the next look: never the same twice, so that no season of the series is favoured."""
    return SPACING // 2 + int(SPACING * ((look + 1) * GOLDEN % 1.0))
