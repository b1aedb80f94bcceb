"""A memory of the own series: how unlike anything in the training part a stretch of it is.

Stretches of a few lengths are compared with those of training: as they are, without their level,
and without level and size. The distance to the nearest counts by itself, and against the distance
from that one to its own nearest, since some parts of a series are more sparsely seen than others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from caps.errors import ArtifactError
from caps.neighbours import (
    FORMS,
    LEAST_OBSERVED,
    Bank,
    Form,
    Rows,
    Singles,
    TrainingOverlap,
    bank_of,
    in_threads,
    observed_share,
    overlap_by_values,
    summed_up,
    summed_up_alone,
    training_rows,
)
from caps.series import bridge

FloatArray = NDArray[np.float64]
Measure = Literal["distance", "relative"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

LENGTHS = (16, 64, 256, 1024)  # rows of a stretch: a ladder of scales needs no period
LONG = 256  # from here on, where in a stretch a row lies counts
NEAR = 64  # longest stretch that causal evidence looks back on: it would echo for longer ones
SHARE = 3  # a stretch takes up at most a third of the training part
ROWS = 65_536  # training rows remembered: the last ones
STEPS = 64  # stretches are looked up at every 64th of their length
FEWER_STEPS = 16  # of a series so long that the time counts more
MANY = 131_072  # rows of such a series
SEVERAL = 16_384  # rows from which several threads pay
PIECE = 8192  # stretches that a thread looks up at a time
FLOOR = 0.003  # of the spread of training: closer stretches are the same
# Of soft maxima; 0 would be the maximum, infinity the mean. Parts of one length look at the same
# rows and are worth more where they agree; an anomaly has one scale, so lengths need not agree.
SHARPNESS_OF_PARTS, SHARPNESS_OF_LENGTHS = 1.0, 0.4
LEAST_SPREAD = 1e-3
SLACK_MEAN, SLACK_SPREAD = 0.5, 1.5  # spreads, times: what drift has to exceed to be allowed for
ITSELF = 4.0  # spreads below the mean: closer than two stretches of training ever are
CAUSAL_CHUNK = 2048
LARGEST = 100.0  # scaled values beyond are cut: ten spreads or a hundred are not the same here
DETECTOR_WEIGHT = 0.02  # of the detector beside the memory: heard where the memory is quiet
NEW = TrainingOverlap()  # rows none of which are training rows


class Part(NamedTuple):
    """One way of comparing."""

    length: int
    form: Form
    measure: Measure

    @property
    def key(self) -> str:
        """Its name in a file."""
        return f"{self.length} {self.form} {self.measure}"


@dataclass(frozen=True, slots=True)
class Usual:
    """What a part says of normal rows: mean and spread."""

    mean: float
    spread: float

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """From the training part, where each stretch is compared with the others."""
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return cls(0.0, 1.0)
        return cls(float(values.mean()), max(float(values.std()), LEAST_SPREAD))

    def to_list(self) -> list[float]:
        """As JSON values; `from_list` gives the same back."""
        return [self.mean, self.spread]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """What `to_list` described; anything else is a ValueError."""
        mean, spread = (float(value) for value in values)
        if not (np.isfinite([mean, spread]).all() and spread > 0):
            raise ValueError("a spread that is none")
        return cls(mean, spread)

    def widened(self, values: FloatArray) -> "Usual":
        """With room for what most of the scored rows are like, so that drift is no anomaly.

        The upper quartile sets the spread: anomalies are rarely a quarter of a series. What differs
        from training by no more than chance might changes nothing.
        """
        # So close to training are only rows of it that went unrecognised.
        values = values[values >= self.mean - ITSELF * self.spread]
        if len(values) == 0:
            return self
        median, upper = np.quantile(values, [0.5, 0.75])
        spread = float(upper - median) / 0.6745  # of a normal distribution
        return Usual(
            max(self.mean, float(median) - SLACK_MEAN * self.spread),
            max(self.spread, spread / SLACK_SPREAD),
        )

    def standardise(self, values: FloatArray) -> FloatArray:
        """Spreads above the mean; far beyond says little more than beyond."""
        return np.asarray(np.arcsinh((values - self.mean) / self.spread))


@dataclass(frozen=True, eq=False)
class Memory:
    """The scaled training rows of one channel, and what comparing with them usually gives."""

    rows: Singles  # (time,), not-a-number where unobserved
    first: int = 0  # place of the first of them in the training part
    usual: Mapping[Part, Usual] = field(default_factory=dict)
    usual_causal: Mapping[Part, Usual] = field(default_factory=dict)

    @classmethod
    def fit(cls, values: FloatArray) -> "Memory | None":
        """Remember a scaled training part; None where it is too short to compare anything."""
        first = max(0, len(values) - ROWS)
        blank = cls(values[first:].astype(np.float32), first)
        if not blank.banks:
            return None
        usual, usual_causal = {}, {}
        rows = blank.rows.astype(np.float64)
        for part, starts, told in blank._told(rows, training_rows(first, len(rows))):
            usual_causal[part] = Usual.of(told)
            usual[part] = Usual.of(spread_out(told, starts, part.length, len(rows)))
        return cls(blank.rows, first, usual, usual_causal)

    @cached_property
    def banks(self) -> dict[int, Bank]:
        """The stretches of each length that fits."""
        rows = self.rows.astype(np.float64)
        fitting = [length for length in LENGTHS if length <= len(rows) // SHARE]
        banks = {length: bank_of(rows, length) for length in fitting}
        return {length: bank for length, bank in banks.items() if bank is not None}

    @property
    def context(self) -> int:
        """How many rows before a row its causal evidence depends on."""
        return max(length for length in self.banks if length <= NEAR) - 1

    def find_overlap(self, values: FloatArray) -> TrainingOverlap:
        """Which of the scaled values are training rows, by the values alone."""
        rows = self.rows.astype(np.float64)
        return overlap_by_values(rows[:, None], values[:, None], self.first)

    def adapts(self, values: FloatArray) -> bool:
        """Whether there is enough to tell what has become usual since training."""
        return len(values) >= len(self.rows)

    def evidence(self, values: FloatArray, overlap: TrainingOverlap = NEW) -> FloatArray:
        """How unlike training every row of the scaled values is; 0 or less is usual."""
        return self.weighed(values, overlap)[0]

    def weighed(
        self, values: FloatArray, overlap: TrainingOverlap = NEW
    ) -> tuple[FloatArray, Mapping[Part, Usual]]:
        """The evidence, and what was taken as usual for it."""
        adapt = self.adapts(values)
        parts: dict[Part, FloatArray] = {}
        usual = dict(self.usual)
        for part, starts, told in self._told(values, overlap):
            spread = spread_out(told, starts, part.length, len(values))
            if adapt:
                usual[part] = usual[part].widened(spread)
            parts[part] = usual[part].standardise(spread)
        together = put_together(parts, len(values))
        return np.where(np.isfinite(values), together, np.nan), usual

    def of_last(
        self, values: FloatArray, last: int, overlap: TrainingOverlap, *, causal: bool
    ) -> tuple[FloatArray, Mapping[Part, Usual]]:
        """The evidence of the last rows, from the past only or not, and what was usual for it."""
        if causal:
            return self.causal_evidence(values, last=last, overlap=overlap), self.usual_causal
        evidence, usual = self.weighed(values, overlap)
        return evidence[len(evidence) - last :], usual

    def causal_evidence(
        self, values: FloatArray, *, last: int | None = None, overlap: TrainingOverlap = NEW
    ) -> FloatArray:
        """The same from the past only: of the stretches that end at each of the last rows."""
        last = len(values) if last is None else min(last, len(values))
        parts: dict[Part, FloatArray] = {}
        for length, bank in self.banks.items():
            if length > NEAR:
                continue
            told = {Part(length, *each): np.full(last, np.nan) for each in _MANNERS}
            begin = max(len(values) - last, length - 1)
            for first in range(begin, len(values), CAUSAL_CHUNK):
                ends = np.arange(first, min(first + CAUSAL_CHUNK, len(values)))
                windows = np.lib.stride_tricks.sliding_window_view(values, length)
                windows = windows[ends - length + 1]
                enough = np.isfinite(windows).mean(axis=1) >= LEAST_OBSERVED
                if not enough.any():
                    continue
                stretches = summed_up_alone(windows[enough])
                rows = ends[enough] - (len(values) - last)
                starts = ends[enough] - length + 1
                left_out = self.left_out(bank, starts, overlap)
                for part, found in _measured(bank, stretches, left_out, exact=True):
                    told[part][rows] = found
            for part, each in told.items():
                parts[part] = self.usual_causal[part].standardise(each)
        seen = np.isfinite(values[len(values) - last :])
        return np.where(seen, put_together(parts, last), np.nan)

    def _told(
        self, values: FloatArray, overlap: TrainingOverlap
    ) -> Iterator[tuple[Part, Rows, FloatArray]]:
        """What every part says of the stretches that begin at the given rows."""
        bridged = np.asarray(bridge(values), dtype=np.float64)
        steps = STEPS if len(values) <= MANY else FEWER_STEPS

        def look(job: tuple[int, Rows]) -> list[tuple[Part, FloatArray]]:
            length, starts = job
            rows, bank = slice(int(starts[0]), int(starts[-1]) + length), self.banks[length]
            enough = observed_share(values[rows], starts - starts[0], length) >= LEAST_OBSERVED
            wanted = summed_up(bridged[rows], starts - starts[0], length)
            left_out = self.left_out(bank, starts, overlap)
            return [
                (part, np.where(enough, told, np.nan))
                for part, told in _measured(bank, wanted, left_out)
            ]

        starts_of = {
            length: np.arange(0, len(values) - length + 1, max(1, length // steps))
            for length in self.banks
            if length <= len(values)
        }
        jobs = [
            (length, piece)
            for length, starts in starts_of.items()
            for piece in np.array_split(starts, -(-len(starts) // PIECE))
        ]
        looked = in_threads(look, jobs) if len(values) >= SEVERAL else map(look, jobs)
        together = zip(jobs, looked, strict=True)
        for length, pieces in groupby(together, key=lambda each: each[0][0]):
            for of_part in zip(*(parts for _, parts in pieces), strict=True):
                told = np.concatenate([each for _, each in of_part])
                yield of_part[0][0], starts_of[length], told

    def left_out(
        self, bank: Bank, starts: Rows, overlap: TrainingOverlap
    ) -> tuple[Rows, Rows] | None:
        """Which stretches of the bank are not to be compared with those that begin at `starts`."""
        if not overlap:
            return None
        first = np.full(len(starts), len(bank.starts), dtype=np.intp)
        last = np.zeros(len(starts), dtype=np.intp)
        for index, training in overlap.touching(starts, bank.length):
            low, high = bank.around(training - self.first)
            some = high > low
            first[index[some]] = np.minimum(first[index[some]], low[some])
            last[index[some]] = np.maximum(last[index[some]], high[some])
        return first, last

    def to_dict(self) -> dict[str, Any]:
        """What is not the rows, as JSON values."""
        return {
            "first": self.first,
            "usual": {part.key: u.to_list() for part, u in self.usual.items()},
            "usual_causal": {part.key: u.to_list() for part, u in self.usual_causal.items()},
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any], rows: Singles) -> Self:
        """The memory that `to_dict` described; other or missing keys are errors."""
        try:
            if set(facts) != {"first", "usual", "usual_causal"}:
                raise ValueError("odd or missing keys")
            usual, usual_causal = (
                {
                    Part(length, form, measure): Usual.from_list(
                        facts[name][f"{length} {form} {measure}"]
                    )
                    for length in LENGTHS
                    for form, measure in _MANNERS
                    if f"{length} {form} {measure}" in facts[name]
                }
                for name in ("usual", "usual_causal")
            )
            made = cls(rows, int(facts["first"]), usual, usual_causal)
            wanted = {Part(length, *manner) for length in made.banks for manner in _MANNERS}
            if set(usual) != wanted or set(usual_causal) != wanted or not made.banks:
                raise ValueError("its parts do not fit its rows")
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"a memory cannot be read ({error})", "fit it again") from None
        return made


_MANNERS: tuple[tuple[Form, Measure], ...] = tuple(
    (form, measure) for form in FORMS for measure in MEASURES
)


def _measured(
    bank: Bank,
    stretches: Singles,
    left_out: tuple[Rows, Rows] | None = None,
    *,
    exact: bool = False,
) -> Iterator[tuple[Part, FloatArray]]:
    """Log distance to the nearest, and the same over that one's own to its nearest."""
    for form, (distance, which) in bank.look(stretches, left_out, exact=exact).items():
        yield Part(bank.length, form, "distance"), np.log(distance + FLOOR)
        own = bank.own[form][which]
        yield Part(bank.length, form, "relative"), np.log((distance + FLOOR) / (own + FLOOR))


