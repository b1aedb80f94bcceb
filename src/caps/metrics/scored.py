"""Checked input of every metric: one score and one 0/1 label for each point."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caps.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Events:
    """Runs of anomalous points as half-open index ranges, in order."""

    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, labels: Flags) -> "Events":
        edges = np.flatnonzero(np.diff(labels.view(np.int8), prepend=0, append=0))
        return cls(edges[0::2], edges[1::2])

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        return self.ends - self.starts


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores and labels with what several metrics share: events and one sort of the scores."""

    scores: Floats
    labels: Flags
    events: Events
    ascending: Floats  # all scores, sorted
    positives: Floats  # the scores of anomalous points, sorted

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike) -> "Scored":
        values = checked_scores(scores)
        flags = checked_labels(labels)
        if len(values) != len(flags):
            raise InputError(
                f"{len(values)} scores do not match {len(flags)} labels",
                "give one score and one label for each point",
            )
        return cls(values, flags, Events.of(flags), np.sort(values), np.sort(values[flags]))

    def __len__(self) -> int:
        return len(self.scores)


def checked_scores(scores: ArrayLike) -> Floats:
    """Return the scores as finite float64 or raise `InputError`."""
    values = _vector(scores, "scores")
    finite = np.isfinite(values)
    if not finite.all():
        position = int(np.argmin(finite))
        raise InputError(
            f"{int(np.sum(~finite))} of {len(values)} scores are missing or infinite "
            f"(the first at position {position})",
            "score every point, or decide what a missing score means, e.g. "
            "np.nan_to_num(scores, nan=0.0)",
        )
    with np.errstate(over="ignore"):
        value_range = values.max() - values.min()
    if not np.isfinite(value_range):
        raise InputError("the scores span more than a float can hold", "scale them to [0, 1]")
    return values


def checked_labels(labels: ArrayLike) -> Flags:
    """Return the labels as booleans or raise `InputError`."""
    values = _vector(labels, "labels")
    flags = np.equal(values, 1)
    other = values[~(flags | (values == 0))]
    if len(other):
        raise InputError(
            f"labels must be 0 or 1, found {', '.join(map(str, np.unique(other)[:3]))}",
            "mark normal points 0 and anomalous points 1",
        )
    return flags


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """As numpy, not-a-number where masked, or raise `InputError`."""
    try:
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
        return np.asarray(values)
    except Exception as error:  # ragged lists, or the reasons of another library
        raise InputError(
            f"the {name} cannot be turned into an array ({error})", "give a flat array of numbers"
        ) from None


def _vector(values: ArrayLike, name: str) -> Floats:
    array = as_array(values, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(
            f"{name} have shape {array.shape}", "give a one-dimensional array, one value per point"
        )
    if len(array) == 0:
        raise InputError(f"there are no {name}", "give one value per point")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} are of type {array.dtype}, not numbers", "convert them to floats")
    return array.astype(np.float64, copy=False)
