"""Recovered supervision: anomalous counterparts of a target's own windows (section 4.3)."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.recover.contamination import (
        suspicion as suspicion,
        trim_references as trim_references,
    )
    from caps.recover.diagnosis import diagnose as diagnose, known_windows as known_windows
    from caps.recover.injection import (
        RULES as RULES,
        Site as Site,
        own_pairs as own_pairs,
        perturbed_pairs as perturbed_pairs,
        shaped_effects as shaped_effects,
    )
    from caps.recover.pairs import PairSet as PairSet
    from caps.recover.recovery import (
        CONSTRUCTIONS as CONSTRUCTIONS,
        Construction as Construction,
        recover_pairs as recover_pairs,
    )
    from caps.recover.references import (
        References as References,
        reference_windows as reference_windows,
    )

__getattr__ = on_first_use(__name__)
