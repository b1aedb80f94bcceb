"""The numbers that change a score or a threshold, each with its reason."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from caps.configuration import Configuration
from caps.neighbours import NeighbourConfig


@dataclass(frozen=True, slots=True)
class ScoringConfig(Configuration):
    """How distances, logits and levels become evidence, and evidence a score."""

    WHAT: ClassVar[str] = "a configuration of scoring"

    clip: float = 100.0  # scaled values beyond are cut: ten stds or a hundred are not the same here

    # The memory.
    floor: float = 0.003  # of the std of training: closer subsequences are the same
    least_std: float = 1e-3  # of a standardiser
    # Of soft maxima; 0 would be the maximum, infinity the mean. Parts of one length look at the
    # same rows and are worth more where they agree; an anomaly has one scale, so lengths need not.
    sharpness_of_parts: float = 1.0
    sharpness_of_lengths: float = 0.4
    detector_weight: float = 0.02  # beside the memory: heard where the memory is quiet
    slack_mean: float = 0.5  # in std: what drift has to exceed to be allowed for
    slack_std: float = 1.5  # times
    itself: float = 4.0  # std below the mean: closer than two subsequences of training ever are

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

    WHAT: ClassVar[str] = "a configuration of calibration"

    levels: int = 200  # at which rates are counted
    few_peaks: int = 10  # above `tail`: enough for a fit
    many_peaks: int = 30  # few enough to be a tail
    fewest_peaks: int = 5  # below, a fit says nothing and the std of the scores stands in
    shrinkage: int = 30  # peaks that weigh as much as the belief that the tail is exponential
    steepest: float = -0.25  # bounds of the shape fitted
    heaviest: float = 0.25
    least_scale: float = 1e-3  # of a tail without peaks
    fewest_rows: int = 32


@dataclass(frozen=True, slots=True)
class ModelConfig(Configuration):
    """All of them, as a model carries them."""

    WHAT: ClassVar[str] = "a model's configuration"

    neighbours: NeighbourConfig = field(default_factory=NeighbourConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
