"""Subsequence search: where in training the like of a subsequence is, and what lay there."""

from typing import TYPE_CHECKING

from caps.lazy import on_first_use

if TYPE_CHECKING:
    from caps.neighbours.config import (
        CounterpartConfig as CounterpartConfig,
        NeighbourConfig as NeighbourConfig,
        OverlapConfig as OverlapConfig,
    )
    from caps.neighbours.counterpart import (
        Counterpart as Counterpart,
        counterpart_of as counterpart_of,
        deviation as deviation,
        kth_distance as kth_distance,
        normal_counterpart as normal_counterpart,
    )
    from caps.neighbours.index import (
        FORMS as FORMS,
        Form as Form,
        Forms as Forms,
        JointIndex as JointIndex,
        SubsequenceIndex as SubsequenceIndex,
        Zone as Zone,
        block_errors as block_errors,
        expected_beside as expected_beside,
        in_forms as in_forms,
        joint_subsequences as joint_subsequences,
        observed_share as observed_share,
        paa as paa,
        paa_of_windows as paa_of_windows,
    )
    from caps.neighbours.overlap import (
        TrainingOverlap as TrainingOverlap,
        overlap_at as overlap_at,
        overlap_by_values as overlap_by_values,
        training_rows as training_rows,
    )

__getattr__ = on_first_use(__name__)
