"""Figures of alarms and NAB's score, row by row from their definitions."""

import math
from itertools import groupby

import numpy as np


def runs(flags) -> list[set[int]]:
    """The rows of every run of ones."""
    rows = [index for index, flag in enumerate(flags) if flag]
    groups = groupby(enumerate(rows), key=lambda pair: pair[1] - pair[0])
    return [{row for _, row in group} for _, group in groups]


def merged(scores, threshold: float, gap: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for row, score in enumerate(scores):
        if score > threshold:
            if spans and row - spans[-1][1] <= gap:
                spans[-1] = (spans[-1][0], row + 1)
            else:
                spans.append((row, row + 1))
    return spans


def figures(alarms, labels, rate: float) -> dict[str, float | None]:
    events = runs(labels)
    spans = [set(range(*alarm)) for alarm in alarms]
    covered = set().union(*spans)
    found = [event for event in events if event & covered]
    best = {id(e): max([len(e & s) / len(e | s) for s in spans], default=0.0) for e in events}
    delays = [min(event & covered) - min(event) for event in found]
    normal = sum(1 for label in labels if not label)
    false = sum(1 for span in spans if not any(span & event for event in events))
    shares = [delay / len(event) for delay, event in zip(delays, found, strict=True)]

    def mean(values):
        return sum(values) / len(values) if values else None

    return {
        "events": len(events),
        "found": len(found),
        "recall": len(found) / len(events) if events else None,
        "any_found": float(bool(found)) if events else None,
        "alarms": len(spans),
        "false_alarms": false,
        "allowed": rate * normal,
        "over_budget": false / (rate * normal) if normal else None,
        "iou": mean([best[id(event)] for event in events]),
        "iou_found": mean([best[id(event)] for event in found]),
        "delay": float(np.median(delays)) if delays else None,
        "delay_share": float(np.median(shares)) if shares else None,
        "flagged": len(covered) / len(labels),
        "flagged_over_anomalous": len(covered) / sum(labels) if events else None,
    }


def nab(flags, labels, probationary: int) -> float:
    """NAB's sweep at one threshold: a loop over rows with the window that is open."""

    def sigmoid(position: float) -> float:
        return -1.0 if position > 3.0 else 2 / (1 + math.exp(5 * position)) - 1

    windows = [(min(run), max(run)) for run in runs(labels)]
    parts: dict[tuple[int, int], float] = {}
    false = 0.0
    before = None
    for row, flag in enumerate(flags):
        inside = next((each for each in windows if each[0] <= row <= each[1]), None)
        if inside is not None:
            width = inside[1] - inside[0] + 1
            value = sigmoid(-(inside[1] - row + 1) / width) / sigmoid(-1.0)
            if row >= probationary:
                parts.setdefault(inside, -1.0)
                if flag:
                    parts[inside] = max(parts[inside], value)
            if row == inside[1]:
                before = (row, width)
            continue
        value = -1.0
        if before is not None and before[1] > 1:
            value = sigmoid((row - before[0]) / (before[1] - 1))
        if flag and row >= probationary:
            false += 0.11 * value
    return sum(parts.values()) + false
