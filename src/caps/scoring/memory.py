"""A memory of the own series: how new a row is, and how badly training foretells it.

Subsequences of a few lengths are compared with those of training: as they are, without their level,
and without level and size. How far the nearest one is tells how new a subsequence is; what lay
beside the nearest ones tells what was to be expected beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from caps.arrays import BoolArray, FloatArray, Rows, Singles
from caps.errors import ArtifactError
from caps.neighbours import FORMS, training_rows
from caps.scoring.combination import (
    Blocks,
    agreeing,
    both_sides,
    by_the_past,
    in_hindsight,
    soft_maximum,
)
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import ScoringContext
from caps.scoring.contexts import RecentContexts
from caps.scoring.following import (
    Band,
    Errors,
    Follower,
    Standardiser,
    middle,
    pace_of,
    standardise_around,
    usual_width,
    widths_around,
)
from caps.scoring.measures import EXPECTED, Bank, Measured, Measuring, Part, Side, What, cycles_of

Standardisers = Mapping[Part, Standardiser]


class Recall(NamedTuple):
    """What is said of the rows asked for."""

    evidence: FloatArray  # 0 or less is normal; not-a-number where unobserved
    local: FloatArray  # of the row itself, whatever its surroundings: where events begin and end
    quiet: FloatArray | float = 0.0  # evidence as -log p that the channel has lost its variability
    band: Band | None = None  # scaled; None where nothing is expected


@dataclass(frozen=True, eq=False)
class Memory:
    """The scaled training rows of one channel, and what comparing with them usually gives."""

    rows: Singles  # (time,), not-a-number where unobserved
    first: int = 0  # row of the first of them in the training part
    causal: bool = False  # rows by those before them alone
    cycles: tuple[int, ...] = ()  # rows of a day and of a week, where its rows have times
    standardisers: Standardisers = field(default_factory=dict)
    errors: Errors = field(default_factory=lambda: Errors.of(np.zeros(0)))
    config: ModelConfig = field(default_factory=ModelConfig)

    @classmethod
    def fit(
        cls,
        values: FloatArray,
        config: ModelConfig | None = None,
        *,
        causal: bool = False,
        step: np.timedelta64 | None = None,  # of rows that have times
        then: tuple[ScoringContext, int] | None = None,
    ) -> "Memory | None":
        """Remember a scaled training part; None where it is too short to compare anything.

        `then` is how the last of these rows will be scored next, and in which column: what was
        measured of them is left there.
        """
        config = config or ModelConfig()
        first = max(0, len(values) - config.neighbours.rows)
        cycles = cycles_of(step, len(values) - first, config.scoring)
        blank = cls(values[first:].astype(np.float32), first, causal, cycles, config=config)
        if not blank.bank.indices:
            return None
        rows = blank.rows.astype(np.float64)[:, None]
        overlap = training_rows(first, len(rows))
        positions = first + np.arange(len(rows))
        measuring = blank._measuring(
            ScoringContext(rows, rows, causal, overlap, config.scoring, positions=positions), 0
        )
        if causal:
            live = blank._live(measuring)
            measured = dict(zip(blank._parts(), live[:-1], strict=True))
            expected = live[-1]
            if then is not None:
                context, column = then
                context.measured[column] = live[:, len(rows) - len(context.scaled) :]
        else:
            lengths = list(measuring.lengths())
            others = measuring.calendar(cycles), measuring.quiet()
            measured = {part: each for some in (*lengths, *others) for part, each in some.items()}
            expected = middle([each for some in lengths for each in _expected(some)])
            if then is not None and len(then[0].scaled) == len(rows):
                context, column = then
                context.measured[column] = lengths
        usual = {part: _usual(part, measured[part], config.scoring) for part in blank._parts()}
        return blank._knowing(usual, Errors.of(np.abs(rows[:, 0] - expected)))

    def _knowing(self, standardisers: Standardisers, errors: Errors) -> Self:
        """The same with what is usual; its rows are not indexed again."""
        known = replace(self, standardisers=standardisers, errors=errors)
        known.__dict__["bank"] = self.bank
        return known

    @cached_property
    def bank(self) -> Bank:
        """The subsequences of each length that fits."""
        return Bank.of(self.rows, self.first, self.config.neighbours)

    @property
    def context(self) -> int:
        """How many rows before a row its causal evidence depends on."""
        config = self.config.neighbours
        lengths = [each for each in self.bank.indices if each <= config.live_context_length]
        reach = max(lengths, default=0) + max(config.horizons) - 1
        return max(reach, *self.config.scoring.quiet_rows)

    @cached_property
    def lowest(self) -> float:
        """Of its rows."""
        return float(np.nanmin(self.rows))

    @property
    def pace(self) -> int:
        """Rows over which what is usual is followed."""
        return pace_of(self.first + len(self.rows), self.config.scoring)

    @property
    def novelty_pace(self) -> int:
        """The same of how new subsequences are, in hindsight."""
        trust = (self.first + len(self.rows)) / self.config.scoring.trusted_rows
        return int(self.pace * max(1.0, trust))

    def follower(self, *, still: bool = False) -> Follower:
        """What is usual by the past alone, before any row has come."""
        usual = list(self.standardisers.values())
        return Follower(usual, self.errors, self.pace, self.config.scoring, still=still)

    def recent_contexts(self) -> RecentContexts:
        """What foretells the next rows by the past alone, before any row has come."""
        return RecentContexts(self.bank, self.config)

    def evidence(self, context: ScoringContext, column: int = 0) -> Recall:
        """The evidence that the rows asked for of the channel in this `column` are anomalous."""
        measuring = self._measuring(context, column)
        said = self._by_the_past(measuring) if context.causal else self._in_hindsight(measuring)
        seen = np.isfinite(context.asked(context.scaled[:, column]))
        evidence, local = (_known(each, seen) for each in said[:2])
        return Recall(evidence, local, said.quiet, said.band)

    def _measuring(self, context: ScoringContext, column: int) -> Measuring:
        return Measuring(self.bank, context, column, self.config)

    def _in_hindsight(self, measuring: Measuring) -> Recall:
        config, context = self.config.scoring, measuring.context
        subsequences: dict[int, FloatArray] = {}
        blocks: dict[tuple[str, int], list[FloatArray]] = {}  # of every length, by side and horizon
        expected: list[FloatArray] = []
        for measured in measuring.lengths():
            expected += _expected(measured)
            new = {part: each for part, each in measured.items() if not part.horizon}
            if new:
                standardised = self._around(new, self.novelty_pace, context)
                length = next(iter(new)).length
                novelty = soft_maximum(standardised.values(), config.sharpness_of_parts)
                subsequences[length] = novelty
            beside = {part: each for part, each in measured.items() if part.what in EXPECTED}
            of_forms: dict[tuple[str, int], list[FloatArray]] = {}
            for part, each in self._around(beside, self.pace, context).items():
                of_forms.setdefault((part.what, part.horizon), []).append(each)
            for key, forms in of_forms.items():
                blocks.setdefault(key, []).append(soft_maximum(forms, config.sharpness_of_parts))
        ahead, behind = (
            {
                horizon: soft_maximum(each, config.sharpness_of_lengths)
                for (where, horizon), each in blocks.items()
                if where == side
            }
            for side in ("ahead", "behind")
        )
        said = both_sides(ahead, behind)
        calendar = self._around(measuring.calendar(self.cycles), self.pace, context)
        by_clock = self._by_the_clock(list(calendar.values()))
        quiet = self._around(measuring.quiet(), self.pace, context)
        whole = [_spread(each, part.length) for part, each in quiet.items()]
        if not said:
            return Recall(np.zeros(1), np.zeros(1), self._quiet(whole))
        evidence = in_hindsight(
            said, subsequences, config, by_clock, calibrating=context.calibrating
        )
        local = np.fmax.reduce([said[min(said)], *by_clock])
        band = self._band(middle(expected), measuring)
        return Recall(evidence, local, self._quiet(whole), band)

    def _band(self, expected: FloatArray, measuring: Measuring) -> Band:
        """In hindsight; nothing of what was not observed."""
        context, config = measuring.context, self.config.scoring
        errors = np.abs(measuring.values - expected)
        widths: FloatArray | float = usual_width(self.errors, config)
        if context.follows:
            widths = widths_around(errors, self.errors, self.pace, config)
        return Band.around(np.where(np.isfinite(errors), expected, np.nan), widths)

    def _by_the_past(self, measuring: Measuring) -> Recall:
        config, context, order = self.config.scoring, measuring.context, self._live_order
        stacked = context.measured.pop(measuring.column, None)
        if stacked is None:
            stacked = self._live(measuring)
        follower = context.followers.get(measuring.column) if context.followers else None
        follower = follower or self.follower(still=not context.follows)
        # A gap, however long, is no time in which anything could become usual.
        values = context.asked(measuring.values)
        seen = np.isfinite(values)
        stacked, expected = stacked[:-1], np.where(seen, stacked[-1], np.nan)
        stacked[:, seen] = follower.standardise(stacked[:, seen])
        widths = np.full(len(values), np.nan)
        widths[seen] = follower.widths.follow(np.abs(values - expected)[seen])
        band = Band.around(expected, widths)
        ahead = stacked[order.ahead]
        # With the oddness of the context and without it: what remains is no echo.
        ahead = np.stack([ahead, ahead], axis=2)
        ahead[:, : order.contexts.shape[1], 1] -= np.fmax(stacked[order.contexts], 0.0)
        of_lengths = soft_maximum(ahead, config.sharpness_of_parts)
        horizons = self.config.neighbours.horizons
        blocks, new = (
            dict(zip(horizons, each, strict=True))
            for each in soft_maximum(of_lengths, config.sharpness_of_lengths)
        )
        subsequences = soft_maximum(stacked[order.new], config.sharpness_of_parts)
        by_clock = self._by_the_clock(list(stacked[order.calendar]))
        evidence = by_the_past(blocks, new, list(subsequences), config, by_clock)
        local = np.fmax.reduce([new[min(new)], *by_clock])
        return Recall(evidence, local, self._quiet(list(stacked[order.quiet])), band)

    def _live(self, measuring: Measuring) -> FloatArray:
        """What is measured by the past alone, and what was expected: (part and that, row)."""
        context, column = measuring.context, measuring.column
        recent = context.recent[column] if context.recent else self.recent_contexts()
        measured = recent.measure(measuring.values, context.first, context.overlap)
        order = self._live_order
        stacked = np.empty((sum(rows.size for rows in order) + 1, context.last))
        *of_contexts, stacked[-1] = measured
        others = (
            np.array(list(each.values())).reshape(-1, context.last)
            for each in (measuring.calendar(self.cycles), measuring.quiet())
        )
        for rows, each in zip(order, (*of_contexts, *others), strict=True):
            stacked[rows] = each
        return stacked

    @cached_property
    def _live_order(self) -> "_LiveOrder":
        """Where the parts by the past alone stand among all."""
        at = {part: row for row, part in enumerate(self._parts())}
        lengths = sorted({part.length for part in at if part.what == "ahead"})
        echoing = [each for each in lengths if each <= self.config.scoring.echo_length]
        horizons = self.config.neighbours.horizons

        def rows_of(what: What, lengths: Sequence[int], horizons: Sequence[int]) -> Rows:
            parts = product([what], lengths, FORMS, horizons)
            rows = np.array([at[Part(*part)] for part in parts], dtype=np.intp)
            return rows.reshape(len(lengths), len(FORMS), len(horizons)).swapaxes(0, 1)

        return _LiveOrder(
            ahead=rows_of("ahead", lengths, horizons),
            contexts=rows_of("context", echoing, horizons),
            new=rows_of("new", lengths, [0])[..., 0],
            calendar=np.array(
                [row for part, row in at.items() if part.what == "calendar"], np.intp
            ),
            quiet=np.array([row for part, row in at.items() if part.what == "quiet"]),
        )

    def _by_the_clock(self, calendar: Sequence[FloatArray]) -> list[FloatArray]:
        """What day and week say together of each row; nothing where there are none."""
        if not self.cycles:
            return []
        config, horizons = self.config.scoring, self.config.neighbours.horizons
        of_cycles = np.reshape(calendar, (len(self.cycles), len(horizons), -1))
        together = soft_maximum(of_cycles, config.sharpness_of_lengths)
        blocks: Blocks = dict(zip(horizons, together, strict=True))
        if not self.causal:
            begun = {rows: _at_starts(each, rows) for rows, each in blocks.items()}
            blocks = both_sides(blocks, begun)
        return [agreeing(blocks, config)]

    def _around(self, measured: Measured, pace: int, context: ScoringContext) -> Measured:
        if not measured:
            return {}
        usual = [self.standardisers[part] for part in measured]
        stacked = np.stack(list(measured.values()))
        span = pace if context.follows else len(context.scaled) + 1
        standardised = standardise_around(stacked, usual, span, self.config.scoring)
        return dict(zip(measured, standardised, strict=True))

    def _quiet(self, standardised: list[FloatArray]) -> FloatArray:
        """-log p of rows that are quieter than any of training, as far as it is believed."""
        beyond = np.sinh(np.fmax.reduce(standardised))
        return np.asarray(np.clip(np.nan_to_num(beyond), 0.0, self.config.scoring.quiet_most))

    def to_dict(self) -> dict[str, Any]:
        """What is neither the rows nor the configuration, as JSON values."""
        listed = {part.key: each.to_list() for part, each in self.standardisers.items()}
        return {
            "first": self.first,
            "causal": self.causal,
            "cycles": list(self.cycles),
            "standardisers": listed,
            "errors": self.errors.to_list(),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any], rows: Singles, config: ModelConfig) -> Self:
        """The memory that `to_dict` described; other or missing keys are errors."""
        try:
            if set(facts) != {"first", "causal", "cycles", "standardisers", "errors"}:
                raise ValueError("odd or missing keys")
            cycles = tuple(int(each) for each in facts["cycles"])
            if any(not 0 < each <= len(rows) for each in cycles):
                raise ValueError("its cycles do not fit its rows")
            blank = cls(rows, int(facts["first"]), bool(facts["causal"]), cycles, config=config)
            listed = facts["standardisers"]
            parts = list(blank._parts())
            if not blank.bank.indices or set(listed) != {part.key for part in parts}:
                raise ValueError("its parts do not fit its rows")
            usual = {part: Standardiser.from_list(listed[part.key]) for part in parts}
            errors = Errors.from_list(facts["errors"])
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"a memory cannot be read ({error})", "fit it again") from None
        return blank._knowing(usual, errors)

    def _parts(self) -> Iterator[Part]:
        """All that is measured, in order."""
        config, scoring = self.config.neighbours, self.config.scoring
        longest = config.longest_context(causal=self.causal)
        sides: tuple[Side, ...] = ("ahead",) if self.causal else ("ahead", "behind")
        for length in self.bank.indices:
            foretells = length <= longest
            if self.causal and not foretells:
                continue
            for form in FORMS:
                if self.causal or length >= config.novel_length:
                    yield Part("new", length, form)
                if not self.causal and length >= config.novel_length:
                    yield Part("sparse", length, form)
                for side in sides if foretells else ():
                    for horizon in config.horizons:
                        part = Part(side, length, form, horizon)
                        yield part
                        if self.causal and length <= scoring.echo_length:
                            yield part.context
        for cycle in self.cycles:
            yield from (Part("calendar", cycle, horizon=each) for each in config.horizons)
        yield from (Part("quiet", rows) for rows in scoring.quiet_rows)


class _LiveOrder(NamedTuple):
    """Rows of stacked parts."""

    ahead: Rows  # (form, length, horizon)
    contexts: Rows  # the same of the lengths that echo
    new: Rows  # (form, length)
    calendar: Rows  # cycle by cycle, horizon by horizon
    quiet: Rows


def _known(evidence: FloatArray, seen: BoolArray) -> FloatArray:
    """Of the rows that were seen; none where nothing can be compared."""
    return np.where(seen, np.where(np.isfinite(evidence), evidence, 0.0), np.nan)


def _expected(measured: Measured) -> list[FloatArray]:
    """What subsequences of one length make to be expected of every row, from either side."""
    return [each for part, each in measured.items() if part.what in EXPECTED.values()]


def _usual(part: Part, measured: FloatArray, config: ScoringConfig) -> Standardiser:
    """What a part says of training."""
    if part.what == "quiet":
        return _quietest(measured, config)
    return Standardiser.of(measured, config.least_std, config.seldom, config.bursts)


def _quietest(quiet: FloatArray, config: ScoringConfig) -> Standardiser:
    """As quiet as ever in training is no evidence; how much it varied tells what beyond is."""
    known = quiet[np.isfinite(quiet)]
    if len(known) == 0:
        return Standardiser(-float(np.log(config.quiet_floor)), 1.0)
    std = max(Standardiser.of(known, config.quiet_unit).std, config.quiet_unit)
    return Standardiser(float(known.max()), std * (1 + config.quiet_doubt / len(known)))


def _at_starts(blocks: FloatArray, length: int) -> FloatArray:
    """Of blocks of this length at their last rows, that at their first."""
    return np.pad(blocks[length - 1 :], (0, length - 1), constant_values=np.nan)


def _spread(evidence: FloatArray, rows: int) -> FloatArray:
    """Of the last `rows` rows at each, that of each in any of those that hold it."""
    padded = np.pad(np.nan_to_num(evidence, nan=-np.inf), (0, rows - 1), constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, rows).max(axis=1))
