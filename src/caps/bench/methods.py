"""Every method of the benchmark by name: the baselines, CAPS and its controls.

A method learns from the training part with `fit(train)` and gives one score a row with
`score(series)`. Methods that the paper gives labels also have `fit_labelled(train, labels)` (labels
of the training part) or `fit_known(series, train, known)` (stretches [start, end) of the test part,
none of them as training labels: Diagnosis).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caps.baselines import METHODS as BASELINES
from caps.baselines import Method
from caps.bench.settings import public_facts
from caps.detect.memory import LARGEST, Memory
from caps.errors import InputError
from caps.series import Scaler

FloatArray = NDArray[np.float64]
Span = tuple[int, int]


class CapsMethod:
    """The estimator as users get it, with parameters of its own where a control needs them."""

    def __init__(self, seed: int, **parameters: Any) -> None:
        from caps.detect import CAPS

        self.model = CAPS(seed=seed, **parameters)

    def fit(self, train: FloatArray) -> Self:
        """Learn from unlabelled rows."""
        self.model.fit(train)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """One score a row."""
        return self.model.decision_function(series)

    def settings(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed."""
        from caps.realize.pretrained import SHIPPED

        manifest = (SHIPPED / "manifest.json").read_bytes()
        weights = hashlib.sha256(manifest).hexdigest()[:12]
        return {**public_facts(self.model.get_params()), "shipped_weights": weights}


class MemoryMethod:
    """The memory of the own series alone, nothing trained; the loudest channel counts."""

    def __init__(self, seed: int) -> None:
        self.scaler: Scaler | None = None
        self.memories: list[Memory | None] = []

    def fit(self, train: FloatArray) -> Self:
        """Remember the rows."""
        self.scaler = Scaler.fit(train, clip=LARGEST)
        self.memories = [Memory.fit(channel) for channel in self.scaler.transform(train).T]
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """How unlike the remembered rows each row is."""
        assert self.scaler is not None  # fit comes first
        evidence = [np.zeros(len(series))]
        for memory, values in zip(self.memories, self.scaler.transform(series).T, strict=True):
            if memory is not None:
                told = memory.evidence(values, memory.find_overlap(values))
                evidence.append(np.nan_to_num(told))
        return np.asarray(np.max(evidence[1:] or evidence, axis=0))


class CapsDiagnosis(CapsMethod):
    """CAPS(Diagnosis): known anomalies of the test part choose the modes, and nothing else."""

    def fit_known(self, series: FloatArray, train: int, known: Sequence[Span]) -> Self:
        """Learn from the first `train` rows with the modes that the known stretches call for."""
        self.model.set_params(train=train).fit(series, known_anomalies=known)
        return self


# The detector alone, as in the paper.
PAPER: Mapping[str, Any] = {
    "memory": False,
    "level": False,
    "switches": True,
    "perturbed": False,
}
# The same with perturbations by rule beside the counterparts.
DETECTOR: Mapping[str, Any] = {**PAPER, "perturbed": True}

CAPS_METHODS: Mapping[str, Callable[[int], Method]] = {
    "caps": CapsMethod,
    "caps-memory": MemoryMethod,
    "caps-detector": lambda seed: CapsMethod(seed, **DETECTOR),
    "caps-paper": lambda seed: CapsMethod(seed, **PAPER),
    "caps-diagnosis": lambda seed: CapsDiagnosis(seed, **PAPER),
    "caps-direct": lambda seed: CapsMethod(seed, construction="direct", **PAPER),
    "caps-injection": lambda seed: CapsMethod(seed, construction="injection", **PAPER),
    "caps-shuffled": lambda seed: CapsMethod(seed, construction="shuffled", **PAPER),
}
METHODS: Mapping[str, Callable[[int], Method]] = {**BASELINES, **CAPS_METHODS}


def make_method(name: str, seed: int) -> Method:
    """A new method, not yet fitted."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}", f"choose from {', '.join(METHODS)}")
    return METHODS[name](seed)
