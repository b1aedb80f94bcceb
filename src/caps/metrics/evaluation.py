"""All metrics of one protocol at once, each alone, and what scores without knowledge get."""

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError, check_known
from caps.metrics.points import (
    average_precision,
    best_f1_over_all_scores,
    best_f1_over_thresholds,
    roc_area,
)
from caps.metrics.range_wise import RangeF1, best_range_f1, harmonic, range_sweep
from caps.metrics.scored import Events, Scored, checked_labels, levels_of
from caps.metrics.volume import Volume, volume_under_surface
from caps.metrics.window import acf_window
from caps.metrics.zones import affiliation_f, affiliation_sweep, best_affiliation_f

Protocol = Literal["caps", "tsb-ad"]

DEFAULT_WINDOW = 100  # TSB-AD's, used when neither a window nor the series is given
QUANTILE_LEVELS = 1500  # the paper's equally spaced quantile levels
LINEAR_LEVELS = 100  # TSB-AD's equally spaced values between the smallest and largest score


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of one score series; NaN means undefined, never bad."""

    vus_pr: float
    vus_roc: float
    auc_pr: float
    auc_roc: float
    standard_f1: float
    f1_t: float
    f1_t_fixed: float
    affiliation_f: float
    window: int
    protocol: Protocol

    def as_dict(self) -> dict[str, float | int | None]:
        """Return metrics and window by name, None where undefined."""
        values = asdict(self)
        del values["protocol"]
        return {name: None if math.isnan(value) else value for name, value in values.items()}


def evaluate(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    protocol: Protocol = "caps",
    window: int | None = None,
    series: ArrayLike | None = None,
) -> Evaluation:
    """Return every metric of `protocol`.

    The VUS window is `window`, or else found on `series` by autocorrelation, or else 100. Without
    an anomalous label every metric is NaN; without a normal one the two ROC areas are.

    >>> result = evaluate([0.1, 0.9, 0.8, 0.2, 0.3], [0, 1, 1, 0, 0], window=2)
    >>> result.auc_pr, result.standard_f1
    (1.0, 1.0)
    """
    sweep = _Sweep(scores, labels, protocol)
    window = chosen_window(window, series, len(sweep.scored))
    volume, range_f1 = volume_under_surface(sweep.scored, window), sweep.range_f1()
    return Evaluation(
        vus_pr=volume.pr,
        vus_roc=volume.roc,
        auc_pr=average_precision(sweep.scored),
        auc_roc=roc_area(sweep.scored),
        standard_f1=sweep.standard_f1(),
        f1_t=range_f1.published,
        f1_t_fixed=range_f1.fixed,
        affiliation_f=sweep.affiliation(),
        window=window,
        protocol=protocol,
    )


def vus(scores: ArrayLike, labels: ArrayLike, *, window: int) -> Volume:
    """Return VUS-PR and VUS-ROC.

    >>> vus([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], window=0).pr
    1.0
    """
    return volume_under_surface(Scored.of(scores, labels), _checked_window(window))


def auc_pr(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the point-wise average precision.

    >>> auc_pr([0.1, 0.9, 0.8, 0.2], [0, 1, 0, 0])
    1.0
    """
    return average_precision(Scored.of(scores, labels))


