"""Every method of the benchmark by name: the baselines, CAPS and its controls.

A method learns from the training part with `fit(train)` and gives one score a row with
`score(series)`. Methods that the paper gives labels also have `fit_labelled(train, labels)` (labels
of the training part) or `fit_known(series, train, known)` (stretches of the test part, Diagnosis).
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from types import FunctionType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import caps
from caps.baselines import METHODS as BASELINES
from caps.baselines import Method
from caps.errors import InputError

FloatArray = NDArray[np.float64]
Span = tuple[int, int]
MakeMethod = Callable[[str, int], Method]  # name and seed; a function at the top of a module


@runtime_checkable
class KnowingMethod(Method, Protocol):
    """A method that is told some anomalies of the test part, none of them as training labels."""

    def fit_known(self, series: FloatArray, train: int, known: Sequence[Span]) -> Self:
        """Learn from the first `train` rows, told stretches [start, end) of the others."""


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

    def config(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed."""
        from caps.realize.pretrained import SHIPPED

        manifest = (SHIPPED / "manifest.json").read_bytes()
        weights = hashlib.sha256(manifest).hexdigest()[:12]
        return {**public_facts(self.model.get_params()), "shipped_weights": weights}


class CapsDiagnosis(CapsMethod):
    """CAPS(Diagnosis): known anomalies of the test part choose the modes, and nothing else."""

    def fit_known(self, series: FloatArray, train: int, known: Sequence[Span]) -> Self:
        """Learn from the first `train` rows with the modes that the known stretches call for."""
        self.model.set_params(train=train).fit(series, known_anomalies=known)
        return self


CAPS_METHODS: Mapping[str, Callable[[int], Method]] = {
    "caps": CapsMethod,
    "caps-diagnosis": CapsDiagnosis,
    "caps-direct": lambda seed: CapsMethod(seed, construction="direct"),
    "caps-injection": lambda seed: CapsMethod(seed, construction="injection"),
    "caps-shuffled": lambda seed: CapsMethod(seed, construction="shuffled"),
}
METHODS: Mapping[str, Callable[[int], Method]] = {**BASELINES, **CAPS_METHODS}


def make_method(name: str, seed: int) -> Method:
    """A new method, not yet fitted."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}", f"choose from {', '.join(METHODS)}")
    return METHODS[name](seed)


def config_hash(name: str, make: MakeMethod) -> str:
    """Names what a method is set to: other settings or another version of CAPS, other cells."""
    method = make(name, 0)
    facts = method.config() if hasattr(method, "config") else _settings(method)
    text = json.dumps([name, caps.__version__, facts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def public_facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON values, without seeds; objects count by their settings or their type."""
    return {
        name: _fact(value)
        for name, value in values.items()
        if not name.startswith("_") and name not in ("seed", "random_state")
    }


def _settings(method: Method) -> dict[str, Any]:
    if hasattr(method, "get_params"):
        return public_facts(method.get_params())
    if is_dataclass(method) and not isinstance(method, type):
        return public_facts(asdict(method))
    return public_facts(getattr(method, "__dict__", {}))


def _fact(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return public_facts({str(name): each for name, each in value.items()})
    if isinstance(value, list | tuple):
        return [_fact(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return public_facts(asdict(value))
    if isinstance(value, FunctionType):  # e.g. `lambda seed: Density(50)` in a table of settings
        return [*value.__code__.co_names, *map(repr, value.__code__.co_consts)]
    return type(value).__name__
