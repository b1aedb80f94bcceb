"""The variants of CAPS that the studies compare, as methods of the bench.

All use the paper's detector alone: no memory of the own series, no ranges of levels.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.artifacts import MANIFEST
from caps.bench.settings import public_facts
from caps.detect import CAPS, TRANSFORMER, DetectorConfig
from caps.errors import InputError
from caps.realize.pretrained import SHIPPED

if TYPE_CHECKING:
    from caps.baselines import Method

FloatArray = NDArray[np.float64]
Span = tuple[int, int]

PREFIX = "caps:"
TRAINED = "trained-"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the variants of a run share; travels to child processes."""

    weights: str | None  # folder of the pretraining under study; None = the shipped one
    trained: str  # folder of the pretrainings that studies made
    detector: DetectorConfig | None = None


class Variant:
    """The estimator with the parameters of a variant."""

    def __init__(self, seed: int, setting: Setting, **parameters: Any) -> None:
        given = {
            "seed": seed,
            "memory": False,
            "level": False,
            "perturbed": False,
            "detector": setting.detector,
            "pretrained": setting.weights,
            **parameters,
        }
        self.model = CAPS(**given)
        self._weights: str | None = given["pretrained"]

    def fit(self, train: FloatArray) -> Self:
        """Learn from unlabelled rows."""
        self.model.fit(train)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """One score a row."""
        scores: FloatArray = self.model.decision_function(series)
        return scores

    def settings(self) -> dict[str, Any]:
        """What decides the scores: weights count by content, wherever they lie."""
        facts = public_facts(self.model.get_params())
        return {**facts, "pretrained": weights_hash(self._weights)}


class Diagnosed(Variant):
    """Diagnosis: known anomalies of the test part choose the modes, and nothing else."""

    def fit_known(self, series: FloatArray, train: int, known: Sequence[Span]) -> Self:
        """Learn from the first `train` rows with the modes that the known stretches call for."""
        self.model.set_params(train=train).fit(series, known_anomalies=known)
        return self


def weights_hash(folder: str | Path | None) -> str:
    """The first twelve digits of the SHA-256 of a manifest, which holds those of all files."""
    manifest = (SHIPPED if folder is None else Path(folder)) / MANIFEST
    if not manifest.is_file():
        raise InputError(f"{manifest.parent} holds no weights", "pretrain them first")
    return hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]


def make_variant(setting: Setting, name: str, seed: int) -> "Method":
    """A variant by name; names without `caps:` are methods of the bench."""
    if not name.startswith(PREFIX):
        from caps.bench.methods import make_method

        return make_method(name, seed)
    short = name.removeprefix(PREFIX)
    if short.startswith(TRAINED):
        folder = str(Path(setting.trained) / short.removeprefix(TRAINED))
        return Variant(seed, setting, pretrained=folder)
    if short.startswith("references-"):
        from caps.bench.studies.parts import contaminated_variant

        return contaminated_variant(setting, short, seed)
    if short not in VARIANTS:
        raise InputError(f"there is no variant {name!r}", f"choose from {', '.join(VARIANTS)}")
    return VARIANTS[short](seed, setting)


def _transformer(seed: int, setting: Setting) -> "Method":
    given = {} if setting.detector is None else asdict(setting.detector)
    config = DetectorConfig(**{**given, "network": "transformer"}) if given else TRANSFORMER
    return Variant(seed, setting, detector=config)


def _covering(excluding: bool) -> "Callable[[int, Setting], Method]":
    def make(seed: int, setting: Setting) -> "Method":
        from caps.bench.studies.parts import Covering

        return Covering(seed, setting, excluding=excluding)

    return make


VARIANTS: "Mapping[str, Callable[[int, Setting], Method]]" = {
    "alone": Variant,
    "shuffled": lambda seed, setting: Variant(seed, setting, construction="shuffled"),
    "direct": lambda seed, setting: Variant(seed, setting, construction="direct"),
    "diagnosis": Diagnosed,
    "transformer": _transformer,
    "top5": lambda seed, setting: Variant(seed, setting, aggregate="top5"),
    "all-modes": _covering(False),
    "without-mode": _covering(True),
}
