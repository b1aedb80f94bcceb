"""The table of compared methods: a name and what makes the method from a seed.

Names ending in `-tsb` are run as TSB-AD 1.5 runs them: with its tuned settings and, where it
learns without a training part, on the very series that is scored.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType

from caps.baselines.floors import Flat, Random
from caps.baselines.matrix_profile import MatrixProfile
from caps.baselines.peers import CONFIGURATIONS, Configuration, Peer
from caps.baselines.points import Centres, Density, Distance, Isolation, Projection
from caps.baselines.protocol import Method
from caps.baselines.subsequences import Plan, Subsequences

Factory = Callable[[int], Method]

LOF = Plan(lambda seed: Density(50), length=1, scaling="none")
LOF_SCALED = replace(LOF, scaling="column")
IFOREST = Plan(lambda seed: Isolation(200, seed), length=1)
SUB_PCA = Plan(lambda seed: Projection())
KMEANSAD = Plan(lambda seed: Centres(10, seed), rank=2, scaling="subsequence", onto_rows="mean")
SUB_KNN = Plan(lambda seed: Distance(50), rank=2, scaling="subsequence")
SUB_LOF = Plan(lambda seed: Density(30), rank=2, scaling="subsequence")

# TSB-AD's settings for several channels, where they differ.
LOF_MANY = replace(LOF, scaling="subsequence")
IFOREST_MANY = Plan(lambda seed: Isolation(25, seed, features=0.8), length=1, scaling="subsequence")
PCA_MANY = Plan(lambda seed: Projection(0.25), length=1)
KMEANSAD_MANY = Plan(
    lambda seed: Centres(10, seed), length=40, scaling="subsequence", onto_rows="mean"
)
KNN_MANY = Plan(lambda seed: Distance(50, "mean"), length=1, scaling="subsequence")


def _on_training(plan: Plan, multivariate: Plan | None = None) -> Factory:
    return lambda seed: Subsequences(plan, seed=seed, multivariate=multivariate)


def _on_whole(plan: Plan, multivariate: Plan | None = None) -> Factory:
    return lambda seed: Subsequences(plan, seed=seed, whole=True, multivariate=multivariate)


def _network(home: str, name: str, *settings: str) -> Factory:
    """A method that needs torch, whose import takes seconds that most methods do without."""

    def make(seed: int) -> Method:
        made: Method = getattr(import_module(f"caps.baselines.{home}"), name)(seed, *settings)
        return made

    return make


def _peer(configuration: Configuration) -> Factory:
    return lambda seed: Peer(configuration, seed)


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
        "lof": _on_training(LOF, LOF_SCALED),
        "iforest": _on_training(IFOREST),
        "sub-pca": _on_training(SUB_PCA),
        "kmeansad": _on_training(KMEANSAD),
        "sub-knn": _on_training(SUB_KNN),
        "sub-lof": _on_training(SUB_LOF),
        "matrix-profile": lambda seed: MatrixProfile(),
        "lof-tsb": _on_whole(LOF, LOF_MANY),
        "iforest-tsb": _on_whole(IFOREST, IFOREST_MANY),
        "sub-pca-tsb": _on_whole(SUB_PCA, PCA_MANY),
        "kmeansad-tsb": _on_whole(KMEANSAD, KMEANSAD_MANY),
        "sub-knn-tsb": _on_whole(SUB_KNN, KNN_MANY),
        "sub-lof-tsb": _on_whole(SUB_LOF),
        "matrix-profile-tsb": lambda seed: MatrixProfile(whole=True),
        **{name: _peer(configuration) for name, configuration in CONFIGURATIONS.items()},
    }
)
