"""Which scored rows are rows of training, wherever they stand, so that none matches itself.

Time stamps say it where training and the scored rows both have them and the values agree. Else the
values alone do: runs of rows that occur once in training and come back unchanged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray, Rows
from caps.neighbours.config import OverlapConfig

DEFAULT = OverlapConfig()


class Span(NamedTuple):
    """Scored rows [start, stop) that are rows of training, the first of them row `training`."""

    start: int
    stop: int
    training: int


@dataclass(frozen=True, slots=True)
class TrainingOverlap:
    """The spans of the scored rows that are training rows; none for rows all new."""

    spans: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans)

    def touching(self, starts: Rows, length: int) -> Iterator[tuple[Rows, Rows]]:
        """For each span: which of the subsequences touch it, and the training row each begins at.

        A subsequence that reaches beyond the span begins where it would if training went on.
        """
        for span in self.spans:
            index = np.flatnonzero((starts < span.stop) & (starts + length > span.start))
            yield index, starts[index] - span.start + span.training


def training_rows(start: int, rows: int) -> TrainingOverlap:
    """So many rows of the training part itself, from `start` on."""
    return TrainingOverlap((Span(0, rows, start),))


def overlap_at(
    training: FloatArray,
    values: FloatArray,
    offset: int,
    first: int = 0,
    config: OverlapConfig = DEFAULT,
) -> TrainingOverlap:
    """The overlap if row 0 of `values` is row `offset` of training, where values agree.

    `training` (time, channel) are the rows of the training part from `first` on.
    """
    start, stop = max(0, first - offset), min(len(values), first + len(training) - offset)
    if start >= stop:
        return TrainingOverlap()
    then = training[start + offset - first : stop + offset - first]
    here = values[start:stop]
    known = np.isfinite(then) & np.isfinite(here)
    agree = np.abs(then - here) <= config.equal
    if not known.any() or agree[known].mean() < config.agreeing:
        return TrainingOverlap()
    return TrainingOverlap((Span(start, stop, start + offset),))


def overlap_by_values(
    training: FloatArray, values: FloatArray, first: int = 0, config: OverlapConfig = DEFAULT
) -> TrainingOverlap:
    """The overlap by the values alone (time, channel); runs that repeat in training tell nothing.

    >>> rows = np.random.default_rng(0).standard_normal((300, 1))
    >>> overlap_by_values(rows, np.concatenate([rows[50:150] + 9, rows[100:260]])).spans
    (Span(start=100, stop=260, training=100),)
    """
    if min(len(training), len(values)) < config.run + config.fewest_runs:
        return TrainingOverlap()
    there, there_known = _run_keys(training, config)
    here, here_known = _run_keys(values, config)
    keys, index, count = np.unique(there, return_index=True, return_counts=True)
    once = (count == 1) & there_known[index]
    keys, index = keys[once], index[once]
    if len(keys) == 0:
        return TrainingOverlap()
    nearest = np.minimum(np.searchsorted(keys, here), len(keys) - 1)
    rows = np.flatnonzero((keys[nearest] == here) & here_known)
    offsets = index[nearest[rows]] - rows
    order = np.argsort(offsets, kind="stable")  # rows of one offset together, still rising
    rows, offsets = rows[order], offsets[order]
    apart = (np.diff(offsets) != 0) | (np.diff(rows) > config.longest_break)
    edges = np.concatenate([[0], np.flatnonzero(apart) + 1, [len(rows)]])
    spans = []
    long_enough = np.diff(edges) >= config.fewest_runs
    for begin, end in np.stack([edges[:-1], edges[1:]], axis=1)[long_enough]:
        start, stop = int(rows[begin]), int(rows[end - 1]) + config.run
        spans.append(Span(start, stop, start + int(offsets[begin]) + first))
    return TrainingOverlap(tuple(sorted(spans)))


def _run_keys(
    values: FloatArray, config: OverlapConfig
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A key for each run of rows, equal for equal values, and whether the run varies."""
    rounded = np.where(np.isfinite(values), np.rint(values / config.equal), -(2**40))
    rounded = rounded.astype(np.int64)
    multipliers = np.random.default_rng(0).integers(
        1, 2**63, values.shape[1], dtype=np.uint64
    )  # any odd numbers do, always the same
    with np.errstate(over="ignore"):
        row = (rounded.astype(np.uint64) * (multipliers | np.uint64(1))).sum(axis=1)
        count = len(row) - config.run + 1
        key = np.zeros(count, dtype=np.uint64)
        for k in range(config.run):
            key = key * np.uint64(0x9E3779B97F4A7C15) + row[k : k + count]
    varies = np.concatenate([[0], np.cumsum(np.diff(row) != 0)])
    return key, varies[config.run - 1 :] - varies[:count] > 0
