"""Mode organisation: by the simulator's families, or by K-means on the semantic codes."""

from dataclasses import dataclass

import numpy as np

from caps.errors import InputError
from caps.simulate import FAMILIES


@dataclass(frozen=True, slots=True)
class Modes:
    """Which mode each source pair belongs to, and the modes' names."""

    names: tuple[str, ...]
    assignment: np.ndarray  # (pairs,) index into names

    def __len__(self) -> int:
        return len(self.names)


def organise(family: np.ndarray, codes: np.ndarray, clusters: int, *, seed: int) -> Modes:
    """The families as modes, or that many clusters of the codes."""
    return kmeans_modes(codes, clusters, seed=seed) if clusters else knowledge_modes(family)


def knowledge_modes(family: np.ndarray) -> Modes:
    """K = 3: the simulator's point, periodic and trend families (the paper's default)."""
    return Modes(tuple(FAMILIES), family.astype(np.int64))


def kmeans_modes(codes: np.ndarray, count: int, *, seed: int) -> Modes:
    """K clusters of the frozen codes z_a, without looking at the families; K = 1 is one mode."""
    from sklearn.cluster import KMeans  # half a second that knowledge modes do without

    if not 1 <= count <= len(codes):
        raise InputError(f"cannot make {count} modes of {len(codes)} codes", "choose another K")
    clusters = KMeans(count, n_init=4, random_state=seed).fit_predict(codes)
    return Modes(tuple(f"cluster {i + 1}" for i in range(count)), clusters.astype(np.int64))
