"""What is decided once, at the entrance of a score, for all channels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from caps.arrays import FloatArray, Rows
from caps.neighbours import TrainingOverlap
from caps.scoring.config import ScoringConfig
from caps.series import bridge

if TYPE_CHECKING:
    from caps.scoring.contexts import RecentContexts
    from caps.scoring.following import Follower
    from caps.scoring.memory import Recall

NEW = TrainingOverlap()  # rows none of which are training rows


@dataclass(frozen=True, eq=False)
class ScoringContext:
    """The rows to score, from which side, and which of them are training rows."""

    scaled: FloatArray  # (time, channel), clipped, not-a-number where unobserved
    values: FloatArray  # the same in the units of the data
    causal: bool  # each row by the past alone
    overlap: TrainingOverlap  # rows that are not compared with themselves
    config: ScoringConfig
    first: int = 0  # row whose score is asked for, and those of all after it
    follows: bool = False  # what is usual is followed over the rows; training is held to itself
    # By column, where rows go on from others: what became usual, and what foretells the next.
    followers: Mapping[int, "Follower"] | None = None
    recent: Mapping[int, "RecentContexts"] | None = None
    # By column, as a fit asks twice: what rows measured, until it is taken, and what came of it.
    measured: "dict[int, Any]" = field(default_factory=dict)
    logits: "dict[int, Recall]" = field(default_factory=dict)
    positions: Rows | None = None  # of the rows, from where training began; None without times
    calibrating: bool = False  # peaks of training are counted, whatever is around them

    @property
    def last(self) -> int:
        """How many rows at the end are asked for."""
        return len(self.scaled) - self.first

    @cached_property
    def bridged(self) -> FloatArray:
        """The scaled values with gaps bridged."""
        return np.asarray(bridge(self.scaled.T).T, dtype=np.float64)

    def asked(self, rows: FloatArray) -> FloatArray:
        """Of something known of every row, that of the rows asked for."""
        return rows[self.first :]
