"""An analysis whose scores are made by hand: what follows from them needs no detector."""

import numpy as np

from caps.events.analysis import Analysis
from caps.scoring.calibration import calibrate
from caps.scoring.channels import LearnedChannel
from caps.scoring.config import ScoringConfig
from caps.scoring.fitted import Fitted, Scores
from caps.scoring.memory import Memory
from caps.scoring.spans import EventRules
from caps.series import Scaler, Series, read

TRAIN = 1000


def daily(rows: int, seed: int = 0) -> np.ndarray:
    """A wave of 48 rows with a little noise."""
    rng = np.random.default_rng(seed)
    return 5 + 2 * np.sin(np.arange(rows) * 2 * np.pi / 48) + 0.1 * rng.standard_normal(rows)


def analysed(
    data: object,
    loud: dict[str, slice],
    *,
    rules: EventRules | None = None,
    causal: bool = False,
    memory: bool = False,
    first: int = 0,
    odd: slice | None = None,
) -> Analysis:
    """Rows before TRAIN are training; each channel named is loud in its rows.

    The analysis is of the rows from `first` on. Of the loud rows only those `odd` by themselves
    are, the rest is their echo; without any given, all are.
    """
    series: Series = read(data)
    scaler = Scaler.fit(series.values[:TRAIN], clip=ScoringConfig().clip)
    scaled = scaler.transform(series.values)
    evidence = np.where(np.isfinite(scaled), 0.01, np.nan)
    for name, rows in loud.items():
        column = series.channels.index(name)
        evidence[rows, column] = np.where(np.isfinite(scaled[rows, column]), 8.0, np.nan)
    calibration = calibrate(np.random.default_rng(0).beta(1, 20, 2000))
    channels = tuple(
        LearnedChannel(
            name,
            TRAIN,
            scaled[:TRAIN, column].astype(np.float32),
            calibration,
            detector=None,
            memory=Memory.fit(scaled[:TRAIN, column], causal=causal) if memory else None,
            standardiser=None,
            level=None,
            bound=None,
        )
        for column, name in enumerate(series.channels)
    )
    for rows in loud.values():  # the middle is the peak
        evidence[(rows.start + rows.stop) // 2] *= 1.001
    known = np.isfinite(evidence)
    score = 1 - np.exp(-np.where(known, evidence, 0.0).max(axis=1))
    score = np.where(known.any(axis=1), score, np.nan)
    start = None if series.time is None else series.time[0]
    step = series.sampling.step
    fitted = Fitted(channels, scaler, calibration, "max", causal, step, start)
    rest, rows = series[first:], np.arange(len(series) - first)
    local = np.nan_to_num(evidence).max(axis=1)
    if odd is not None:
        local[np.r_[: odd.start, odd.stop : len(local)]] *= 0.1
    overlap = fitted.find_overlap(rest, scaled[first:])
    scores = Scores(score[first:], evidence[first:], overlap, local[first:])
    return Analysis(rest, rest, rows, fitted, scores, 0.9, rules or EventRules())
