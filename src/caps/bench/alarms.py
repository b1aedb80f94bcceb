"""Alarms of a method at one budget, and what they are worth to an operator.

CAPS raises its own. Every other method gets one and the same rule: fitted on the first half of the
training part, its scores of the second half set the threshold (`caps.metrics.budget_threshold`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.arrays import FloatArray
from caps.bench.datasets import LabelledSeries
from caps.metrics import (
    alarm_spans,
    budget_threshold,
    event_figures,
    nab_curve,
    nab_score,
    ucr_top_1,
)

if TYPE_CHECKING:
    from caps.baselines import Method

RATE = 1 / 1000  # false alarms a row that the budget of all methods allows
NAB = "NAB"  # the dataset whose labels are the windows of its own score
UCR = "UCR"  # the dataset whose own rule is the first place
Fit = Callable[["Method", LabelledSeries], FloatArray]  # fits a method and scores all rows
Spans = list[tuple[int, int]]


def operator_figures(
    dataset: str,
    method: "Method",
    series: LabelledSeries,
    scores: FloatArray,
    *,
    fresh: Callable[[], "Method"],
    fit: Fit,
) -> dict[str, Any]:
    """Figures at the budget in hindsight and live, with the reason where there are none."""

    def hindsight() -> dict[str, Any]:
        return figures_of(dataset, series, scores, _alarms(method, series, scores, fresh, fit))

    def live() -> dict[str, Any]:
        if not hasattr(method, "live"):
            return {"undefined": "no live mode"}
        twin = method.live()
        seen = fit(twin, series)
        return figures_of(dataset, series, seen, twin.alarms())

    return {"rate": RATE, "hindsight": _or_reason(hindsight), "live": _or_reason(live)}


def figures_of(
    dataset: str, series: LabelledSeries, scores: FloatArray, alarms: Spans
) -> dict[str, Any]:
    """What alarms, in rows of the series, are worth on its test part."""
    train, rows = series.train, len(series.labels)
    spans = [(max(start, train) - train, end - train) for start, end in alarms if end > train]
    labels = series.labels[train:]
    found: dict[str, Any] = event_figures(spans, labels, RATE).as_dict()
    found["top_1"] = ucr_top_1(scores[train:], labels)
    if dataset == NAB:
        flags = np.zeros(rows, dtype=np.bool_)
        for start, end in alarms:
            flags[start:end] = True
        curve = nab_curve(scores, series.labels, train)
        found["nab"] = {
            "raw": nab_score(flags, series.labels, train).raw,
            "windows": curve.windows,
            "thresholds": curve.thresholds.tolist(),
            "raw_at": curve.raw.tolist(),
        }
    return found


def _alarms(
    method: "Method",
    series: LabelledSeries,
    scores: FloatArray,
    fresh: Callable[[], "Method"],
    fit: Fit,
) -> Spans:
    if hasattr(method, "alarms"):
        spans: Spans = method.alarms()
        return spans
    half = series.train // 2
    part = replace(
        series,
        values=series.values[: series.train],
        labels=series.labels[: series.train],
        train=half,
    )
    threshold = budget_threshold(fit(fresh(), part)[half:], RATE)
    found = alarm_spans(scores[series.train :], threshold) + series.train
    return [(int(start), int(end)) for start, end in found]


def _or_reason(figures: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The figures, or why there are none: a result without them is a result still."""
    try:
        return figures()
    except Exception as error:  # whatever a method does with half of its training part
        return {"undefined": f"{type(error).__name__}: {error}"}
