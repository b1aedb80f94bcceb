"""The bank of embeddings that PaAno compares with, and the amplitudes that PAI adds."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd

from caps.arrays import FloatArray

MOST = 10_000  # embeddings to make a bank of; a tenth of more would take minutes to cluster
SHARE, FEWEST = 0.1, 500  # of the embeddings kept, and at least so many
NEAREST = 3  # members of the bank whose mean distance counts

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
        # A second that other methods do without.
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.metrics import pairwise_distances_argmin
        from sklearn.preprocessing import normalize

        if metric == "cosine":
            embeddings = normalize(embeddings)
        size = max(FEWEST, round(SHARE * len(embeddings)))
        if size >= len(embeddings):
            return cls(embeddings, metric)
        batch = max(8192, size)
        model = MiniBatchKMeans(size, batch_size=batch, max_iter=50, n_init=1, random_state=seed)
        centres = model.fit(embeddings).cluster_centers_
        if metric == "euclidean":
            return cls(centres, metric)
        return cls(embeddings[pairwise_distances_argmin(centres, embeddings)], metric)

    def distance(self, embeddings: FloatArray) -> FloatArray:
        """The mean distance to the three nearest members."""
        from sklearn.neighbors import NearestNeighbors  # a second that other methods do without

        count = min(NEAREST, len(self.members))
        near = NearestNeighbors(n_neighbors=count, algorithm="brute", metric=self.metric)
        return np.asarray(near.fit(self.members).kneighbors(embeddings)[0].mean(axis=1))


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
    window = pd.DataFrame(series).rolling(2 * around + 1, min_periods=1, center=True)
    return amplitude(window.mean().to_numpy(), train)
