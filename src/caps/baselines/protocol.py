"""What every compared method can do, and how its input is checked."""

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.errors import InputError
from caps.series import bridge


@runtime_checkable
class Method(Protocol):
    """Learns from a training part and scores any series with the same channels."""

    def fit(self, train: FloatArray) -> Self:
        """Learn from a training part (time, channel); not-a-number marks what is missing."""
        ...

    def score(self, series: FloatArray) -> FloatArray:
        """One score for every row of a series (time, channel); higher is more anomalous."""
        ...


@runtime_checkable
class LabelledMethod(Method, Protocol):
    """A method that learns from labels; its `fit` refuses and names `fit_labelled`."""

    def fit_labelled(self, train: FloatArray, labels: NDArray[np.bool_]) -> Self:
        """Learn from a training part (time, channel) with a label for every row."""
        ...


def checked(values: FloatArray, channels: int | None = None) -> FloatArray:
    """The values as float64 (time, channel); `channels` is the number seen in training."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(f"values of shape {values.shape}", "give them as (time, channel)")
    if len(values) == 0:
        raise InputError("an empty series", "give at least one row")
    if channels is not None and values.shape[1] != channels:
        raise InputError(
            f"{values.shape[1]} channels for a method fitted on {channels}",
            "score the channels that the method was fitted on",
        )
    return values


def bridged(values: FloatArray) -> FloatArray:
    """Every gap replaced by the line between its neighbours; a channel never seen is zero."""
    return np.ascontiguousarray(bridge(values.T).T)


def scorable(values: FloatArray, channels: int | None) -> FloatArray:
    """What a method that was fitted on so many channels scores, without gaps."""
    if channels is None:
        raise not_fitted()
    return bridged(checked(values, channels))


def not_fitted() -> InputError:
    """The error of a method that is asked for scores first."""
    return InputError("the method is not fitted", "call fit first")
