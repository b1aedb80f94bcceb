"""The part of a series that is learned from: scaled, without known anomalies, channels sorted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from caps.arrays import FloatArray
from caps.scoring.channels import two_values
from caps.scoring.config import ModelConfig
from caps.scoring.remarks import remark_on
from caps.series import Scaler, Series

Spans = Sequence[tuple[int, int]]
Sort = Literal["varied", "constant", "binary", "silent"]

MOST_NAMED = 5  # channels in one note


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """The first rows of a series; `known` anomalies are no examples of normal."""

    series: Series
    train: Series
    known: Spans
    switches: bool  # learn channels that switch between two values too
    config: ModelConfig
    counters: tuple[str, ...] = ()  # channels of which `series` holds the rates

    @cached_property
    def clean(self) -> FloatArray:
        """The values of training, not-a-number in known anomalies."""
        return self.train.values_without(self.known)

    @cached_property
    def scaler(self) -> Scaler:
        """Fitted on the clean values."""
        return Scaler.fit(self.clean)

    @cached_property
    def scaled(self) -> FloatArray:
        """The clean values as a detector sees them."""
        return self.scaler.transform(self.clean)

    @property
    def memory_scaler(self) -> Scaler:
        """That of values for the memory, which are cut much later."""
        return replace(self.scaler, clip=self.config.scoring.clip)

    @cached_property
    def remembered(self) -> FloatArray:
        """The clean values as a memory sees them."""
        return self.memory_scaler.transform(self.clean)

    def bank(self, column: int) -> NDArray[np.float32]:
        """The last rows of one channel, to be kept with the model."""
        return self.remembered[-self.config.neighbours.rows :, column].astype(np.float32)

    @cached_property
    def constant(self) -> set[str]:
        """Channels that stood still."""
        observed = np.isfinite(self.clean)
        return set(replace(self.train, values=self.clean, observed=observed).constant)

    @cached_property
    def observed(self) -> list[bool]:
        """Whether enough rows of each channel were."""
        rows = np.isfinite(self.scaled).sum(axis=0)
        return [int(each) >= self.config.calibration.fewest_rows for each in rows]

    @cached_property
    def two_valued(self) -> set[str]:
        """Channels that had two values and no third."""
        return {
            name
            for column, name in enumerate(self.train.channels)
            if self.observed[column]
            and name not in self.constant
            and len(two_values(self.bank(column)))
        }

    @cached_property
    def measured(self) -> set[str]:
        """Channels with many values."""
        channels = zip(self.train.channels, self.observed, strict=True)
        return {name for name, seen in channels if seen} - self.constant - self.two_valued

    @cached_property
    def binary(self) -> set[str]:
        """Channels that had only two values, where others show how the system does.

        When a command is given says little about whether something is wrong, and its timing rarely
        repeats: on spacecraft telemetry such channels drown the ones that measure.
        """
        return set() if self.switches or not self.measured else self.two_valued

    def sort(self, column: int) -> Sort:
        """What there is to learn from a channel."""
        name = self.train.channels[column]
        if not self.observed[column]:
            return "silent"
        if name in self.constant:
            return "constant"
        return "binary" if name in self.binary else "varied"

    def notes(self, sorts: Sequence[Sort]) -> list[str]:
        """Remarks on channels that are not learned as they are, or are no plain measurements."""
        remarks: dict[Sort, str] = {
            "constant": "constant in training: another value is as likely as 1 in as many rows",
            "binary": "switched between two values in training: only a third one counts "
            "(`switches=True` learns them too)",
            "silent": "hardly observed in training: ignored in the scores",
        }
        notes = []
        if self.counters:
            many = len(self.counters) > 1
            what = "counters: their rises" if many else "a counter: its rise"
            notes.append(
                f"{_subject(list(self.counters))} {what} from row to row {'are' if many else 'is'} "
                "scored and shown "
                "(`counters=False` takes the values)"
            )
        for sort, remark in remarks.items():
            channels = zip(self.train.channels, sorts, strict=True)
            if names := [name for name, each in channels if each == sort]:
                notes.append(f"{_subject(names)} {remark}")
        for column, (name, sort) in enumerate(zip(self.train.channels, sorts, strict=True)):
            plain = sort == "varied" and name not in self.counters
            if plain and (said := remark_on(self.clean[:, column])):
                notes.append(f"channel {name!r} {said}")
        return notes


def _subject(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown += f" and {len(names) - MOST_NAMED} more"
    return f"channel {shown} is" if len(names) == 1 else f"channels {shown} are"
