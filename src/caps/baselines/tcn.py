"""What the TCN references share with CAPS: scaling, windows and backbone, one network a channel."""

from abc import ABC, abstractmethod
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.baselines.protocol import bridged, checked, not_fitted
from caps.errors import InputError
from caps.network import Detector, DetectorConfig, score_logits
from caps.recover import References, reference_windows
from caps.series import Scaler

Learned = TypeVar("Learned")


class TcnReference(ABC, Generic[Learned]):
    """A method with CAPS's windows; the score of a row is the largest of its channels.

    A channel that is constant or hardly observed in training is ignored; where all are, every
    score is 0.
    """

    def __init__(self, seed: int, config: DetectorConfig | None = None) -> None:
        self.seed = seed
        self.config = config or DetectorConfig()
        self.scaler: Scaler | None = None

    def fit(self, train: FloatArray) -> Self:
        """Learn from the training part, one network for each channel."""
        train = _finite(checked(train))
        self.scaler = Scaler.fit(train)
        scaled = self.scaler.transform(train)
        self.learned: list[Learned | None] = []
        for column in range(train.shape[1]):
            references = self.references(scaled[:, column], column)
            self.learned.append(None if references is None else self.learn(references, column))
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """The largest score of any channel."""
        if self.scaler is None:
            raise not_fitted()
        series = checked(series, len(self.learned))
        scaled = bridged(self.scaler.transform(_finite(series)))
        scores = [
            self.judge(learned, scaled[:, column])
            for column, learned in enumerate(self.learned)
            if learned is not None
        ]
        return np.max(scores, axis=0) if scores else np.zeros(len(series))

    @abstractmethod
    def learn(self, references: References, column: int) -> Learned:
        """Train on the windows of the channel in this column."""

    @abstractmethod
    def judge(self, learned: Learned, values: FloatArray) -> FloatArray:
        """Score every row of a scaled channel (time,) without gaps."""

    def references(self, values: FloatArray, column: int) -> References | None:
        """The windows of a scaled channel to learn from, if it has any."""
        seen = values[np.isfinite(values)]
        if len(seen) == 0 or seen.min() == seen.max():
            return None
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(column,)))
        try:
            return reference_windows(values, size=self.config.window, rng=rng)
        except InputError:  # observed for less than half of every window
            return None


class DetectorReference(TcnReference[Detector]):
    """A method whose networks are CAPS's detector."""

    def judge(self, learned: Detector, values: FloatArray) -> FloatArray:
        """The detector's logits."""
        return score_logits(learned, values)


def checked_labels(labels: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    """The labels as booleans, one a row."""
    labels = np.asarray(labels)
    if labels.shape != (rows,):
        raise InputError(f"labels of shape {labels.shape} for {rows} rows", "give one for each row")
    if not np.isin(labels, (0, 1)).all():
        raise InputError("a label is neither 0 nor 1", "mark anomalous rows by 1, others by 0")
    return labels.astype(bool)


def _finite(values: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(values), values, np.nan))
