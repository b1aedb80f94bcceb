"""Means over series and over datasets, with bootstrap intervals."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from caps.arrays import FloatArray, mean_of_known
from caps.bench.rendering import Number, figure

DRAWS, COVERAGE = 2000, 95  # of the bootstrap, in percent
INTERVALS = (
    f"In brackets: {COVERAGE} % bootstrap interval over series ({DRAWS:,} draws; within datasets "
    "for the mean over datasets, where one of a single series adds no width). "
)

Resample = Callable[[FloatArray, "pd.Series[str]"], FloatArray]  # the mean, then those drawn


def over_series(values: FloatArray, datasets: "pd.Series[str]") -> FloatArray:
    """The mean, then those of resampled series."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(values), size=(DRAWS, len(values)))
    return mean_of_known(values[np.vstack([np.arange(len(values)), drawn])])


def over_datasets(values: FloatArray, datasets: "pd.Series[str]") -> FloatArray:
    """The mean of the means of datasets, then those of series resampled within datasets."""
    own = [values[(datasets == name).to_numpy()] for name in sorted(set(datasets))]
    return mean_of_known(np.stack([over_series(each, datasets) for each in own], axis=1))


def mean_figure(
    values: FloatArray, datasets: "pd.Series[str]", resample: Resample, digits: int = 2
) -> Number:
    """The mean of values, one for each series, with its interval; undefined ones are left out."""
    means = resample(values, datasets)
    defined = means[1:][np.isfinite(means[1:])]
    if not len(defined):
        return figure(float("nan"))
    return figure(float(means[0]), digits, interval=interval(defined))


def interval(drawn: FloatArray) -> tuple[float, float]:
    """Holds the middle `COVERAGE` percent of what was drawn."""
    low, high = np.percentile(drawn, [(100 - COVERAGE) / 2, (100 + COVERAGE) / 2])
    return float(low), float(high)
