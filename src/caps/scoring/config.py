"""The numbers that change a score or a threshold, each with its reason."""

import math
from dataclasses import dataclass, field

from caps.configuration import Configuration
from caps.neighbours import NeighbourConfig


@dataclass(frozen=True, slots=True)
class ScoringConfig(Configuration):
    """How distances, logits and levels become evidence, and evidence a score."""

    clip: float = 100.0  # scaled values beyond are cut: ten stds or a hundred are not the same here

    # The memory: what is measured.
    floor: float = 0.003  # of the std of training: closer subsequences are the same
    least_std: float = 1e-3  # of a standardiser
    seldom: float = 0.05  # of the std, at least: where nine of ten rows are the same
    bursts: int = 8  # times in training that the others came: as often, they are usual
    quiet_rows: tuple[int, ...] = (16, 64)  # over which a channel may lose its variability
    quiet_floor: float = 1e-4  # of the std of training: smaller steps are none
    quiet_known: float = 0.75  # of these rows, at least
    quiet_unit: float = 0.15  # log std, at least: beyond the quietest of training, -log p of one
    quiet_doubt: int = 500  # rows of training that double it: of fewer, less is known
    quiet_most: float = 9.0  # -log p: enough for an alarm, but never the strongest
    quiet_fresh: float = math.log(100)  # -log p: a row as quiet as this is odd by itself

    # The memory: day and week, where rows have times.
    fewest_cycles: float = 1.25  # in training: its rows are compared with those of another cycle
    most_cycles: int = 8  # that a row is compared with: the last ones
    shortest_cycle: int = 12  # rows a day: of fewer, subsequences hold weeks

    # The memory: how parts are put together. Of soft maxima; 0 would be the maximum, infinity the
    # mean. Parts of one length look at the same rows and are worth more where they agree; what is
    # anomalous has one scale, so lengths and horizons need not.
    sharpness_of_parts: float = 0.5
    sharpness_of_lengths: float = 0.25
    forecast_bound: float = 1.0  # evidence that forecasts may have beyond what subsequences say
    # Rows so little below a peak of subsequences rank with it, times the root of their length;
    # and below one of all that is said.
    plateau: float = 0.025
    last_plateau: float = 0.01
    # Shorter subsequences are odd by noise, longer ones for what is over: they say so much less.
    middle_lengths: tuple[int, ...] = (64, 256)
    beyond_middle: float = 0.2
    # Rows so near a peak of subsequences, in their lengths, count so much of it; those of shorter
    # ones know where they are. No more than what is about an alarm at one in 1,000 rows.
    surroundings: float = 0.5
    surrounding_share: float = 0.75
    surrounding_most: float = 1.2
    surrounding_length: int = 64
    live_gate: float = (
        0.7  # longer blocks and subsequences that end at a row, beyond shorter blocks
    )
    echo_gate: float = 0.7  # that contexts which were odd themselves may have beyond others
    echo_length: int = 16  # contexts up to this recover soon: their own oddness is taken off
    detector_weight: float = 0.02  # beside the memory: heard where the memory is quiet

    # The memory: how it follows the series. In units of the training part, as what lasts as long as
    # training did is as normal as it.
    pace: float = 1.0  # training parts over which what is usual is followed, on either side
    least_pace: int = 512  # rows
    # In hindsight the longer training is the more it tells what is new: with twice so many rows,
    # that is followed at half the pace, and so on. Noise changes sooner than what is new does.
    trusted_rows: int = 500
    most_pace: int = 16_384
    samples: int = 1024  # of that span, from which quantiles are taken
    refreshes: int = 32  # in that span: quantiles are taken anew
    slack_mean: float = 0.25  # in std: what drift has to exceed to be allowed for
    slack_std: float = 1.25  # times
    # Of normal rows, inside of the range around what was expected of them.
    band_share: float = 0.99

    # Channels.
    resolution: float = 1e-12  # of a constant's size: smaller differences are rounding
    same: float = 1e-3  # of the way between the values of a binary channel
    constant_memory: float = 0.5  # around a blink it is large, but no reason for an alarm by itself
    bound: float = 0.5  # of what a constant's move weighs: the most that a learned switch says

    # Level: a channel that leaves the range it had in training.
    level_rows: int = 8  # of which the mean is the level: a single spike is the detector's business
    level_scale: float = 0.25  # at least, in std: 1.7 beyond the range have a p-value of 1/1000
    level_share: float = 0.99  # of the held-out rows sets the scale of what is normal

    # Evidence and score.
    smallest_p: float = 1e-12  # p-values below are a matter of belief in the tail
    least_evidence: float = 1e-3  # scores stay above zero, as their logits are calibrated
    top: int = 5  # channels whose mean counts in "top5"
    # A p-value ten times smaller halves what is missing to a score of 1.
    halving: float = math.log10(2)

    # What a fit takes of the training part.
    fewest_references: int = 96  # of a channel among many
    all_references: int = 1500  # of all channels together
    known_rows: int = 20_000  # that a known anomaly is compared with: the last ones
    causal_rows: int = 4_000  # of calibration that are scored one window a row


