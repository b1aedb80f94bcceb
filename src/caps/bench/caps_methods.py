"""CAPS and its controls as methods of the benchmark."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from caps.arrays import FloatArray
from caps.bench.alarms import RATE
from caps.bench.settings import fact, public_facts, weights_hash
from caps.errors import InputError
from caps.network import DetectorConfig
from caps.scoring import FitOptions

if TYPE_CHECKING:
    from caps.events import Analysis

Span = tuple[int, int]

# The small detector alone, on counterparts alone: no memory, no levels, no perturbations by rule,
# every channel learned. The controls and the studies change one thing of it.
SMALL: Mapping[str, Any] = {
    "detector": DetectorConfig(),
    "memory": False,
    "level": False,
    "switches": True,
    "perturbed": False,
}
# The product's detector alone: options of training and perturbations by rule, beyond the paper.
DETECTOR: Mapping[str, Any] = {**SMALL, "detector": "auto", "perturbed": True}


class CapsMethod:
    """The estimator as users get it, with parameters of its own where a control needs them."""

    def __init__(self, seed: int, **parameters: Any) -> None:
        from caps.estimator import CAPS  # a fifth of a second for others

        self.model = CAPS(**{"seed": seed, "alarms": RATE, **parameters})
        self._weights: str | None = parameters.get("pretrained")
        self._analysis: Analysis | None = None

    def fit(self, train: FloatArray) -> Self:
        """Learn from unlabelled rows."""
        self.model.fit(train)
        return self

    def score(self, series: FloatArray) -> FloatArray:
        """One score a row."""
        self._analysis = self.model.analyze(series)
        return self._analysis.score

    def alarms(self) -> list[Span]:
        """Its own events among the rows scored last, at its alarm budget."""
        if self._analysis is None:
            raise InputError("nothing was scored", "call score first")
        return [(event.start, event.end) for event in self._analysis.events]

    def live(self) -> Self:
        """The same, not yet fitted, for rows as they come: no score knows a later row."""
        twin = copy(self)
        options = {**self.model.get_params(deep=False), "causal": True}
        twin.model, twin._analysis = type(self.model)(**options), None
        return twin

    def settings(self) -> dict[str, Any]:
        """What decides the scores, apart from the seed."""
        options = FitOptions(**self.model.get_params(deep=False))
        detector = options.detector_for(1)
        weights = None if detector is None else weights_hash(self._weights)
        facts = public_facts(options.parameters())
        return {**facts, "detector": fact(detector), "pretrained": weights}


class CapsDiagnosis(CapsMethod):
    """CAPS(Diagnosis): known anomalies of the test part choose the modes, and nothing else."""

    def fit_known(self, series: FloatArray, train: int, known: Sequence[Span]) -> Self:
        """Learn from the first `train` rows with the modes that the known spans call for."""
        self.model.set_params(train=train).fit(series, known_anomalies=known)
        return self
