"""Detectors of odd points, on scikit-learn."""

import warnings
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from caps.arrays import FloatArray


class Density:
    """LOF: how much thinner a point's surroundings are than those of its neighbours."""

    def __init__(self, neighbours: int) -> None:
        self.neighbours = neighbours

    def fit(self, points: FloatArray) -> None:
        """Find the neighbours of every point."""
        self.count = len(points)
        count = max(1, min(self.neighbours, len(points) - 1))
        self.model = LocalOutlierFactor(n_neighbors=count, novelty=True)
        with warnings.catch_warnings():
            # Many equal points are usual in quantised series.
            warnings.filterwarnings("ignore", "Duplicate values", UserWarning)
            self.model.fit(np.repeat(points, 2, axis=0) if len(points) == 1 else points)

    def own(self) -> FloatArray:
        """Each by the others."""
        return np.asarray(-self.model.negative_outlier_factor_[: self.count])

    def new(self, points: FloatArray) -> FloatArray:
        """By the points learned from."""
        return np.asarray(-self.model.score_samples(points))


class Distance:
    """KNN: the distance to the k-th nearest point, or the mean of the k distances."""

    def __init__(self, neighbours: int, take: Literal["largest", "mean"] = "largest") -> None:
        self.neighbours, self.take = neighbours, take

    def fit(self, points: FloatArray) -> None:
        """Index the points."""
        count = max(1, min(self.neighbours, len(points) - 1))
        self.model = NearestNeighbors(n_neighbors=count).fit(points)

    def own(self) -> FloatArray:
        """Each by the others; a single point has none."""
        if self.model.n_samples_fit_ == 1:
            return np.zeros(1)
        return self._taken(self.model.kneighbors()[0])

    def new(self, points: FloatArray) -> FloatArray:
        """By the points learned from."""
        return self._taken(self.model.kneighbors(points)[0])

    def _taken(self, distances: FloatArray) -> FloatArray:
        return np.asarray(distances[:, -1] if self.take == "largest" else distances.mean(axis=1))


class Fitted:
    """Base of detectors that judge a point by their model alone, learned from or not."""

    points: FloatArray

    def own(self) -> FloatArray:
        """As new points."""
        return self.new(self.points)

    def new(self, points: FloatArray) -> FloatArray:
        """By the model."""
        raise NotImplementedError


class Isolation(Fitted):
    """Isolation forest: how few random cuts single a point out."""

    def __init__(self, trees: int, seed: int, features: int | float = 1) -> None:
        # `features` 1 is one feature a tree, 1.0 all of them, as scikit-learn reads it.
        self.model = IsolationForest(n_estimators=trees, max_features=features, random_state=seed)

    def fit(self, points: FloatArray) -> None:
        """Grow the trees."""
        self.points = points
        self.model.fit(points)

    def new(self, points: FloatArray) -> FloatArray:
        """By the depth in the trees."""
        return np.asarray(-self.model.score_samples(points))


class Projection(Fitted):
    """PCA as PyOD and TSB-AD score it: distances to the component vectors over their variance.

    The component of least variance has by far the most weight.
    """

    SMALLEST = 1e-200  # a share of variance of exactly zero would make every score infinite

    def __init__(self, components: float | None = None) -> None:
        self.components = components

    def fit(self, points: FloatArray) -> None:
        """Find the components."""
        self.points = points
        self.varying = (points != 0).any(axis=0)
        # The exact solver: the others give other small variances, which have all the weight.
        model = PCA(self.components, svd_solver="full", random_state=0)
        if not self.varying.any():
            self.varying[:] = True
        with np.errstate(invalid="ignore", divide="ignore"):
            model.fit(points[:, self.varying])
        # The distance depends on the sign of a component: its largest projection is positive.
        projected = model.transform(points[:, self.varying])
        largest = np.abs(projected).argmax(axis=0)
        sign = np.sign(projected[largest, np.arange(projected.shape[1])])
        self.axes = model.components_ * np.where(sign < 0, -1.0, 1.0)[:, None]
        share = np.nan_to_num(model.explained_variance_ratio_, nan=1.0)
        self.weight = 1 / np.maximum(share, self.SMALLEST)

    def new(self, points: FloatArray) -> FloatArray:
        """By the weighted distances."""
        return np.asarray(cdist(points[:, self.varying], self.axes) @ self.weight)


class Centres(Fitted):
    """K-means: the distance to the nearest centre."""

    def __init__(self, clusters: int, seed: int) -> None:
        self.clusters, self.seed = clusters, seed

    def fit(self, points: FloatArray) -> None:
        """Find the centres."""
        self.points = points
        self.model = KMeans(min(self.clusters, len(points)), n_init=1, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different points
            self.model.fit(points)

    def new(self, points: FloatArray) -> FloatArray:
        """By the nearest centre."""
        return np.asarray(self.model.transform(points).min(axis=1))