@dataclass(frozen=True, slots=True)
class CalibrationConfig(Configuration):
    """How rates of alarms are counted and extrapolated."""

    levels: int = 200  # at which rates are counted
    tail_share: int = 100  # rows of training for each peak that is part of the tail
    fewest_peaks: int = 15  # of the tail, however short training is
    # The tail is exponential. Its highest peaks may be anomalies of training: only that they are
    # higher counts. That of few peaks is noise: it is pulled towards what is usual.
    doubted: float = 0.34  # of the peaks
    usual_peaks: int = 50  # that weigh as much as what is usual
    usual_scale: float = 0.19  # of evidence in hindsight, on series of no evaluation list
    usual_live_scale: float = 0.12  # of evidence by the past alone
    least_scale: float = 1e-3  # of a tail without peaks
    fewest_rows: int = 32
    fresh_share: float = 0.01  # of training: more rows than that are not fresh by themselves

    def usual_scale_of(self, *, causal: bool) -> float:
        """Of the tail of evidence, in hindsight or by the past alone."""
        return self.usual_live_scale if causal else self.usual_scale


@dataclass(frozen=True, slots=True)
class CounterConfig(Configuration):
    """Which channels of training are counters, scored by their rates."""

    fewest_rises: int = 16  # fewer are steps from one level to another
    rising: float = 0.5  # of the rows, at least: the rate of what seldom rises is hardly but zeros
    span: float = 10.0  # of the whole rise against the largest single one: else it is one jump
    falls: float = 1 / 2000  # of the rows, beyond the first: what falls more often is drained
    left_over: float = 0.5  # of the value before a fall, at most: a counter starts again at zero


@dataclass(frozen=True, slots=True)
class JointConfig(Configuration):
    """How measured channels are compared together, and what their agreement counts."""

    fewest_channels: int = 2  # with many values
    length: int = 16  # rows of a joint subsequence: longer ones hardly come back in all channels
    clip: float = 20.0  # std: one wild channel does not choose the neighbours of all
    weight: float = 0.5  # of what a channel is beside the others, the rest of what it is alone
    # Of the norm over channels: infinity would be the strongest of them, 1 their sum. A few that
    # agree weigh more than one, and many that are a little odd do not outweigh it.
    power: float = 6.0
    fresh: float = math.log(100)  # -log p: a row as odd beside the others is odd by itself


@dataclass(frozen=True, slots=True)
class SteadyConfig(Configuration):
    """Which part of a file is learned from where nobody says; a model remembers the rows."""

    share: float = 0.5  # of the rows with a value: the rest shows what came after
    least_share: float = 0.2  # of a stretch before a change, at least: else that after it is taken
    least_rows: int = 150  # of a stretch: a file of less than twice as many is not split
    # What is compared. A cycle fills several blocks, so that it comes back on both sides.
    blocks: int = 64  # of the file, at most
    block_rows: int = 16  # at least
    fewest_blocks: int = 4  # on either side of a change
    least_observed: float = 0.5  # of a block, to be compared
    clipped: float = 0.005  # of the rows at either end: one wild row is no level
    floor: float = 1e-3  # of the std of the file: smaller ones are none
    # A change: blocks before it and all after it are told apart, and it is large.
    apart: float = 0.95  # of the pairs of blocks from either side, in one order
    level: float = 1.5  # std within a block
    factor: float = 2.0  # of std or steps
    agreeing: float = 0.25  # of the channels, at least: one wild channel decides nothing
    still: float = 0.5  # of the channels: a stretch in which so many stand still says little


@dataclass(frozen=True, slots=True)
class ModelConfig(Configuration):
    """All of them, as a model carries them."""

    neighbours: NeighbourConfig = field(default_factory=NeighbourConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    counters: CounterConfig = field(default_factory=CounterConfig)
    joint: JointConfig = field(default_factory=JointConfig)
