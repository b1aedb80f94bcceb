"""A memory of the own series: how new a row is, and how badly training foretells it.

Subsequences of a few lengths are compared with those of training: as they are, without their level,
and without level and size. How far the nearest one is tells how new a subsequence is; what lay
beside the nearest ones tells what was to be expected beside it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from caps.arrays import FloatArray, Rows, Singles
from caps.errors import ArtifactError
from caps.neighbours import FORMS, training_rows
from caps.scoring.combination import both_sides, by_the_past, in_hindsight, soft_maximum
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import ScoringContext
from caps.scoring.following import Follower, pace_of, standardise_around
from caps.scoring.measures import Bank, Measured, Measuring, Part, Side
from caps.scoring.standardiser import Standardiser

Standardisers = Mapping[Part, Standardiser]


class Recall(NamedTuple):
    """What is said of the rows asked for."""

    evidence: FloatArray  # 0 or less is normal; not-a-number where unobserved
    local: FloatArray  # of the row itself, whatever its surroundings: where events begin and end
    quiet: FloatArray | float = 0.0  # evidence as -log p that the channel has lost its variability


@dataclass(frozen=True, eq=False)
class Memory:
    """The scaled training rows of one channel, and what comparing with them usually gives."""

    rows: Singles  # (time,), not-a-number where unobserved
    first: int = 0  # row of the first of them in the training part
    causal: bool = False  # rows by those before them alone
    standardisers: Standardisers = field(default_factory=dict)
    config: ModelConfig = field(default_factory=ModelConfig)

    @classmethod
    def fit(
        cls, values: FloatArray, config: ModelConfig | None = None, *, causal: bool = False
    ) -> "Memory | None":
        """Remember a scaled training part; None where it is too short to compare anything."""
        config = config or ModelConfig()
        first = max(0, len(values) - config.neighbours.rows)
        blank = cls(values[first:].astype(np.float32), first, causal, config=config)
        if not blank.bank.indices:
            return None
        rows = blank.rows.astype(np.float64)[:, None]
        overlap = training_rows(first, len(rows))
        measuring = blank._measuring(ScoringContext(rows, rows, causal, overlap, config.scoring), 0)
        usual = {
            part: Standardiser.of(each, config.scoring.least_std, config.scoring.seldom)
            for measured in measuring.lengths()
            for part, each in measured.items()
        }
        for part, each in measuring.quiet().items():
            usual[part] = _quietest(each, config.scoring)
        ordered = {part: usual[part] for part in blank._parts()}
        return cls(blank.rows, first, causal, ordered, config)

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
        return Follower(usual, self.pace, self.config.scoring, still=still)

    def evidence(self, context: ScoringContext, column: int = 0) -> Recall:
        """The evidence that the rows asked for of the channel in this `column` are anomalous."""
        measuring = self._measuring(context, column)
        said = self._by_the_past(measuring) if context.causal else self._in_hindsight(measuring)
        seen = np.isfinite(context.asked(context.scaled[:, column]))
        evidence, local = (np.where(seen, np.nan_to_num(each), np.nan) for each in said[:2])
        return Recall(evidence, local, said.quiet)

    def _measuring(self, context: ScoringContext, column: int) -> Measuring:
        return Measuring(self.bank, context, column, self.config)

    def _in_hindsight(self, measuring: Measuring) -> Recall:
        config, context = self.config.scoring, measuring.context
        subsequences: list[FloatArray] = []
        blocks: dict[tuple[str, int], list[FloatArray]] = {}  # of every length, by side and horizon
        for measured in measuring.lengths():
            new = {part: each for part, each in measured.items() if not part.horizon}
            if new:
                standardised = self._around(new, self.novelty_pace, context)
                novelty = soft_maximum(standardised.values(), config.sharpness_of_parts)
                subsequences.append(novelty)
            beside = {part: each for part, each in measured.items() if part.horizon}
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
        quiet = self._around(measuring.quiet(), self.pace, context)
        whole = [_spread(each, part.length) for part, each in quiet.items()]
        evidence = in_hindsight(said, subsequences, config) if said else np.zeros(1)
        return Recall(evidence, said[min(said)] if said else evidence, self._quiet(whole))

    def _by_the_past(self, measuring: Measuring) -> Recall:
        config, context, order = self.config.scoring, measuring.context, self._live_order
        measured = {part: each for some in measuring.lengths() for part, each in some.items()}
        measured |= measuring.quiet()
        follower = context.followers.get(measuring.column) if context.followers else None
        follower = follower or self.follower(still=not context.follows)
        unknown = np.full(context.last, np.nan)
        stacked = np.stack([measured.get(part, unknown) for part in self.standardisers])
        # A gap, however long, is no time in which anything could become usual.
        seen = np.isfinite(context.asked(measuring.values))
        stacked[:, seen] = follower.standardise(stacked[:, seen])

        def together(parts: FloatArray) -> FloatArray:  # (form, length, ..., row)
            of_lengths = soft_maximum(parts, config.sharpness_of_parts)
            return soft_maximum(of_lengths, config.sharpness_of_lengths)

        ahead = stacked[order.ahead]
        fresh = ahead.copy()  # less the oddness of the context: what remains is no echo
        fresh[:, : order.contexts.shape[1]] -= np.fmax(stacked[order.contexts], 0.0)
        horizons = self.config.neighbours.horizons
        blocks, new = (dict(zip(horizons, together(each), strict=True)) for each in (ahead, fresh))
        subsequences = soft_maximum(stacked[order.new], config.sharpness_of_parts)
        evidence = by_the_past(blocks, new, list(subsequences), config)
        return Recall(evidence, new[min(new)], self._quiet(list(stacked[order.quiet])))

    @cached_property
    def _live_order(self) -> "_LiveOrder":
        """Where the parts by the past alone stand among all."""
        at, neighbours = (
            {part: row for row, part in enumerate(self.standardisers)},
            self.config.neighbours,
        )
        lengths = sorted({part.length for part in at if part.what == "ahead"})
        ahead = [
            [
                [Part("ahead", length, form, each) for each in neighbours.horizons]
                for length in lengths
            ]
            for form in FORMS
        ]
        echoing = sum(length <= self.config.scoring.echo_length for length in lengths)
        return _LiveOrder(
            ahead=np.array([[[at[part] for part in row] for row in rows] for rows in ahead]),
            contexts=np.array(
                [[[at[part.context] for part in row] for row in rows[:echoing]] for rows in ahead]
            ),
            new=np.array([[at[Part("new", length, form)] for length in lengths] for form in FORMS]),
            quiet=np.array([row for part, row in at.items() if part.what == "quiet"]),
        )

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
        return {"first": self.first, "causal": self.causal, "standardisers": listed}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any], rows: Singles, config: ModelConfig) -> Self:
        """The memory that `to_dict` described; other or missing keys are errors."""
        try:
            if set(facts) != {"first", "causal", "standardisers"}:
                raise ValueError("odd or missing keys")
            blank = cls(rows, int(facts["first"]), bool(facts["causal"]), config=config)
            listed = facts["standardisers"]
            parts = list(blank._parts())
            if not blank.bank.indices or set(listed) != {part.key for part in parts}:
                raise ValueError("its parts do not fit its rows")
            usual = {part: Standardiser.from_list(listed[part.key]) for part in parts}
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"a memory cannot be read ({error})", "fit it again") from None
        return cls(rows, blank.first, blank.causal, usual, config)

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
        yield from (Part("quiet", rows) for rows in scoring.quiet_rows)


class _LiveOrder(NamedTuple):
    """Rows of stacked parts."""

    ahead: Rows  # (form, length, horizon)
    contexts: Rows  # the same of the lengths that echo
    new: Rows  # (form, length)
    quiet: Rows


def _quietest(quiet: FloatArray, config: ScoringConfig) -> Standardiser:
    """As quiet as ever in training is no evidence; how much it varied tells what beyond is."""
    known = quiet[np.isfinite(quiet)]
    if len(known) == 0:
        return Standardiser(-float(np.log(config.quiet_floor)), 1.0)
    std = max(Standardiser.of(known, config.quiet_unit).std, config.quiet_unit)
    return Standardiser(float(known.max()), std * (1 + config.quiet_doubt / len(known)))


def _spread(evidence: FloatArray, rows: int) -> FloatArray:
    """Of the last `rows` rows at each, that of each in any of those that hold it."""
    padded = np.pad(np.nan_to_num(evidence, nan=-np.inf), (0, rows - 1), constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, rows).max(axis=1))
