"""What is decided once, at the entrance of a score, for all channels."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from caps.neighbours import TrainingOverlap
from caps.scoring.config import ScoringConfig
from caps.series import bridge

FloatArray = NDArray[np.float64]

NEW = TrainingOverlap()  # rows none of which are training rows


@dataclass(frozen=True, eq=False)
class ScoringContext:
    """The rows to score, from which side, and which of them are training rows."""

    scaled: FloatArray  # (time, channel), clipped, not-a-number where unobserved
    values: FloatArray  # the same in the units of the data
    last: int  # rows at the end whose scores are asked for
    causal: bool = False  # each row by the past alone
    overlap: TrainingOverlap = NEW  # rows that are not compared with themselves
    adapts: bool = False  # there are enough rows to tell what has become usual since training
    config: ScoringConfig = field(default_factory=ScoringConfig)

    @classmethod
    def of(
        cls,
        scaled: FloatArray,
        values: FloatArray,
        *,
        last: int | None,
        causal: bool,
        overlap: TrainingOverlap,
        remembered: int,
        config: ScoringConfig,
    ) -> Self:
        """All rows if `last` is left out; as many as were `remembered` of training adapt."""
        last = len(scaled) if last is None else min(last, len(scaled))
        adapts = not causal and len(scaled) >= remembered
        return cls(scaled, values, last, causal, overlap, adapts, config)

    @cached_property
    def bridged(self) -> FloatArray:
        """The scaled values with gaps bridged."""
        return bridge(self.scaled.T).T

    @property
    def first(self) -> int:
        """The first row asked for."""
        return len(self.scaled) - self.last

    def asked(self, rows: FloatArray) -> FloatArray:
        """Of something known of every row, that of the rows asked for."""
        return rows[self.first :]
