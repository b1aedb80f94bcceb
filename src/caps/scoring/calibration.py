"""A threshold without labels: how often normal rows that the detector never saw raise an alarm.

An alarm is an event, so the rate of events is calibrated, not that of rows. Below the level `tail`
the rates are counted on the held-out scores; above it, where too few events are left to count, the
peaks follow a generalised Pareto distribution fitted to their excess over `tail`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from caps.arrays import FloatArray
from caps.configuration import check_keys
from caps.errors import ArtifactError, InputError
from caps.network import expit, logit
from caps.scoring.config import CalibrationConfig
from caps.scoring.spans import EventRules, event_spans

LARGEST_LOGIT = 40.0  # its sigmoid is exactly 1 in float64
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
    levels: FloatArray  # ascending logits, the last one is `tail`
    row_rate: FloatArray  # share of rows at or above each level
    event_rate: FloatArray  # events per row with the threshold at this level or the worst above it
    count_rate: FloatArray  # events per row with the threshold at just this level: low ones merge
    scale: float  # of the generalised Pareto tail above the last level
    shape: float

    @property
    def tail(self) -> float:
        """The logit from which the rates are extrapolated."""
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
            return float(expit(self.tail + self._excess(rate / self.event_rate[-1])))
        # The highest level of each rate, also where the budget allows more alarms than there are.
        ends = np.append(np.diff(self.event_rate) < 0, True)
        rising, levels = np.log(self.event_rate[ends])[::-1], self.levels[ends][::-1]
        return float(expit(np.interp(np.log(rate), rising, levels)))

    def expected_alarms(self, threshold: float, rows: int) -> float:
        """Alarms to expect in so many normal rows."""
        return float(rows * self._rate(threshold, self.count_rate))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; `from_dict` gives the same calibration back."""
        return {
            "rules": self.rules.to_dict(),
            "rows": self.rows,
            "levels": self.levels.tolist(),
            "row_rate": self.row_rate.tolist(),
            "event_rate": self.event_rate.tolist(),
            "count_rate": self.count_rate.tolist(),
            "scale": self.scale,
            "shape": self.shape,
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The calibration that `to_dict` described; other or missing keys are errors."""
        check_keys(facts, cls, "a calibration")
        try:
            made = cls(
                rules=EventRules.from_dict(facts["rules"]),
                rows=int(facts["rows"]),
                levels=np.array(facts["levels"], dtype=np.float64),
                row_rate=np.array(facts["row_rate"], dtype=np.float64),
                event_rate=np.array(facts["event_rate"], dtype=np.float64),
                count_rate=np.array(facts["count_rate"], dtype=np.float64),
                scale=float(facts["scale"]),
                shape=float(facts["shape"]),
            )
        except (TypeError, ValueError) as error:
            raise ArtifactError(
                f"a calibration cannot be read ({error})", "write it again"
            ) from None
        made._check()
        return made

    def _check(self) -> None:
        rates = (self.row_rate, self.event_rate)
        sound = (
            len(self.levels) > 0
            and all(rate.shape == self.levels.shape for rate in rates)
            and bool((np.diff(self.levels) >= 0).all())
            and all(bool((rate > 0).all() and (np.diff(rate) <= 0).all()) for rate in rates)
            and self.count_rate.shape == self.levels.shape
            and bool(((self.count_rate > 0) & (self.count_rate <= self.event_rate)).all())
            and self.scale > 0
        )
        if not sound:
            raise ArtifactError("a calibration contradicts itself", "calibrate again")

    def _rate(self, scores: ArrayLike, rates: FloatArray) -> FloatArray:
        level = _logit(scores)
        counted = np.exp(np.interp(level, self.levels, np.log(rates)))
        return np.where(level > self.tail, rates[-1] * self._survival(level - self.tail), counted)

    def _survival(self, excess: FloatArray) -> FloatArray:
        relative = np.maximum(excess, 0) / self.scale
        if self.shape == 0:
            return np.exp(-relative)
        return np.asarray(np.maximum(1 + self.shape * relative, 0) ** (-1 / self.shape))

    def _excess(self, share: float) -> float:
        if self.shape == 0:
            return -self.scale * float(np.log(share))
        return self.scale * float(share**-self.shape - 1) / self.shape


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
    return calibrate_logits(
        [_logit(block) for block in blocks], rules or EventRules(), config or CalibrationConfig()
    )


def calibrate_logits(
    logits: Sequence[FloatArray], rules: EventRules, config: CalibrationConfig
) -> Calibration:
    """The same of the logits of scores."""
    blocks = [np.clip(block, -LARGEST_LOGIT, LARGEST_LOGIT) for block in logits]
    seen = np.concatenate([block[np.isfinite(block)] for block in blocks] or [np.zeros(0)])
    if len(seen) < config.fewest_rows:
        raise InputError(
            f"{len(seen)} held-out rows were observed, a threshold needs {config.fewest_rows}",
            "give a longer training part",
        )
    grid = np.unique(np.quantile(seen, 1 - np.geomspace(1, 1 / len(seen), config.levels)))
    counts = np.array([_count(blocks, level, rules) for level in grid])
    # A budget must hold at every higher threshold too.
    worst = np.maximum.accumulate(counts[::-1])[::-1]
    wanted = min(config.many_peaks, max(config.few_peaks, int(worst[0]) // 3))
    last = int(np.flatnonzero(worst >= min(wanted, worst[0]))[-1])
    peaks = _peaks(blocks, float(grid[last]), rules)
    scale, shape = _fit_tail(peaks - grid[last], float(seen.std()), config)
    rows = np.searchsorted(np.sort(seen), grid[: last + 1], side="left")
    return Calibration(
        rules=rules,
        rows=len(seen),
        levels=grid[: last + 1],
        row_rate=(len(seen) - rows) / len(seen),
        event_rate=np.maximum(worst[: last + 1], 1) / len(seen),
        count_rate=np.maximum(counts[: last + 1], 1) / len(seen),
        scale=scale,
        shape=shape,
    )


def _logit(scores: ArrayLike) -> FloatArray:
    scores = np.asarray(scores, dtype=np.float64)
    if ((scores < 0) | (scores > 1)).any():
        raise InputError("a score lies outside [0, 1]", "give the scores of score_series")
    return np.asarray(np.clip(logit(scores), -LARGEST_LOGIT, LARGEST_LOGIT))


def _count(blocks: list[FloatArray], level: float, rules: EventRules) -> int:
    return sum(len(event_spans(block, level, rules)) for block in blocks)


def _peaks(blocks: list[FloatArray], level: float, rules: EventRules) -> FloatArray:
    return np.array(
        [
            np.nanmax(block[start:end])
            for block in blocks
            for start, end in event_spans(block, level, rules)
        ]
    )


def _fit_tail(excess: FloatArray, std: float, config: CalibrationConfig) -> tuple[float, float]:
    """Scale and shape of the generalised Pareto distribution of the peaks to come.

    Fitted by the first two L-moments. The shape of few peaks is noise, so it is pulled towards 0,
    the exponential tail. That the scale is uncertain too makes future peaks heavier-tailed than
    the fit: with an exponential tail, `count` peaks predict exactly a shape of 1 / count.
    """
    count = len(excess)
    if count < config.fewest_peaks or excess.mean() <= 0:
        return max(std, config.least_scale), 0.0
    ordered = np.sort(excess)
    mean = float(ordered.mean())
    second = float((np.arange(count) * ordered).sum() * 2 / (count * (count - 1)) - mean)
    shape = 2 - mean / second if second > 0 else 0.0
    shape = shape * count / (count + config.shrinkage)
    shape = float(np.clip(shape, config.steepest, config.heaviest))
    return mean * (1 - shape), shape + 1 / count
