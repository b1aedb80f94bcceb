"""A threshold without labels: how often normal rows that the detector never saw raise an alarm.

An alarm is an event, so the rate of events is calibrated, not that of rows. Below the level `tail`
the rates are counted on the held-out scores; above it the peaks have an exponential tail. Training
parts hold anomalies as a rule, so the highest peaks are no guide: the others, and what is usual
elsewhere, tell how steep it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from caps.arrays import FloatArray
from caps.configuration import from_json, to_json
from caps.errors import ArtifactError, InputError
from caps.scoring.config import CalibrationConfig
from caps.scoring.spans import EventRules

LARGEST_LEVEL = 40.0  # its score is exactly 1 in float64
SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 7 * 86400,
    "month": 30.4375 * 86400,
    "year": 365.25 * 86400,
}
_BUDGET = re.compile(
    r"\s*(?P<count>\d+(\.\d*)?)\s*(/|per)\s*(?P<per>\d+|[a-z]+?)s?\s*", re.IGNORECASE
)


def alarm_rate(budget: str | float, step: np.timedelta64 | None = None) -> float:
    """Events per row that a budget allows: `"1/1000"` (rows), `"1/day"`, `"2/week"`, or a rate.

    Budgets in units of time need the sampling step.

    >>> alarm_rate("1/1000"), alarm_rate("2/day", np.timedelta64(1, "h"))
    (0.001, 0.08333333333333333)
    """
    if isinstance(budget, bool) or not isinstance(budget, str | float | int | np.number):
        raise InputError(
            f"the alarm budget {budget!r} is no rate",
            "write alarms per time or per rows, like 1/day, 2/week or 1/1000",
        )
    rate = _rate(budget, step) if isinstance(budget, str) else float(min(budget, 1))
    if not 0 < rate < 1:
        raise InputError(
            f"the alarm budget {budget!r} allows {rate:g} alarms a row",
            "give one above zero and below one alarm for every row, like 1/1000",
        )
    return rate


def _rate(budget: str, step: np.timedelta64 | None) -> float:
    match = _BUDGET.fullmatch(budget)
    if match is None:
        raise InputError(
            f"the alarm budget {budget!r} cannot be read",
            "write alarms per time or per rows, like 1/day, 2/week or 1/1000",
        )
    count, per = float(match["count"]), match["per"].lower()
    if per.isdigit():
        return count / float(per) if float(per) else float("inf")
    if per not in SECONDS:
        raise InputError(
            f"the alarm budget {budget!r} names an unknown unit {per!r}",
            f"use one of {', '.join(SECONDS)}, or a number of rows like 1/1000",
        )
    if step is None:
        raise InputError(
            f"the alarm budget {budget!r} needs times, the series has none",
            "give the budget in rows, like 1/1000, or a series with times",
        )
    return count * float(step / np.timedelta64(1, "s")) / SECONDS[per]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Rates of rows and of events above every level of the score, on normal data."""

    rules: EventRules
    rows: int  # held-out rows it was made from
    levels: FloatArray  # ascending, the last one is `tail`
    row_rate: FloatArray  # share of rows at or above each level
    event_rate: FloatArray  # peaks per row at or above each level, apart as events are
    scale: float  # of the exponential tail above the last level

    @property
    def tail(self) -> float:
        """The level from which the rates are extrapolated."""
        return float(self.levels[-1])

    def p_values(self, scores: ArrayLike) -> FloatArray:
        """How often a normal row scores at least as high; not-a-number stays."""
        return np.where(np.isnan(scores), np.nan, self._rate(scores, self.row_rate))

    def event_p_values(self, scores: ArrayLike) -> FloatArray:
        """How often, a row, normal data have an event that peaks at least as high."""
        return np.where(np.isnan(scores), np.nan, self._rate(scores, self.event_rate))

    def threshold(self, budget: str | float, step: np.timedelta64 | None = None) -> float:
        """The score to exceed for an alarm, so that normal data stay within the budget."""
        rate = alarm_rate(budget, step)
        if rate < self.event_rate[-1]:
            return _score(self.tail - self.scale * np.log(rate / self.event_rate[-1]))
        # The highest level of each rate, also where the budget allows more alarms than there are.
        ends = np.append(np.diff(self.event_rate) < 0, True)
        rising, levels = np.log(self.event_rate[ends])[::-1], self.levels[ends][::-1]
        return _score(np.interp(np.log(rate), rising, levels))

    def expected_alarms(self, threshold: float, rows: int) -> float:
        """Alarms to expect in so many normal rows."""
        return float(rows * self._rate(threshold, self.event_rate))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same calibration back."""
        facts: dict[str, Any] = to_json(self)
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The calibration that `to_dict` described; other or missing keys are errors."""
        made = from_json(cls, facts)
        made._check()
        return made

    def _check(self) -> None:
        rates = (self.row_rate, self.event_rate)
        sound = (
            len(self.levels) > 0
            and all(rate.shape == self.levels.shape for rate in rates)
            and bool((np.diff(self.levels) >= 0).all())
            and all(bool((rate > 0).all() and (np.diff(rate) <= 0).all()) for rate in rates)
            and self.scale > 0
        )
        if not sound:
            raise ArtifactError("a calibration contradicts itself", "calibrate again")

    def _rate(self, scores: ArrayLike, rates: FloatArray) -> FloatArray:
        level = _level(scores)
        beyond = np.maximum(level - self.tail, 0.0) / self.scale
        return np.asarray(np.exp(np.interp(level, self.levels, np.log(rates)) - beyond))


