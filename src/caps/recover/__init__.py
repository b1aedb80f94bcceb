"""Recovered supervision: anomalous counterparts of a target's own windows (section 4.3)."""

from caps.recover.contamination import suspicion, trim_references
from caps.recover.diagnosis import diagnose, known_windows
from caps.recover.effects import own_pairs, shaped_effects
from caps.recover.injection import RULES, Site
from caps.recover.pairs import PairSet
from caps.recover.perturbations import perturbed_pairs
from caps.recover.recovery import CONSTRUCTIONS, Construction, recover_pairs
from caps.recover.references import References, reference_windows

__all__ = [
    "CONSTRUCTIONS",
    "RULES",
    "Construction",
    "PairSet",
    "References",
    "Site",
    "diagnose",
    "known_windows",
    "own_pairs",
    "perturbed_pairs",
    "recover_pairs",
    "reference_windows",
    "shaped_effects",
    "suspicion",
    "trim_references",
]
