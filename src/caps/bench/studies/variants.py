"""The variants of CAPS that the studies compare, as methods of the bench.

All are `caps-small` with one thing changed: the small detector alone, not the paper's network.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.bench.caps_methods import SMALL, CapsDiagnosis, CapsMethod
from caps.bench.methods import make_method
from caps.bench.studies.parts import Covering, Setting, contaminated_variant
from caps.errors import InputError
from caps.network import TRANSFORMER, DetectorConfig

if TYPE_CHECKING:
    from caps.baselines import Method

PREFIX = "caps:"
TRAINED = "trained-"
ALONE = f"{PREFIX}alone"


class Variant(CapsMethod):
    """The estimator with the parameters of a variant."""

    def __init__(self, seed: int, setting: Setting, **parameters: Any) -> None:
        shared = {"detector": setting.detector, "pretrained": setting.weights}
        super().__init__(seed, **{**SMALL, **shared, **parameters})


class Diagnosed(Variant, CapsDiagnosis):
    """Diagnosis: known anomalies of the test part choose the modes, and nothing else."""


def make_variant(setting: Setting, name: str, seed: int) -> "Method":
    """A variant by name; names without `caps:` are methods of the bench."""
    if not name.startswith(PREFIX):
        return make_method(name, seed)
    short = name.removeprefix(PREFIX)
    if short.startswith(TRAINED):
        folder = str(Path(setting.trained) / short.removeprefix(TRAINED))
        return Variant(seed, setting, pretrained=folder)
    if short.startswith("references-"):
        return contaminated_variant(setting, short, seed)
    if short not in VARIANTS:
        raise InputError(f"there is no variant {name!r}", f"choose from {', '.join(VARIANTS)}")
    return VARIANTS[short](seed, setting)


def _transformer(seed: int, setting: Setting) -> "Method":
    given = {} if setting.detector is None else asdict(setting.detector)
    config = DetectorConfig(**{**given, "network": "transformer"}) if given else TRANSFORMER
    return Variant(seed, setting, detector=config)


VARIANTS: "Mapping[str, Callable[[int, Setting], Method]]" = {
    "alone": Variant,
    "shuffled": lambda seed, setting: Variant(seed, setting, construction="shuffled"),
    "direct": lambda seed, setting: Variant(seed, setting, construction="direct"),
    "diagnosis": Diagnosed,
    "transformer": _transformer,
    "top5": lambda seed, setting: Variant(seed, setting, aggregate="top5"),
    "all-modes": lambda seed, setting: Covering(seed, setting, excluding=False),
    "without-mode": lambda seed, setting: Covering(seed, setting, excluding=True),
}
