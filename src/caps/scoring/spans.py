"""Runs of scores above a threshold: merged, long enough and not too close."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, runs
from caps.configuration import Configuration, within

Flags = NDArray[np.bool_]
Spans = NDArray[np.intp]  # (event, 2): start and end, the end exclusive


@dataclass(frozen=True, slots=True)
class EventRules(Configuration):
    """What counts as one event; an alarm budget is calibrated for these rules."""

    # Rows below the threshold that do not end an event.
    merge_gap: int = within(8, 0, math.inf, "0 or more rows")
    # Rows, after merging; 1 keeps one-point spikes.
    minimum_length: int = within(1, 1, math.inf, "1 or more rows")
    # Rows after an event in which no other is raised.
    cool_down: int = within(0, 0, math.inf, "0 or more rows")
    # Of what is local to the strongest row: less is its echo, no part of it.
    edge: float = within(0.6, 0, 1, "a share between 0 and 1")
    # The same by the past alone, where nothing after a row tells it apart.
    live_edge: float = within(0.75, 0, 1, "a share between 0 and 1")
    # Local to a row: odd beside whatever else.
    clear: float = within(2.0, 0, math.inf, "0 or a positive number")
    # Local to one row at least: less in all of them is the echo of another.
    fresh: float = within(1.3, 0, math.inf, "0 or a positive number")
    # Rows beside an event in which others need such a row; farther none echoes.
    echo: int = within(256, 0, math.inf, "0 or more rows")


def odd_rows(
    scores: FloatArray,
    threshold: float,
    rules: EventRules,
    local: FloatArray | None = None,
    *,
    causal: bool = False,
) -> Flags:
    """The rows above the threshold, with `local` those of them that are odd by themselves.

    A surge of rows above the threshold without a fresh row echoes the events beside it. Seen from
    both sides it is an event of its own, as wide as it is, where there are none.
    """
    above = scores > threshold  # not-a-number is never above
    if local is None:
        return above
    odd, local = np.zeros_like(above), np.where(above & ~np.isnan(local), local, -np.inf)
    surges = [slice(*surge) for surge in runs(above, rules.merge_gap).tolist()]
    for surge in surges:
        odd[surge] = _located(local[surge], rules, causal=causal)
    if not causal:
        events = runs(odd, rules.merge_gap)
        for surge in surges:
            near = (events[:, 0] < surge.stop + rules.echo) & (
                events[:, 1] > surge.start - rules.echo
            )
            if not near.any():
                odd[surge] = above[surge]
    return odd


def _located(local: FloatArray, rules: EventRules, *, causal: bool) -> Flags:
    """Where in a surge rows are odd by themselves; nowhere if none is fresh.

    Rows far less odd than the strongest are its echo. `causal`: than the strongest so far, and an
    event begins with a fresh row, as nothing was odd enough to say so before.
    """
    peak = np.maximum.accumulate(local) if causal else np.full(len(local), local.max())
    edge = rules.live_edge if causal else rules.edge
    wanted = np.minimum(edge * np.maximum(peak, 0.0), rules.clear)
    odd = local >= wanted
    fresh = local >= rules.fresh
    for start, end in runs(odd, rules.merge_gap).tolist():
        if not fresh[start:end].any():
            odd[start:end] = False
        elif causal:
            odd[start : start + int(fresh[start:end].argmax())] = False
    return np.asarray(odd)


def event_spans(
    scores: FloatArray,
    threshold: float,
    rules: EventRules,
    local: FloatArray | None = None,
    *,
    causal: bool = False,
) -> Spans:
    """Start and end of every event: merge, then drop the short ones, then keep the distance.

    With what is `local` to each row, an event is cut to the rows that are odd by themselves, and
    becomes several where they lie apart.
    """
    spans = runs(odd_rows(scores, threshold, rules, local, causal=causal), rules.merge_gap)
    spans = spans[spans[:, 1] - spans[:, 0] >= rules.minimum_length]
    return _kept_apart(spans, rules.cool_down) if rules.cool_down > rules.merge_gap else spans


def _kept_apart(spans: Spans, cool_down: int) -> Spans:
    """Drop events that begin within the cool-down of the last one kept."""
    kept: list[int] = []
    for number, start in enumerate(spans[:, 0]):
        if not kept or start - spans[kept[-1], 1] >= cool_down:
            kept.append(number)
    return spans[kept]
