"""Every method of the benchmark by name: the baselines, CAPS and its controls.

A method learns from the training part with `fit(train)` and gives one score a row with
`score(series)`. Methods that the paper gives labels also have `fit_labelled(train, labels)` (labels
of the training part) or `fit_known(series, train, known)` (spans [start, end) of the test part,
none of them as training labels: Diagnosis). One with alarms of its own has `alarms()`, their spans
among the rows scored last; one with a live mode has `live()`, the same for rows as they come.
"""

from collections.abc import Callable, Mapping

from caps.baselines import METHODS as BASELINES, Method
from caps.bench.caps_methods import DETECTOR, SMALL, CapsDiagnosis, CapsMethod
from caps.errors import check_known


def _paper(seed: int) -> Method:
    from caps.bench.paper_method import PaperCaps  # torch takes seconds to import

    return PaperCaps(seed)


def _beyond(seed: int) -> Method:
    from caps.bench.paper_method import BEYOND, PaperCaps  # torch takes seconds to import

    return PaperCaps(seed, BEYOND, perturbed=True)


CAPS_METHODS: Mapping[str, Callable[[int], Method]] = {
    "caps": lambda seed: CapsMethod(seed, detector="auto"),
    "caps-memory": CapsMethod,  # the product's default
    "caps-detector": lambda seed: CapsMethod(seed, **DETECTOR),
    "caps-paper": _paper,
    "caps-paper-beyond": _beyond,
    "caps-small": lambda seed: CapsMethod(seed, **SMALL),
    "caps-diagnosis": lambda seed: CapsDiagnosis(seed, **SMALL),
    "caps-direct": lambda seed: CapsMethod(seed, construction="direct", **SMALL),
    "caps-injection": lambda seed: CapsMethod(seed, construction="injection", **SMALL),
    "caps-shuffled": lambda seed: CapsMethod(seed, construction="shuffled", **SMALL),
}
METHODS: Mapping[str, Callable[[int], Method]] = {**BASELINES, **CAPS_METHODS}


def make_method(name: str, seed: int) -> Method:
    """A new method, not yet fitted."""
    check_known("method", name, METHODS)
    return METHODS[name](seed)