def calibrate(
    scores: FloatArray | Sequence[FloatArray],
    rules: EventRules | None = None,
    config: CalibrationConfig | None = None,
) -> Calibration:
    """Calibrate on the scores of normal rows kept out of training, given as one or more blocks.

    >>> normal = np.random.default_rng(0).beta(1, 20, 5000)
    >>> calibration = calibrate(normal)
    >>> bool(calibration.threshold("1/1000") < calibration.threshold("1/100000"))
    True
    """
    blocks = [scores] if isinstance(scores, np.ndarray) else scores
    levels = [_level(block) for block in blocks]
    return calibrate_logits(levels, rules or EventRules(), config or CalibrationConfig())


def calibrate_logits(
    logits: Sequence[FloatArray],
    rules: EventRules,
    config: CalibrationConfig,
    usual_scale: float | None = None,
) -> Calibration:
    """The same of the logits of scores.

    `usual_scale` is that of the tail of such logits on other series; without one, their std.
    """
    blocks = [np.clip(block, -LARGEST_LEVEL, LARGEST_LEVEL) for block in logits]
    seen = np.concatenate([block[np.isfinite(block)] for block in blocks] or [np.zeros(0)])
    if len(seen) < config.fewest_rows:
        raise InputError(
            f"{len(seen)} held-out rows were observed, a threshold needs {config.fewest_rows}",
            "give a longer training part",
        )
    peaks = np.sort(np.concatenate([_peaks(block, rules.merge_gap) for block in blocks]))
    # The tail begins where so many peaks are left; ties may leave more.
    wanted = min(len(peaks), max(config.fewest_peaks, len(seen) // config.tail_share))
    tail = float(peaks[-wanted])
    grid = np.unique(np.quantile(seen, 1 - np.geomspace(1, 1 / len(seen), config.levels)))
    grid = np.append(grid[grid < tail], tail)
    usual = max(float(seen.std()), config.least_scale) if usual_scale is None else usual_scale

    def share_from(values: FloatArray) -> FloatArray:
        left = len(values) - np.searchsorted(np.sort(values), grid, side="left")
        return np.maximum(left, 1) / len(seen)

    return Calibration(
        rules=rules,
        rows=len(seen),
        levels=grid,
        row_rate=share_from(seen),
        event_rate=share_from(peaks),
        scale=_tail_scale(peaks[-wanted:] - tail, usual, config),
    )


def _tail_scale(excess: FloatArray, usual: float, config: CalibrationConfig) -> float:
    """Scale of the exponential tail of rising peaks: likeliest, the doubted ones censored."""
    believed = len(excess) - int(config.doubted * len(excess))
    if believed == 0:
        return usual
    censored = np.minimum(excess, excess[believed - 1])
    likeliest = float(censored.sum()) / believed
    weight = config.usual_peaks
    scale = (weight * usual + believed * likeliest) / (weight + believed)
    return max(scale, config.least_scale)


def _score(level: float) -> float:
    return float(-np.expm1(-level))


def _level(scores: ArrayLike) -> FloatArray:
    """In which evidence, and so -log p, counts evenly."""
    scores = np.asarray(scores, dtype=np.float64)
    if ((scores < 0) | (scores > 1)).any():
        raise InputError("a score lies outside [0, 1]", "give the scores of score_series")
    with np.errstate(divide="ignore"):  # of a score of 1
        return np.asarray(np.minimum(-np.log1p(-scores), LARGEST_LEVEL))


def _peaks(block: FloatArray, beside: int) -> FloatArray:
    """The rows that none within so many `beside` them exceeds; of equal ones the first."""
    known = np.nan_to_num(block, nan=-np.inf)
    padded = np.pad(known, beside, constant_values=-np.inf)
    around = sliding_window_view(padded, 2 * beside + 1)
    before = around[:, :beside].max(axis=1, initial=-np.inf)
    return np.asarray(block[(known > before) & (known >= around.max(axis=1)) & np.isfinite(known)])
