"""Detectors of odd points, on scikit-learn: each learns from points and gives what judges others.

Called without points, a judge scores those it learned from, each by the others where it compares
points with points. Its imports take more than a second, which other methods do without.
"""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from caps.arrays import FloatArray

Judge = Callable[..., FloatArray]  # of points (n, dimension) or none: higher scores are odder
SMALLEST = 1e-200  # a share of variance of exactly zero would make every score infinite


def density(points: FloatArray, neighbours: int) -> Judge:
    """LOF: how much thinner a point's surroundings are than those of its neighbours."""
    from sklearn.neighbors import LocalOutlierFactor  # a second: see above

    count = max(1, min(neighbours, len(points) - 1))
    model = LocalOutlierFactor(n_neighbors=count, novelty=True)
    with warnings.catch_warnings():
        # Many equal points are usual in quantised series.
        warnings.filterwarnings("ignore", "Duplicate values", UserWarning)
        model.fit(np.repeat(points, 2, axis=0) if len(points) == 1 else points)

    def judge(others: FloatArray | None = None) -> FloatArray:
        if others is None:
            return np.asarray(-model.negative_outlier_factor_[: len(points)])
        return np.asarray(-model.score_samples(others))

    return judge


def distance(
    points: FloatArray, neighbours: int, take: Literal["largest", "mean"] = "largest"
) -> Judge:
    """KNN: the distance to the k-th nearest point, or the mean of the k distances."""
    from sklearn.neighbors import NearestNeighbors  # a second: see above

    model = NearestNeighbors(n_neighbors=max(1, min(neighbours, len(points) - 1))).fit(points)

    def judge(others: FloatArray | None = None) -> FloatArray:
        if others is None and len(points) == 1:
            return np.zeros(1)
        found = model.kneighbors(others)[0]
        return np.asarray(found[:, -1] if take == "largest" else found.mean(axis=1))

    return judge


def magnitude(points: FloatArray) -> Judge:
    """The Euclidean norm of a point; nothing is learned."""
    return lambda others=None: np.asarray(
        np.linalg.norm(points if others is None else others, axis=1)
    )


def isolation(points: FloatArray, trees: int, seed: int, features: int | float = 1) -> Judge:
    """Isolation forest: how few random cuts single a point out.

    `features` 1 is one feature a tree, 1.0 all of them, as scikit-learn reads it.
    """
    from sklearn.ensemble import IsolationForest  # a second: see above

    model = IsolationForest(n_estimators=trees, max_features=features, random_state=seed)
    model.fit(points)
    return lambda others=None: np.asarray(
        -model.score_samples(points if others is None else others)
    )


def projection(points: FloatArray, components: float | None = None) -> Judge:
    """PCA as PyOD and TSB-AD score it: distances to the component vectors over their variance.

    The component of least variance has by far the most weight.
    """
    from scipy.spatial.distance import cdist  # a second: see above
    from sklearn.decomposition import PCA

    varying = (points != 0).any(axis=0)
    if not varying.any():
        varying[:] = True
    # The exact solver: the others give other small variances, which have all the weight.
    model = PCA(components, svd_solver="full", random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        model.fit(points[:, varying])
    # The distance depends on the sign of a component: its largest projection is positive.
    projected = model.transform(points[:, varying])
    largest = np.abs(projected).argmax(axis=0)
    sign = np.sign(projected[largest, np.arange(projected.shape[1])])
    axes = model.components_ * np.where(sign < 0, -1.0, 1.0)[:, None]
    weight = 1 / np.maximum(np.nan_to_num(model.explained_variance_ratio_, nan=1.0), SMALLEST)

    def judge(others: FloatArray | None = None) -> FloatArray:
        judged = points if others is None else others
        return np.asarray(cdist(judged[:, varying], axes) @ weight)

    return judge


def centres(points: FloatArray, clusters: int, seed: int) -> Judge:
    """K-means: the distance to the nearest centre."""
    from sklearn.cluster import KMeans  # a second: see above
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(min(clusters, len(points)), n_init=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different points
        model.fit(points)
    return lambda others=None: np.asarray(
        model.transform(points if others is None else others).min(axis=1)
    )
