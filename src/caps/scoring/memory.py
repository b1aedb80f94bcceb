"""A memory of the own series: how far a subsequence is from every one of the training part.

Subsequences of a few lengths are compared with those of training: as they are, without their level,
and without level and size. The distance to the nearest counts by itself, and against the distance
from that one to its own nearest, since some parts of a series are more sparsely seen than others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.errors import ArtifactError
from caps.jobs import in_threads
from caps.neighbours import (
    FORMS,
    Form,
    SubsequenceIndex,
    TrainingOverlap,
    Zone,
    observed_share,
    paa,
    paa_of_windows,
    training_rows,
)
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import ScoringContext
from caps.scoring.standardiser import Standardiser

Measure = Literal["distance", "density_ratio"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

SEVERAL = 16_384  # rows from which several threads pay
PIECE = 8192  # subsequences that a thread looks up at a time
CAUSAL_CHUNK = 2048  # rows whose windows are held at a time


class Part(NamedTuple):
    """One way of comparing."""

    length: int
    form: Form
    measure: Measure

    @property
    def key(self) -> str:
        """Its name in a file."""
        return f"{self.length} {self.form} {self.measure}"


Standardisers = Mapping[Part, Standardiser]


class Recall(NamedTuple):
    """What a memory says of the rows asked for, and what it was held to."""

    evidence: FloatArray  # 0 or less is normal; not-a-number where unobserved
    standardisers: Standardisers


@dataclass(frozen=True, eq=False)
class Memory:
    """The scaled training rows of one channel, and what comparing with them usually gives."""

    rows: Singles  # (time,), not-a-number where unobserved
    first: int = 0  # row of the first of them in the training part
    standardisers: Standardisers = field(default_factory=dict)
    causal_standardisers: Standardisers = field(default_factory=dict)
    config: ModelConfig = field(default_factory=ModelConfig)

    @classmethod
    def fit(cls, values: FloatArray, config: ModelConfig | None = None) -> "Memory | None":
        """Remember a scaled training part; None where it is too short to compare anything."""
        config = config or ModelConfig()
        first = max(0, len(values) - config.neighbours.rows)
        blank = cls(values[first:].astype(np.float32), first, config=config)
        if not blank.indices:
            return None
        both, causal, least = {}, {}, config.scoring.least_std
        rows = blank.rows.astype(np.float64)[:, None]
        overlap = training_rows(first, len(rows))
        context = ScoringContext(rows, rows, False, overlap, len(rows), config.scoring)
        for part, starts, measured in blank._measured(context, 0):
            causal[part] = Standardiser.of(measured, least)
            of_rows = blank._of_rows(measured, starts, part.length, len(rows))
            both[part] = Standardiser.of(of_rows, least)
        return cls(blank.rows, first, both, causal, config)

    @cached_property
    def indices(self) -> dict[int, SubsequenceIndex]:
        """The subsequences of each length that fits."""
        config, rows = self.config.neighbours, self.rows.astype(np.float64)
        fitting = [each for each in config.lengths if each <= len(rows) // config.training_lengths]
        indices = {length: SubsequenceIndex.of(rows, length, config) for length in fitting}
        return {length: index for length, index in indices.items() if index is not None}

    @property
    def context(self) -> int:
        """How many rows before a row its causal evidence depends on."""
        return max(self._causal_indices) - 1

    def evidence(self, context: ScoringContext, column: int = 0) -> Recall:
        """The evidence that the rows asked for of the channel in this `column` are anomalous."""
        return (
            self._from_the_past(context, column) if context.causal else self._all(context, column)
        )

    def _all(self, context: ScoringContext, column: int) -> Recall:
        values = context.scaled[:, column]
        parts: dict[Part, FloatArray] = {}
        standardisers = dict(self.standardisers)
        for part, starts, measured in self._measured(context, column):
            of_rows = self._of_rows(measured, starts, part.length, len(values))
            if context.adapts:
                standardisers[part] = standardisers[part].adapted(of_rows, self.config.scoring)
            parts[part] = standardisers[part].standardise(of_rows)
        combined = combine_parts(parts, len(values), self.config.scoring)
        return Recall(context.asked(np.where(np.isfinite(values), combined, np.nan)), standardisers)

    @property
    def _causal_indices(self) -> dict[int, SubsequenceIndex]:
        longest = self.config.neighbours.causal_length
        return {length: index for length, index in self.indices.items() if length <= longest}

    def _from_the_past(self, context: ScoringContext, column: int) -> Recall:
        """Of the subsequences that end at each of the rows asked for."""
        config, values = self.config.neighbours, context.scaled[:, column]
        parts: dict[Part, FloatArray] = {}
        for length, index in self._causal_indices.items():
            measured = {
                Part(length, form, measure): np.full(context.last, np.nan)
                for form, measure in _WAYS
            }
            begin = max(context.first, length - 1)
            for first in range(begin, len(values), CAUSAL_CHUNK):
                ends = np.arange(first, min(first + CAUSAL_CHUNK, len(values)))
                windows = np.lib.stride_tricks.sliding_window_view(values, length)
                windows = windows[ends - length + 1]
                enough = np.isfinite(windows).mean(axis=1) >= config.least_observed
                if not enough.any():
                    continue
                queries = paa_of_windows(windows[enough], config.segments)
                zone = self.exclusion_zone(index, ends[enough] - length + 1, context.overlap)
                for part, found in self._compared(index, queries, zone, exact=True):
                    measured[part][ends[enough] - context.first] = found
            for part, each in measured.items():
                parts[part] = self.causal_standardisers[part].standardise(each)
        combined = combine_parts(parts, context.last, self.config.scoring)
        seen = np.isfinite(context.asked(values))
        return Recall(np.where(seen, combined, np.nan), self.causal_standardisers)

    def _measured(
        self, context: ScoringContext, column: int
    ) -> Iterator[tuple[Part, Rows, FloatArray]]:
        """What every part says of the subsequences that begin at the given rows."""
        config = self.config.neighbours
        values, bridged = context.scaled[:, column], context.bridged[:, column]
        hops = config.hops if len(values) <= config.many_rows else config.hops_when_many

        def query(job: tuple[int, Rows]) -> list[tuple[Part, FloatArray]]:
            length, starts = job
            rows, index = slice(int(starts[0]), int(starts[-1]) + length), self.indices[length]
            seen = observed_share(values[rows], starts - starts[0], length)
            queries = paa(bridged[rows], starts - starts[0], length, config.segments)
            zone = self.exclusion_zone(index, starts, context.overlap)
            return [
                (part, np.where(seen >= config.least_observed, found, np.nan))
                for part, found in self._compared(index, queries, zone)
            ]

        starts_of = {
            length: np.arange(0, len(values) - length + 1, max(1, length // hops))
            for length in self.indices
            if length <= len(values)
        }
        jobs = [
            (length, piece)
            for length, starts in starts_of.items()
            for piece in np.array_split(starts, -(-len(starts) // PIECE))
        ]
        done = in_threads(query, jobs) if len(values) >= SEVERAL else map(query, jobs)
        together = zip(jobs, done, strict=True)
        for length, pieces in groupby(together, key=lambda each: each[0][0]):
            for of_part in zip(*(parts for _, parts in pieces), strict=True):
                found = np.concatenate([each for _, each in of_part])
                yield of_part[0][0], starts_of[length], found

    def _compared(
        self,
        index: SubsequenceIndex,
        queries: Singles,
        exclusion_zone: Zone | None,
        *,
        exact: bool = False,
    ) -> Iterator[tuple[Part, FloatArray]]:
        """Log distance to the nearest, and the same over that one's own to its nearest."""
        floor = self.config.scoring.floor
        for form, found in index.query(queries, exclusion_zone, exact=exact).items():
            distance = found.distance + floor
            yield Part(index.length, form, "distance"), np.log(distance)
            its_own = index.neighbour_distance[form][found.index] + floor
            yield Part(index.length, form, "density_ratio"), np.log(distance / its_own)

    def exclusion_zone(
        self, index: SubsequenceIndex, starts: Rows, overlap: TrainingOverlap
    ) -> Zone | None:
        """Which of the index are not to be compared with the scored ones that begin at `starts`."""
        if not overlap:
            return None
        first = np.full(len(starts), len(index.starts), dtype=np.intp)
        last = np.zeros(len(starts), dtype=np.intp)
        for which, training in overlap.touching(starts, index.length):
            low, high = index.overlapping(training - self.first)
            some = high > low
            first[which[some]] = np.minimum(first[which[some]], low[some])
            last[which[some]] = np.maximum(last[which[some]], high[some])
        return first, last

    def _of_rows(self, measured: FloatArray, starts: Rows, length: int, rows: int) -> FloatArray:
        long = length >= self.config.neighbours.long_length
        return of_rows(measured, starts, length, rows, sided=long)

    def to_dict(self) -> dict[str, Any]:
        """What is neither the rows nor the configuration, as JSON values."""
        return {
            "first": self.first,
            "standardisers": _listed(self.standardisers),
            "causal_standardisers": _listed(self.causal_standardisers),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any], rows: Singles, config: ModelConfig) -> Self:
        """The memory that `to_dict` described; other or missing keys are errors."""
        try:
            if set(facts) != {"first", "standardisers", "causal_standardisers"}:
                raise ValueError("odd or missing keys")
            blank = cls(rows, int(facts["first"]), config=config)
            parts = [Part(length, *way) for length in blank.indices for way in _WAYS]
            if not parts or any(set(facts[each]) != {part.key for part in parts} for each in _BOTH):
                raise ValueError("its parts do not fit its rows")
            both, causal = (
                {part: Standardiser.from_list(facts[each][part.key]) for part in parts}
                for each in _BOTH
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"a memory cannot be read ({error})", "fit it again") from None
        return cls(rows, blank.first, both, causal, config)