def auc_roc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the point-wise area under the ROC curve.

    >>> auc_roc([0.1, 0.9, 0.8, 0.2], [0, 0, 1, 0])
    0.6666666666666666
    """
    return roc_area(Scored.of(scores, labels))


def standard_f1(scores: ArrayLike, labels: ArrayLike, *, protocol: Protocol = "caps") -> float:
    """Return the best point-wise F1 over the thresholds of `protocol`.

    >>> standard_f1([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0])
    1.0
    """
    return _Sweep(scores, labels, protocol).standard_f1()


def range_f1(scores: ArrayLike, labels: ArrayLike, *, protocol: Protocol = "caps") -> RangeF1:
    """Return the best F1_T, as published and corrected.

    >>> range_f1([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0]).published
    1.0
    """
    return _Sweep(scores, labels, protocol).range_f1()


def affiliation(scores: ArrayLike, labels: ArrayLike, *, protocol: Protocol = "caps") -> float:
    """Return the best Affiliation-F.

    >>> round(affiliation([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0]), 6)
    1.0
    """
    return _Sweep(scores, labels, protocol).affiliation()


@dataclass(frozen=True, slots=True)
class Floors:
    """Evaluations of knowledge-free scores; a method means something only above them."""

    random: Evaluation  # mean over uniform random scores
    constant: Evaluation  # the same score everywhere, swept like any other
    all_ones: Evaluation  # every point predicted: what threshold metrics give for no effort


def floors(
    labels: ArrayLike,
    *,
    protocol: Protocol = "caps",
    window: int | None = None,
    draws: int = 5,
    rng: np.random.Generator | None = None,
) -> Floors:
    """Return what random, constant and all-ones scores get on these labels.

    >>> round(floors([0, 0, 1, 1, 0, 0, 0, 0], window=2).all_ones.standard_f1, 3)
    0.4
    """
    flags = checked_labels(labels)
    rng = np.random.default_rng(0) if rng is None else rng
    random = [
        evaluate(rng.random(len(flags)), flags, protocol=protocol, window=window)
        for _ in range(draws)
    ]
    constant = evaluate(np.zeros(len(flags)), flags, protocol=protocol, window=window)
    return Floors(_mean(random), constant, _all_ones(constant, Events.of(flags), len(flags)))


def chosen_window(window: int | None, series: ArrayLike | None, length: int) -> int:
    """Return the VUS window to use on `length` points."""
    if window is None:
        window = DEFAULT_WINDOW if series is None else acf_window(series)
    window = _checked_window(window)
    if length <= window:
        raise InputError(
            f"{length} points are too few for a VUS window of {window}",
            f"give more than {window} points or a smaller window",
        )
    return window


def _checked_window(window: int) -> int:
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 0:
        raise InputError(f"the window is {window!r}", "give a whole number of points, 0 or more")
    return int(window)


class _Sweep:
    """Scores and labels under the thresholds of a protocol."""

    def __init__(self, scores: ArrayLike, labels: ArrayLike, protocol: Protocol) -> None:
        check_known("protocol", protocol, get_args(Protocol))
        self.scored, self.as_paper = Scored.of(scores, labels), protocol == "caps"
        ascending = self.scored.ascending
        if self.as_paper:
            self.thresholds = np.quantile(ascending, np.linspace(0, 1, QUANTILE_LEVELS))
        else:
            self.thresholds = np.linspace(ascending[0], ascending[-1], LINEAR_LEVELS)
        self.levels = levels_of(self.scored.scores, self.thresholds)

    def standard_f1(self) -> float:
        if self.as_paper:
            return best_f1_over_thresholds(self.scored, self.thresholds)
        return best_f1_over_all_scores(self.scored)

    def range_f1(self) -> RangeF1:
        return best_range_f1(self.levels, len(self.thresholds), self.scored.events)

    def affiliation(self) -> float:
        # Constant scores are never above a threshold; TSB-AD then answers NaN, the paper's code 0.
        empty_scores = 0.0 if self.as_paper else math.nan
        events = self.scored.events
        return best_affiliation_f(
            self.levels, len(self.thresholds), events, empty_scores=empty_scores
        )


def _mean(evaluations: list[Evaluation]) -> Evaluation:
    means: dict[str, Any] = {
        field.name: float(np.mean([getattr(each, field.name) for each in evaluations]))
        for field in fields(Evaluation)
        if field.type is float
    }
    return replace(evaluations[0], **means)


def _all_ones(constant: Evaluation, events: Events, size: int) -> Evaluation:
    """Ranking metrics see all-ones as constant scores; threshold metrics see one prediction."""
    if not len(events):
        return constant
    levels = np.ones(size, dtype=np.int64)
    sweep = range_sweep(levels, 1, events)
    return replace(
        constant,
        f1_t=float(harmonic(sweep.precision, sweep.recall)[0]),
        f1_t_fixed=float(harmonic(sweep.precision_fixed, sweep.recall)[0]),
        affiliation_f=float(affiliation_f(*affiliation_sweep(levels, 1, events))[0]),
    )
