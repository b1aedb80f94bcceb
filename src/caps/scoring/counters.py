"""Counters: channels that only rise, but for restarts from zero, and say something by their rate.

Requests served, bytes sent, errors so far: the value of a counter is new in every row, and what
is odd about it is how fast it rises.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from caps.arrays import FloatArray
from caps.scoring.config import CounterConfig
from caps.series import Series

DEFAULT = CounterConfig()


def is_counter(values: FloatArray, config: CounterConfig = DEFAULT) -> bool:
    """Whether training rows of a channel rise like a counter; not-a-number for missing.

    >>> rising = np.cumsum(np.arange(200.0) % 7)
    >>> is_counter(rising), is_counter(np.sin(rising)), is_counter(-rising)
    (True, False, False)
    """
    known = values[np.isfinite(values)]
    if len(known) <= config.fewest_rises or known.min() < 0:
        return False
    steps = np.diff(known)
    rises, falls = steps[steps > 0], np.flatnonzero(steps < 0)
    if len(rises) < max(config.fewest_rises, config.rising * len(steps)):
        return False
    if rises.sum() < config.span * rises.max():
        return False
    few = len(falls) <= 1 + config.falls * len(known)
    return few and bool(np.all(known[falls + 1] <= config.left_over * known[falls]))


def find_counters(
    train: Series, known: Sequence[tuple[int, int]], config: CounterConfig
) -> tuple[str, ...]:
    """The counters among the channels of a training part; `known` anomalies are left out."""
    clean = train.values_without(known)
    return tuple(
        name for column, name in enumerate(train.channels) if is_counter(clean[:, column], config)
    )


def rates(values: FloatArray) -> FloatArray:
    """How much a counter rose in each row; not-a-number where it or the row before is missing.

    After a restart that is what it has counted since zero.

    >>> rates(np.array([5.0, 7.0, 7.0, 1.0, np.nan, 4.0])).tolist()
    [nan, 2.0, 0.0, 1.0, nan, nan]
    """
    steps = np.diff(values, axis=0, prepend=np.full_like(values[:1], np.nan))
    return np.where(steps < 0, values, steps)


def with_rates(series: Series, counters: Sequence[str]) -> Series:
    """The series with rates in place of its counters; on a regular grid."""
    columns = [column for column, name in enumerate(series.channels) if name in counters]
    if not columns:
        return series
    values = series.values.copy()
    values[:, columns] = rates(values[:, columns])
    return replace(series, values=values, observed=np.isfinite(values))