_BOTH = ("standardisers", "causal_standardisers")
_WAYS: tuple[tuple[Form, Measure], ...] = tuple(
    (form, measure) for form in FORMS for measure in MEASURES
)


def _listed(standardisers: Standardisers) -> dict[str, list[float]]:
    return {part.key: each.to_list() for part, each in standardisers.items()}


def of_rows(
    measured: FloatArray, starts: Rows, length: int, rows: int, *, sided: bool
) -> FloatArray:
    """For each row the mean of the subsequences that hold it.

    Long ones say little about where in them something is: for them, `sided`, the mean of those that
    reach back from the row and of those that reach ahead is taken, and the smaller counts. A
    subsequence stands for those that begin before the next one looked up.
    """
    step = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    every = np.repeat(measured, step)[: rows - length + 1]
    every = np.pad(every, (0, rows - length + 1 - len(every)), mode="edge")
    row = np.arange(rows)
    if not sided:
        return _mean_between(every, row - length + 1, row)
    back = _mean_between(every, row - length + 1, row - length // 2)
    ahead = _mean_between(every, row - length // 2, row)
    return np.asarray(np.fmin(back, ahead))


def _mean_between(values: FloatArray, first: Rows, last: Rows) -> FloatArray:
    """Means of the known values from `first` to `last`, the nearest one beyond the ends."""
    known = np.isfinite(values)
    total = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    count = np.concatenate([[0], np.cumsum(known)])
    low, high = (np.clip(each, 0, len(values) - 1) for each in (first, last))
    held = count[high + 1] - count[low]
    mean = (total[high + 1] - total[low]) / np.maximum(held, 1)
    return np.asarray(np.where(held > 0, mean, np.nan))


def combine_with_detector(
    memory: FloatArray, detector: FloatArray, config: ScoringConfig
) -> FloatArray:
    """The soft maximum with what the detector says, in std like a part."""
    sharpness, weight = config.sharpness_of_lengths, config.detector_weight
    loud = (1 - weight) * np.exp(memory / sharpness)
    return np.asarray(sharpness * np.log(loud + weight * np.exp(detector / sharpness)))


def combine_parts(parts: Mapping[Part, FloatArray], rows: int, config: ScoringConfig) -> FloatArray:
    """The soft maximum over lengths of those over the parts of a length; 0 where none knows."""
    if not parts:
        return np.zeros(rows)
    of_lengths = [
        soft_maximum([parts[part] for part in same], config.sharpness_of_parts)
        for _, same in groupby(parts, key=lambda part: part.length)
    ]
    return np.nan_to_num(soft_maximum(of_lengths, config.sharpness_of_lengths))


def soft_maximum(parts: Sequence[FloatArray], sharpness: float) -> FloatArray:
    """`sharpness` log mean exp(part / `sharpness`) of the parts that know a row.

    The loudest parts count most, but many that agree are louder than one.
    """
    total, count = np.zeros(len(parts[0])), np.zeros(len(parts[0]))
    for part in parts:
        known = np.isfinite(part)
        total += np.where(known, np.exp(np.where(known, part, 0.0) / sharpness), 0.0)
        count += known
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return np.asarray(sharpness * np.log(mean))
