"""The table of compared methods: a name and what makes the method from a seed.

Names ending in `-tsb` are run as TSB-AD 1.5 runs them: with its tuned settings and, where it
learns without a training part, on the very series that is scored.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import MappingProxyType

from caps.baselines.floors import Flat, Random
from caps.baselines.matrix_profile import MatrixProfile, MultiWindowProfile
from caps.baselines.mmpad import Mmpad
from caps.baselines.one_liners import MovingVariance, SensorRange, SquaredDifference
from caps.baselines.peers import CONFIGURATIONS, ON_ITSELF, Peer
from caps.baselines.points import centres, density, distance, isolation, magnitude, projection
from caps.baselines.protocol import Method
from caps.baselines.simple_choice import SimpleChoice
from caps.baselines.subsequences import Plan, Subsequences

Factory = Callable[[int], Method]

LOF = Plan(lambda points, seed: density(points, 50), length=1, scaling="none")
LOF_SCALED = replace(LOF, scaling="column")
IFOREST = Plan(lambda points, seed: isolation(points, 200, seed), length=1)
SUB_PCA = Plan(lambda points, seed: projection(points))
KMEANSAD = Plan(
    lambda points, seed: centres(points, 10, seed),
    rank=2,
    scaling="subsequence",
    onto_rows="mean",
)
SUB_KNN = Plan(lambda points, seed: distance(points, 50), rank=2, scaling="subsequence")
SUB_LOF = Plan(lambda points, seed: density(points, 30), rank=2, scaling="subsequence")
# K-means as the TAB benchmark runs it, on the levels as they are.
KMEANSAD_TAB = Plan(
    lambda points, seed: centres(points, 20, seed), length=100, scaling="channel", onto_rows="mean"
)
# Two of "Quo vadis": of one channel the five rows that end at a row, of several the row itself.
L2_NORM = Plan(lambda points, seed: magnitude(points), length=5, scaling="range", onto_rows="last")
NEAREST = replace(L2_NORM, detector=lambda points, seed: distance(points, 1))

# TSB-AD's settings for several channels, where they differ.
LOF_MANY = replace(LOF, scaling="subsequence")
IFOREST_MANY = Plan(
    lambda points, seed: isolation(points, 25, seed, features=0.8), length=1, scaling="subsequence"
)
PCA_MANY = Plan(lambda points, seed: projection(points, 0.25), length=1)
KMEANSAD_MANY = replace(KMEANSAD, length=40, rank=1)
KNN_MANY = Plan(lambda points, seed: distance(points, 50, "mean"), length=1, scaling="subsequence")


def _on(plan: Plan, multivariate: Plan | None = None, *, whole: bool = False) -> Factory:
    return lambda seed: Subsequences(plan, seed=seed, whole=whole, multivariate=multivariate)


def _network(home: str, name: str, *settings: str) -> Factory:
    """A method that needs torch, whose import takes seconds that most methods do without."""

    def make(seed: int) -> Method:
        made: Method = getattr(import_module(f"caps.baselines.{home}"), name)(seed, *settings)
        return made

    return make


METHODS: Mapping[str, Factory] = MappingProxyType(
    {
        "random": Random,
        "constant": lambda seed: Flat(0.0),
        "ones": lambda seed: Flat(1.0),
        "tcn-ae": _network("regression", "TcnAutoencoder"),
        "tcn-forecast": _network("regression", "TcnForecast"),
        "tcn-injection": _network("labelled", "TcnInjection"),
        "tcn-supervised": _network("labelled", "TcnSupervised", "plain"),
        "tcn-supervised-weighted": _network("labelled", "TcnSupervised", "weighted"),
        "tcn-supervised-balanced": _network("labelled", "TcnSupervised", "balanced"),
        "tcn-supervised-focal": _network("labelled", "TcnSupervised", "focal"),
        "lof": _on(LOF, LOF_SCALED),
        "iforest": _on(IFOREST),
        "sub-pca": _on(SUB_PCA),
        "kmeansad": _on(KMEANSAD),
        "sub-knn": _on(SUB_KNN),
        "sub-lof": _on(SUB_LOF),
        "matrix-profile": lambda seed: MatrixProfile(),
        "multi-window-profile": lambda seed: MultiWindowProfile(),
        "kmeansad-tab": _on(KMEANSAD_TAB),
        "moving-variance": lambda seed: MovingVariance(),
        "squared-difference": lambda seed: SquaredDifference(),
        "sensor-range": lambda seed: SensorRange(),
        "l2-norm": _on(L2_NORM, replace(L2_NORM, length=1)),
        "nearest-neighbour": _on(NEAREST, replace(NEAREST, length=1)),
        "simple-choice": lambda seed: SimpleChoice(SUB_PCA, PCA_MANY, seed=seed),
        "paano": _network("paano", "PaAno"),
        "paano-pai": _network("paano", "PaAno", "pai"),
        "lof-tsb": _on(LOF, LOF_MANY, whole=True),
        "iforest-tsb": _on(IFOREST, IFOREST_MANY, whole=True),
        "sub-pca-tsb": _on(SUB_PCA, PCA_MANY, whole=True),
        "kmeansad-tsb": _on(KMEANSAD, KMEANSAD_MANY, whole=True),
        "sub-knn-tsb": _on(SUB_KNN, KNN_MANY, whole=True),
        "sub-lof-tsb": _on(SUB_LOF, whole=True),
        "matrix-profile-tsb": lambda seed: MatrixProfile(whole=True),
        "mmpad-tsb": lambda seed: Mmpad(),
        **{name: partial(Peer, each) for name, each in CONFIGURATIONS.items()},
        **{name: partial(Peer, each) for name, each in ON_ITSELF.items()},
    }
)
