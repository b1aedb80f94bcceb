"""The bank of embeddings that PaAno compares with, and the amplitudes that PAI adds."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from caps.arrays import FloatArray

MOST = 10_000  # embeddings to make a bank of; a tenth of more would take minutes to cluster
SHARE, FEWEST = 0.1, 500  # of the embeddings kept, and at least so many
NEAREST = 3  # members of the bank whose mean distance counts
CHUNK = 4096  # embeddings compared at once

Metric = Literal["cosine", "euclidean"]


@dataclass(frozen=True, slots=True)
class PatchBank:
    """Embeddings (member, width) to compare with: unit vectors for the cosine distance."""

    members: FloatArray
    metric: Metric

    @classmethod
    def fill(cls, embeddings: FloatArray, metric: Metric, seed: int) -> Self:
        """A tenth of the embeddings by k-means.

        As PaAno, the embeddings nearest to the centres of unit vectors; as PAI, the centres.
        """
        if len(embeddings) > MOST:
            rng = np.random.default_rng(seed)
            embeddings = embeddings[np.sort(rng.choice(len(embeddings), MOST, replace=False))]
        if metric == "cosine":
            embeddings = _unit(embeddings)
        size = max(FEWEST, round(SHARE * len(embeddings)))
        if size >= len(embeddings):
            return cls(embeddings, metric)
        centres = _centres(embeddings, size, seed)
        if metric == "euclidean":
            return cls(centres, metric)
        nearest = [int(np.square(embeddings - each).sum(axis=1).argmin()) for each in centres]
        return cls(embeddings[nearest], metric)

    def distance(self, embeddings: FloatArray) -> FloatArray:
        """The mean distance to the three nearest members."""
        parts = (embeddings[first : first + CHUNK] for first in range(0, len(embeddings), CHUNK))
        return np.concatenate([self._nearest(part) for part in parts])

    def _nearest(self, embeddings: FloatArray) -> FloatArray:
        count = min(NEAREST, len(self.members))
        if self.metric == "cosine":
            distance = 1 - _unit(embeddings) @ self.members.T
        else:
            square = np.square(embeddings).sum(axis=1)[:, None] + np.square(self.members).sum(
                axis=1
            )
            distance = np.sqrt(np.maximum(square - 2 * embeddings @ self.members.T, 0))
        return np.asarray(np.partition(distance, count - 1, axis=1)[:, :count].mean(axis=1))


def amplitude(series: FloatArray, train: FloatArray) -> FloatArray:
    """How far each row is from the median of training, in median deviations; mean of channels.

    >>> train = np.array([[1.0], [2.0], [3.0]])
    >>> amplitude(np.array([[2.0], [5.0]]), train)
    array([0., 3.])
    """
    level = np.median(train, axis=0)
    deviation, std = np.median(np.abs(train - level), axis=0), train.std(axis=0)
    # Most rows of a quantised channel may be equal: then its std, then nothing.
    scale = np.where(deviation > 0, deviation, np.where(std > 0, std, 1.0))
    return np.asarray((np.abs(series - level) / scale).mean(axis=1))


def local_amplitude(series: FloatArray, train: FloatArray, around: int) -> FloatArray:
    """The same of the mean over so many rows on either side, fewer at the ends."""
    total = np.concatenate([np.zeros((1, series.shape[1])), series.cumsum(axis=0)])
    rows = np.arange(len(series))
    first, end = np.maximum(rows - around, 0), np.minimum(rows + around + 1, len(series))
    return amplitude((total[end] - total[first]) / (end - first)[:, None], train)


def _unit(embeddings: FloatArray) -> FloatArray:
    norm = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return np.asarray(embeddings / np.where(norm > 0, norm, 1.0))


def _centres(points: FloatArray, count: int, seed: int) -> FloatArray:
    from sklearn.cluster import MiniBatchKMeans  # a second that other methods do without

    model = MiniBatchKMeans(
        count, batch_size=max(8192, count), max_iter=50, n_init=1, random_state=seed
    )
    return np.asarray(model.fit(points).cluster_centers_)
