"""The variants of CAPS that the studies compare, as methods of the bench.

All are `caps-small` with one thing changed: the small detector alone, not the paper's network.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caps.bench.caps_methods import SMALL, CapsDiagnosis, CapsMethod
from caps.bench.methods import make_method
from caps.bench.studies.parts import Covering, Setting, contaminated_variant
from caps.errors import InputError
from caps.network import TRANSFORMER

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


# What each variant changes.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "alone": {},
    "shuffled": {"construction": "shuffled"},
    "direct": {"construction": "direct"},
    "top5": {"aggregate": "top5"},
}


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
    if short in CHANGES:
        return Variant(seed, setting, **CHANGES[short])
    if short == "diagnosis":
        return Diagnosed(seed, setting)
    if short == "transformer":
        given = setting.detector
        config = replace(given, network="transformer") if given else TRANSFORMER
        return Variant(seed, setting, detector=config)
    if short in ("all-modes", "without-mode"):
        return Covering(seed, setting, excluding=short == "without-mode")
    known = ", ".join([*CHANGES, "diagnosis", "transformer", "all-modes", "without-mode"])
    raise InputError(f"there is no variant {name!r}", f"choose from {known}")