def spread_out(told: FloatArray, starts: Rows, length: int, rows: int) -> FloatArray:
    """For each row the mean of the stretches that hold it.

    Long stretches say little about where in them something is: there the mean of those that reach
    back from the row and of those that reach ahead is taken, and the smaller counts. A stretch
    stands for those that begin before the next one looked up.
    """
    step = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    every = np.repeat(told, step)[: rows - length + 1]
    every = np.pad(every, (0, rows - length + 1 - len(every)), mode="edge")
    row = np.arange(rows)
    if length < LONG:
        return _mean_between(every, row - length + 1, row)
    back = _mean_between(every, row - length + 1, row - length // 2)
    ahead = _mean_between(every, row - length // 2, row)
    return np.asarray(np.fmin(back, ahead))


def _mean_between(values: FloatArray, first: Rows, last: Rows) -> FloatArray:
    """Means of the known values from `first` to `last`, the nearest one beyond the ends."""
    known = np.isfinite(values)
    total = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    count = np.concatenate([[0], np.cumsum(known)])
    low, high = (np.clip(place, 0, len(values) - 1) for place in (first, last))
    held = count[high + 1] - count[low]
    mean = (total[high + 1] - total[low]) / np.maximum(held, 1)
    return np.asarray(np.where(held > 0, mean, np.nan))


def joined(memory: FloatArray, detector: FloatArray) -> FloatArray:
    """The soft maximum with what the detector says, in spreads like a part."""
    sharpness = SHARPNESS_OF_LENGTHS
    loud = (1 - DETECTOR_WEIGHT) * np.exp(memory / sharpness)
    return np.asarray(sharpness * np.log(loud + DETECTOR_WEIGHT * np.exp(detector / sharpness)))


def put_together(parts: Mapping[Part, FloatArray], rows: int) -> FloatArray:
    """The soft maximum over lengths of those over the parts of a length; 0 where none knows."""
    if not parts:
        return np.zeros(rows)
    of_lengths = [
        soft_maximum([parts[part] for part in same], SHARPNESS_OF_PARTS)
        for _, same in groupby(parts, key=lambda part: part.length)
    ]
    return np.nan_to_num(soft_maximum(of_lengths, SHARPNESS_OF_LENGTHS))


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
