"""Alarms from scores without labels, at a budget, and what an operator gets from them."""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caps.arrays import runs
from caps.errors import InputError
from caps.metrics.scored import Events, Flags, Floats, Integers, checked_labels, checked_scores

MERGE_GAP = 8  # rows below the threshold that do not end an alarm, as `caps.scoring.EventRules`
LEVELS = 200  # at which alarms are counted
TAIL = 10  # alarms above the level from which on rates are extrapolated
NEAR = 100  # rows around a labelled event in which the UCR archive's rule still counts a hit


@dataclass(frozen=True, slots=True)
class EventFigures:
    """Alarms beside labelled events; NaN means undefined, never bad."""

    events: int  # labelled
    found: int  # labelled events that an alarm touches
    recall: float  # found / events
    any_found: float  # 1 if at least one labelled event is found, else 0
    alarms: int
    false_alarms: int  # alarms that touch no labelled event
    allowed: float  # false alarms by the budget: normal rows times its rate
    over_budget: float  # false_alarms / allowed
    iou: float  # mean over labelled events of the best IoU with an alarm, 0 for a missed one
    iou_found: float  # the same over found events only
    delay: float  # rows until the first alarm row in an event, median over found events
    delay_share: float  # the same as a share of the event's length
    flagged: float  # share of rows in alarms
    flagged_over_anomalous: float  # that over the share of anomalous rows

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the figures by name, None where undefined."""
        values = asdict(self)
        return {name: None if math.isnan(value) else value for name, value in values.items()}


def alarm_spans(scores: ArrayLike, threshold: float, merge_gap: int = MERGE_GAP) -> Integers:
    """Start and end (exclusive) of every alarm: runs of rows above the threshold, merged.

    >>> alarm_spans([0, 5, 0, 5, 0, 0, 0, 5], 1, merge_gap=2)
    array([[1, 4],
           [7, 8]])
    """
    return runs(checked_scores(scores) > threshold, merge_gap)


def budget_threshold(scores: ArrayLike, rate: float, merge_gap: int = MERGE_GAP) -> float:
    """The threshold that normal data pass by at most `rate` alarms a row, from their `scores`.

    Counted where the budget allows ten alarms or more among these rows; below, the peaks of the ten
    highest alarms are continued by an exponential tail. Constant scores raise no alarm at all.

    >>> normal = np.random.default_rng(0).standard_normal(20_000)
    >>> bool(3 < budget_threshold(normal, 1 / 1000) < 3.4 < budget_threshold(normal, 1 / 10_000))
    True
    """
    if not 0 < rate < 1:
        raise InputError(f"a budget of {rate:g} alarms a row", "give one above 0 and below 1")
    values = checked_scores(scores)
    size = len(values)
    levels = np.unique(np.quantile(values, 1 - np.geomspace(1, 1 / size, LEVELS)))
    counts = np.array([len(alarm_spans(values, level, merge_gap)) for level in levels])
    worst = np.maximum.accumulate(counts[::-1])[::-1]  # a budget holds at higher thresholds too
    allowed = rate * size
    if allowed >= TAIL:
        return float(levels[np.argmax(worst <= allowed)])
    tail = float(levels[np.flatnonzero(worst >= min(TAIL, worst[0]))[-1]])
    excess = _peaks(values, tail, merge_gap) - tail
    if len(excess) <= allowed:
        return tail
    return tail + float(excess.mean() * np.log(len(excess) / allowed))


def event_figures(alarms: ArrayLike, labels: ArrayLike, rate: float) -> EventFigures:
    """Compare alarms, as rows (start, end) with the end exclusive, with labels, at a budget.

    Two events touch if they share a row. `rate` is what the budget allows, in alarms a row.

    >>> labels = [0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    >>> figures = event_figures([(3, 6), (8, 9)], labels, rate=1 / 6)
    >>> figures.recall, figures.false_alarms, figures.over_budget, figures.iou, figures.delay
    (1.0, 1, 1.0, 0.75, 1.0)
    """
    flags = checked_labels(labels)
    starts, ends = _checked_spans(alarms, len(flags)).T
    events = Events.of(flags)
    # (labelled event, alarm): rows that both hold, and the first of them
    first = np.maximum(events.starts[:, None], starts)
    shared = np.maximum(np.minimum(events.ends[:, None], ends) - first, 0)
    found = shared.any(axis=1)
    iou = shared / (events.lengths[:, None] + (ends - starts) - shared)
    best = iou.max(axis=1, initial=0.0)
    beginning = np.where(shared > 0, first, len(flags)).min(axis=1, initial=len(flags))
    delay = (beginning - events.starts)[found]
    false_alarms = int((~shared.any(axis=0)).sum())
    allowed = rate * float((~flags).sum())
    covered = np.zeros(len(flags), dtype=np.bool_)
    for start, end in zip(starts, ends, strict=True):
        covered[start:end] = True
    flagged = float(covered.mean())
    return EventFigures(
        events=len(events),
        found=int(found.sum()),
        recall=_mean(found),
        any_found=float(found.any()) if len(events) else math.nan,
        alarms=len(starts),
        false_alarms=false_alarms,
        allowed=allowed,
        over_budget=false_alarms / allowed if allowed else math.nan,
        iou=_mean(best),
        iou_found=_mean(best[found]),
        delay=_median(delay),
        delay_share=_median(delay / events.lengths[found]),
        flagged=flagged,
        flagged_over_anomalous=flagged / float(flags.mean()) if len(events) else math.nan,
    )


def ucr_top_1(scores: ArrayLike, labels: ArrayLike) -> bool | None:
    """Whether the highest score lies at a labelled event, by the rule of the UCR archive.

    At: in the event, or no farther from it than its own length or 100 rows, whichever is more. Of
    equal scores the first counts. None without a labelled event.

    >>> ucr_top_1(np.arange(1000.0), np.arange(1000) // 10 == 89), ucr_top_1([1.0], [0])
    (True, None)
    """
    events = Events.of(checked_labels(labels))
    if not len(events):
        return None
    top = int(np.argmax(np.asarray(scores, dtype=np.float64)))
    near = np.maximum(events.lengths, NEAR)
    return bool(((events.starts - near <= top) & (top < events.ends + near)).any())


def hit_rate(ranking: Sequence[str], causes: Collection[str], share: float = 1.0) -> float:
    """HitRate@P%: how many of the causes are among the first of a ranking.

    As many channels are looked at as there are causes, times `share` and rounded down: 1.0 is
    HitRate@100%, 1.5 HitRate@150%.

    >>> hit_rate(["cpu", "disk", "load"], {"cpu", "load"})
    0.5
    >>> hit_rate(["cpu", "disk", "load"], {"cpu", "load"}, share=1.5)
    1.0
    """
    causes = set(causes)
    if not causes:
        raise InputError("an event without causes", "leave it out, or name the channels")
    if share < 1:
        raise InputError(f"a share of {share}", "give 1 or more")
    return len(causes.intersection(ranking[: int(share * len(causes))])) / len(causes)


def _checked_spans(alarms: ArrayLike, rows: int) -> Integers:
    spans = np.asarray(alarms, dtype=np.int64).reshape(-1, 2)
    odd = (spans[:, 0] < 0) | (spans[:, 1] > rows) | (spans[:, 0] >= spans[:, 1])
    if odd.any():
        raise InputError(
            f"an alarm of the rows {spans[odd][0].tolist()} among {rows}",
            "give start and end (exclusive) of each within the labelled rows",
        )
    return spans


def _mean(values: Floats | Flags) -> float:
    return float(values.mean()) if len(values) else math.nan


def _median(values: Any) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _peaks(scores: Floats, threshold: float, merge_gap: int) -> Floats:
    spans = alarm_spans(scores, threshold, merge_gap)
    return np.array([scores[start:end].max() for start, end in spans])
