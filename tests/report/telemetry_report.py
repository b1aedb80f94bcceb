"""A report on a month of telemetry; score, kinds and counterparts are made by hand."""

from itertools import pairwise

import numpy as np

from caps.report import Budget, Channel, EventCard, Panel, Report
from caps.series import lasting
from caps.simulate.telemetry import STEPS_PER_DAY, Telemetry, month_of_telemetry

THRESHOLD = 0.6
MERGE_GAP = 24
KINDS = {"latency spikes": "point", "night without rest": "periodic"}  # the others are trends
BUDGETS = {"4/day": 0.45, "1/day": 0.55, "2/week": THRESHOLD, "1/week": 0.75, "1/month": 0.9}
EXPECTED = {"4/day": 72.0, "1/day": 18.0, "2/week": 5.1, "1/week": 2.6, "1/month": 0.6}


def telemetry_report(seed: int = 0, **changes: object) -> Report:
    month = month_of_telemetry(seed)
    train = int(np.searchsorted(month.time, month.train_end))
    usual, unit = usual_week(month, train)
    distance = np.abs(month.values - usual) / unit
    scores = squashed(distance)
    events = tuple(
        event_card(month, usual, distance, scores, number, span)
        for number, span in enumerate(spans_above(scores, THRESHOLD, train), start=1)
    )
    facts: dict[str, object] = {
        "title": "telemetry.csv",
        "channels": tuple(map(Channel, month.metrics, month.values.T)),
        "scores": scores,
        "threshold": THRESHOLD,
        "events": events,
        "time": month.time,
        "clock": "UTC",
        "training_end": train,
        "budget": "2/week",
        "budgets": tuple(budget(name, scores, train) for name in BUDGETS),
        "notes": (
            "2 gaps in time: about 27 rows of 10 min left out",
            "channel 'queue': 60 of 4293 values missing (1.4 %)",
        ),
        "model": {"detector": "TCN, 2 members", "window": 256, "pairs": 1500},
        "run": {"command": "caps detect telemetry.csv --alarms 2/week", "seed": 0, "seconds": 41.2},
    }
    return Report(**{**facts, **changes})  # type: ignore[arg-type]


def usual_week(month: Telemetry, train: int) -> tuple[np.ndarray, np.ndarray]:
    """The median at the same time of day, apart for working days and weekends; and its scatter."""
    minutes = month.time.astype("datetime64[m]").astype(np.int64)
    slot = minutes // 10 % STEPS_PER_DAY
    weekend = (minutes // 1440 + 3) % 7 >= 5
    usual = np.empty_like(month.values)
    for free in (False, True):
        for each in range(STEPS_PER_DAY):
            rows = (slot == each) & (weekend == free)
            usual[rows] = np.nanmedian(month.values[:train][rows[:train]], axis=0)
    return usual, np.nanmedian(np.abs(month.values - usual)[:train], axis=0)


def squashed(distance: np.ndarray) -> np.ndarray:
    largest = np.where(np.isnan(distance), 0, distance).max(axis=1)
    smooth = np.convolve(largest, np.ones(7) / 7, mode="same")
    scores = 1 / (1 + np.exp(-(np.maximum(smooth, largest / 3) - 11) / 5))
    scores[np.isnan(distance).all(axis=1)] = np.nan
    return np.asarray(scores)


def spans_above(scores: np.ndarray, threshold: float, first: int) -> list[tuple[int, int]]:
    rows = np.flatnonzero(scores > threshold)
    rows = rows[rows >= first]
    breaks = [0, *np.flatnonzero(np.diff(rows) > MERGE_GAP) + 1, len(rows)]
    return [(int(rows[a]), int(rows[b - 1]) + 1) for a, b in pairwise(breaks) if a < b]


def budget(name: str, scores: np.ndarray, train: int) -> Budget:
    spans = spans_above(scores, BUDGETS[name], train)
    return Budget(name, BUDGETS[name], EXPECTED[name], len(spans), tuple(spans))


def event_card(
    month: Telemetry,
    usual: np.ndarray,
    distance: np.ndarray,
    scores: np.ndarray,
    number: int,
    span: tuple[int, int],
) -> EventCard:
    start, end = span
    weight = np.nanmean(distance[start:end], axis=0)
    shares = dict(zip(month.metrics, (weight / weight.sum()).tolist(), strict=True))
    carriers = sorted(shares, key=lambda name: -shares[name])[:2]
    columns = [month.metrics.index(name) for name in carriers]
    deviation = np.nanmean((month.values - usual)[start:end, columns[0]])
    first, last = max(0, start - 144), min(len(scores), end + 144)
    names = [
        each.name
        for each in month.incidents
        if each.start < month.time[end - 1] and month.time[start] < each.end
    ]
    kind = KINDS.get(names[0], "trend") if names else None
    spent = np.timedelta64(10 * (end - start), "m")
    return EventCard(
        number=number,
        start=start,
        end=end,
        peak=start + int(np.nanargmax(scores[start:end])),
        score=float(np.nanmax(scores[start:end])),
        p_value=float(10 ** -(2 + 2 * np.nanmax(scores[start:end]))),
        kind=kind,
        kind_scores={}
        if kind is None
        else {"point": 0.05, "periodic": 0.1, "trend": 0.15, kind: 0.8},
        direction="up" if deviation > 0 else "down",
        size=float(weight.max()),
        contributions=shares,
        reason=f"{carriers[0]} stays {'above' if deviation > 0 else 'below'} its usual value at "
        f"this time of day for {lasting(spent)}, and {carriers[1]} with it.",
        panel=Panel(
            first,
            tuple(carriers),
            month.values[first:last][:, columns],
            np.where(
                (np.arange(first, last) >= start)[:, None]
                & (np.arange(first, last) < end)[:, None],
                usual[first:last][:, columns],
                np.nan,
            ),
        ),
    )
