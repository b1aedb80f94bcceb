"""Scores and events written straight from their definitions, one window and one row at a time."""

import math
from collections.abc import Callable

import numpy as np

from caps.scoring.spans import EventRules
from oracles.windows import naive_starts, reflected

Logits = Callable[[np.ndarray], np.ndarray]


def naive_bridge(window: np.ndarray) -> np.ndarray:
    known = [step for step, value in enumerate(window) if not np.isnan(value)]
    bridged = np.zeros(len(window))
    for step in range(len(window)):
        before = [k for k in known if k <= step]
        after = [k for k in known if k >= step]
        if before and after and before[-1] != after[0]:
            share = (step - before[-1]) / (after[0] - before[-1])
            bridged[step] = (1 - share) * window[before[-1]] + share * window[after[0]]
        elif before or after:
            bridged[step] = window[before[-1] if before else after[0]]
    return bridged


def naive_logits(logits: Logits, values: np.ndarray, size: int, stride: int) -> np.ndarray:
    """Hann-weighted mean over the windows at least half observed, or over all if there is none."""
    length = len(values)
    covering: list[list[tuple[float, float, bool]]] = [[] for _ in range(length)]
    for start in naive_starts(length, size, stride):
        window = np.array([values[reflected(start + step, length)] for step in range(size)])
        scored = logits(naive_bridge(window))
        dense = np.mean(~np.isnan(window)) >= 0.5
        for step in range(size):
            if start + step >= 0:
                weight = np.sin(np.pi * (step + 0.5) / size) ** 2
                covering[start + step].append((weight, scored[step], bool(dense)))
    result = np.full(length, np.nan)
    for row, windows in enumerate(covering):
        chosen = [entry for entry in windows if entry[2]] or windows
        if not np.isnan(values[row]):
            total = sum(weight for weight, _, _ in chosen)
            result[row] = sum(weight * logit for weight, logit, _ in chosen) / total
    return result


def naive_located(
    scores: np.ndarray,
    threshold: float,
    local: np.ndarray,
    rules: EventRules,
    *,
    causal: bool,
) -> list[tuple[int, int]]:
    """Events cut to the rows that are odd by themselves, with those that echo no other."""

    def together(rows: list[int]) -> list[list[int]]:
        surges: list[list[int]] = []
        for row in rows:
            if surges and row - surges[-1][-1] <= rules.merge_gap + 1:
                surges[-1].append(row)
            else:
                surges.append([row])
        return surges

    def odd(row: int, surge: list[int]) -> bool:
        among = [local[each] for each in surge if not causal or each <= row]
        strongest = max((each for each in among if not np.isnan(each)), default=-np.inf)
        if np.isnan(local[row]):
            return False  # whether it is odd will never be known
        edge = rules.live_edge if causal else rules.edge
        return bool(local[row] >= min(edge * max(strongest, 0.0), rules.clear))

    def begun(piece: list[int]) -> list[int]:
        fresh = [row for row in piece if local[row] >= rules.fresh]
        return [row for row in piece if not causal or row >= fresh[0]]

    surges = together(np.flatnonzero(scores > threshold).tolist())
    pieces = [
        begun(piece)
        for surge in surges
        for piece in together([row for row in surge if odd(row, surge)])
        if any(local[row] >= rules.fresh for row in piece)
    ]
    located = {row for piece in pieces for row in range(piece[0], piece[-1] + 1)}
    alone = [
        surge
        for surge in surges
        if not any(surge[0] - rules.echo <= row < surge[-1] + 1 + rules.echo for row in located)
    ]
    found = sorted(pieces if causal else pieces + alone)
    kept: list[tuple[int, int]] = []
    for piece in found:
        start, end = piece[0], piece[-1] + 1
        apart = not kept or start - kept[-1][1] >= rules.cool_down
        if end - start >= rules.minimum_length and apart:
            kept.append((start, end))
    return kept


def naive_spans(
    scores: np.ndarray, threshold: float, merge_gap: int, minimum_length: int, cool_down: int
) -> list[tuple[int, int]]:
    """Walk the rows once, then merge, drop and keep apart."""
    runs: list[list[int]] = []
    for row, score in enumerate(scores):
        if not score > threshold:
            continue
        if runs and row - runs[-1][1] <= merge_gap:
            runs[-1][1] = row + 1
        else:
            runs.append([row, row + 1])
    kept: list[tuple[int, int]] = []
    for start, end in runs:
        if end - start < minimum_length:
            continue
        if kept and start - kept[-1][1] < cool_down:
            continue
        kept.append((start, end))
    return kept


def levelled(evidence: list[float], depth: float) -> list[float]:
    """For every row the most that can be kept on a way to it from a row less `depth`."""

    def reached(row: int, start: int) -> float:
        way = evidence[min(row, start) : max(row, start) + 1]
        return min(evidence[start] - depth, *(each for each in way if not math.isnan(each)))

    known = [row for row, each in enumerate(evidence) if not math.isnan(each)]
    return [
        max(reached(row, start) for start in known) if row in known else math.nan
        for row in range(len(evidence))
    ]
