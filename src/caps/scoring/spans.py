"""Runs of scores above a threshold: merged, long enough and not too close."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.configuration import Configuration
from caps.errors import InputError

Spans = NDArray[np.intp]  # (event, 2): start and end, the end exclusive


@dataclass(frozen=True, slots=True)
class EventRules(Configuration):
    """What counts as one event; an alarm budget is calibrated for these rules."""

    WHAT: ClassVar[str] = "event rules"

    merge_gap: int = 8  # rows below the threshold that do not end an event
    minimum_length: int = 1  # rows, after merging; 1 keeps one-point spikes
    cool_down: int = 0  # rows after an event in which no other is raised
    edge: float = 0.6  # of what is local to the strongest row: less is its echo, no part of it
    clear: float = 1.5  # local to a row: odd beside whatever else
    fresh: float = 1.1  # local to one row at least: less in all of them is the echo of another
    echo: int = 256  # rows beside an event in which others need such a row; farther none echoes

    def __post_init__(self) -> None:
        if not isinstance(self.edge, int | float) or not 0 <= self.edge <= 1:
            raise InputError(f"edge is {self.edge!r}", "give a share between 0 and 1")
        for name in ("clear", "fresh"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value >= 0:
                raise InputError(f"{name} is {value!r}", "give 0 or a positive number")
        least = {"merge_gap": 0, "minimum_length": 1, "cool_down": 0, "echo": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < bound:
                raise InputError(f"{name} is {value!r}", f"give {bound} or more rows")


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
    above = scores > threshold  # not-a-number is never above
    spans = _runs(above, rules.merge_gap)
    if local is not None:
        local = np.where(above & ~np.isnan(local), local, -np.inf)
        spans = _located(spans, local, rules, causal=causal)
    spans = spans[spans[:, 1] - spans[:, 0] >= rules.minimum_length]
    return _kept_apart(spans, rules.cool_down) if rules.cool_down > rules.merge_gap else spans


def _located(surges: Spans, local: FloatArray, rules: EventRules, *, causal: bool) -> Spans:
    """The events of surges of rows above the threshold: where rows are odd by themselves.

    A surge without a fresh row echoes the events beside it. Seen from both sides it is an event
    of its own, as wide as it is, where there are none.
    """
    cut = [_cut(start, local[start:end], rules, causal=causal) for start, end in surges.tolist()]
    fresh = np.concatenate([np.empty((0, 2), dtype=np.intp), *cut])
    if causal:
        return fresh
    for number, (start, end) in enumerate(surges.tolist()):
        beside = (fresh[:, 0] < end + rules.echo) & (fresh[:, 1] > start - rules.echo)
        if not beside.any():
            cut[number] = surges[number : number + 1]
    return np.concatenate([fresh[:0], *cut])


def _cut(first: int, local: FloatArray, rules: EventRules, *, causal: bool) -> Spans:
    """The events of one surge, which begins at row `first`; none where no row is fresh.

    Rows far less odd than the strongest are its echo; `causal`: than the strongest so far.
    """
    peak = np.maximum.accumulate(local) if causal else np.full(len(local), local.max())
    odd = (local >= np.minimum(rules.edge * peak, rules.clear)) | ((peak <= 0) & (local > -np.inf))
    runs = _runs(odd, rules.merge_gap)
    fresh = [bool(local[start:end].max() >= rules.fresh) for start, end in runs.tolist()]
    return runs[np.array(fresh, dtype=bool)] + first


def _runs(above: NDArray[np.bool_], merge_gap: int) -> Spans:
    """Start and end of the runs of rows, those merged that lie near each other."""
    rows = np.flatnonzero(above)
    if len(rows) == 0:
        return np.empty((0, 2), dtype=np.intp)
    breaks = np.flatnonzero(np.diff(rows) > merge_gap + 1)
    starts = rows[np.concatenate([[0], breaks + 1])]
    ends = rows[np.concatenate([breaks, [len(rows) - 1]])] + 1
    return np.stack([starts, ends], axis=1)


def _kept_apart(spans: Spans, cool_down: int) -> Spans:
    """Drop events that begin within the cool-down of the last one kept."""
    kept: list[int] = []
    for number, start in enumerate(spans[:, 0]):
        if not kept or start - spans[kept[-1], 1] >= cool_down:
            kept.append(number)
    return spans[kept]
