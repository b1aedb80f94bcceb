"""All metrics of one protocol at once, and each metric alone."""

import math
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from caps.errors import InputError
from caps.metrics.affiliation import best_affiliation_f
from caps.metrics.levels import levels_of, linear_thresholds, quantile_thresholds
from caps.metrics.points import (
    average_precision,
    best_f1_over_all_scores,
    best_f1_over_thresholds,
    roc_area,
)
from caps.metrics.range_wise import RangeF1, best_range_f1
from caps.metrics.scored import Floats, Integers, Scored
from caps.metrics.volume import Volume, volume_under_surface
from caps.metrics.window import acf_window

Protocol = Literal["caps", "tsb-ad"]

DEFAULT_WINDOW = 100  # TSB-AD's, used when neither a window nor the series is given


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
    check_protocol(protocol)
    scored = Scored.of(scores, labels)
    window = chosen_window(window, series, len(scored))
    volume = volume_under_surface(scored, window)
    thresholds = _thresholds(scored, protocol)
    levels, count = levels_of(scored.scores, thresholds), len(thresholds)
    range_f1 = best_range_f1(levels, count, scored.events)
    return Evaluation(
        vus_pr=volume.pr,
        vus_roc=volume.roc,
        auc_pr=average_precision(scored),
        auc_roc=roc_area(scored),
        standard_f1=_standard_f1(scored, thresholds, protocol),
        f1_t=range_f1.published,
        f1_t_fixed=range_f1.fixed,
        affiliation_f=_affiliation(scored, levels, count, protocol),
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
    check_protocol(protocol)
    scored = Scored.of(scores, labels)
    return _standard_f1(scored, _thresholds(scored, protocol), protocol)


def range_f1(scores: ArrayLike, labels: ArrayLike, *, protocol: Protocol = "caps") -> RangeF1:
    """Return the best F1_T, as published and corrected.

    >>> range_f1([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0]).published
    1.0
    """
    check_protocol(protocol)
    scored = Scored.of(scores, labels)
    thresholds = _thresholds(scored, protocol)
    return best_range_f1(levels_of(scored.scores, thresholds), len(thresholds), scored.events)


def affiliation(scores: ArrayLike, labels: ArrayLike, *, protocol: Protocol = "caps") -> float:
    """Return the best Affiliation-F.

    >>> round(affiliation([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0]), 6)
    1.0
    """
    check_protocol(protocol)
    scored = Scored.of(scores, labels)
    thresholds = _thresholds(scored, protocol)
    return _affiliation(scored, levels_of(scored.scores, thresholds), len(thresholds), protocol)


def check_protocol(protocol: str) -> None:
    if protocol not in get_args(Protocol):
        raise InputError(f"there is no protocol {protocol!r}", "choose 'caps' or 'tsb-ad'")


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


def _thresholds(scored: Scored, protocol: Protocol) -> Floats:
    return quantile_thresholds(scored) if protocol == "caps" else linear_thresholds(scored)


def _standard_f1(scored: Scored, thresholds: Floats, protocol: Protocol) -> float:
    if protocol == "caps":
        return best_f1_over_thresholds(scored, thresholds)
    return best_f1_over_all_scores(scored)


def _affiliation(scored: Scored, levels: Integers, count: int, protocol: Protocol) -> float:
    # Constant scores are never above a threshold; TSB-AD then answers NaN, the paper's code 0.
    empty_scores = 0.0 if protocol == "caps" else math.nan
    return best_affiliation_f(levels, count, scored.events, empty_scores=empty_scores)
