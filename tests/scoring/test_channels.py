"""Channels: what each kind says of its rows, and how a detector and a memory are heard together."""

from dataclasses import replace

import numpy as np
import pytest

from caps.network import DetectorConfig
from caps.scoring.calibration import Calibration, calibrate
from caps.scoring.channels import (
    BinaryChannel,
    ConstantChannel,
    LearnedChannel,
    LevelRange,
    SilentChannel,
    channel_logits,
)
from caps.scoring.config import ScoringConfig
from caps.scoring.context import NEW, ScoringContext
from caps.scoring.following import Standardiser
from caps.scoring.memory import Memory, Recall
from caps.series.scaling import CLIP

CONFIG = ScoringConfig()
TRAINING = 1500


class Said:
    """A detector that says what it is told, and notes what it was given."""

    config = DetectorConfig()

    def __init__(self, logits: np.ndarray) -> None:
        self.logits = logits
        self.given = np.zeros(0)

    def row_logits(
        self, values: np.ndarray, *, causal: bool = False, last: int | None = None
    ) -> np.ndarray:
        self.given = values
        return self.logits if last is None else self.logits[len(self.logits) - last :]


def context_of(values: np.ndarray, *, causal: bool = False, first: int = 0) -> ScoringContext:
    column = values[:, None]
    return ScoringContext(column, column, causal, NEW, CONFIG, first)


def beats(rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(rows) * np.pi / 20) + 0.05 * rng.standard_normal(rows)


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return calibrate(np.random.default_rng(0).beta(1, 20, 2000))


def learned(calibration: Calibration, logits: np.ndarray) -> LearnedChannel:
    bank = np.zeros(100, dtype=np.float32)
    return LearnedChannel("load", 100, bank, calibration, Said(logits), None, None, None, None)


def test_a_loud_detector_is_heard_beside_a_memory_in_units_of_its_own_normal_rows() -> None:
    values, rows = beats(300, seed=2), np.arange(300)
    memory = Memory.fit(beats(TRAINING))
    assert memory is not None
    alone = channel_logits(None, memory, None, context_of(values), 0)
    detector = Said(np.where(rows == 200, 40.0, 8.0))
    both = channel_logits(detector, memory, Standardiser(8.0, 0.5), context_of(values), 0)
    louder = both.evidence - alone.evidence
    assert louder[200] > 1
    assert np.abs(np.delete(louder, 200)).max() < 0.3
    np.testing.assert_array_equal(both.local, alone.local)


def test_the_detector_is_given_values_as_it_has_seen_them() -> None:
    values = np.array([0.5, 30.0, -80.0, np.nan])
    detector = Said(np.zeros(4))
    channel_logits(detector, None, None, context_of(values), 0)
    np.testing.assert_array_equal(detector.given, [0.5, CLIP, -CLIP, np.nan])


@pytest.mark.parametrize("causal", [False, True])
def test_only_the_rows_asked_for_are_told(calibration: Calibration, causal: bool) -> None:
    logits = np.arange(20.0) / 4
    channel = learned(calibration, logits)
    whole = channel.evidence(context_of(np.zeros(20), causal=causal), 0).evidence
    some = channel.evidence(context_of(np.zeros(20), causal=causal, first=15), 0).evidence
    np.testing.assert_array_equal(some, whole[15:])
    assert whole[15] > whole[14]


def test_a_switch_that_was_learned_says_less_than_its_bound(calibration: Calibration) -> None:
    channel = learned(calibration, np.array([-4.0, 30.0, 35.0]))
    context = context_of(np.zeros(3))
    free, held = (
        each.evidence(context, 0).evidence for each in (channel, replace(channel, bound=3.0))
    )
    assert free[1] > 10
    assert 2 < held[1] < held[2] < 3


def test_a_level_beyond_its_range_is_heard_where_the_detector_is_quiet(
    calibration: Calibration,
) -> None:
    channel = replace(learned(calibration, np.full(40, -4.0)), level=LevelRange(-1.0, 1.0, 0.5))
    values = np.where(np.arange(40) < 20, 0.0, 3.0)
    evidence = channel.evidence(context_of(values), 0).evidence
    quiet = learned(calibration, np.full(40, -4.0)).evidence(context_of(values), 0).evidence
    np.testing.assert_array_equal(evidence[:20], quiet[:20])
    np.testing.assert_allclose(evidence[27:], 4.0)


def test_a_quiet_row_is_odd_by_itself_from_a_rare_quiet_on(calibration: Calibration) -> None:
    channel = replace(learned(calibration, np.zeros(3)), memory=Memory.fit(beats(TRAINING)))
    context, rarity = context_of(np.zeros(3)), np.array([0.5, 1.0, 1.5])
    context.logits[0] = Recall(np.zeros(3), np.full(3, -9.0), rarity * CONFIG.quiet_fresh)
    local = channel.evidence(context, 0).local
    np.testing.assert_allclose(local, rarity * calibration.rules.fresh)
    assert calibration.rules.fresh != pytest.approx(CONFIG.quiet_fresh)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e6])
def test_a_constant_counts_any_other_value_and_no_gap(value: float) -> None:
    bank = np.zeros(100, dtype=np.float32)
    channel = ConstantChannel("still", 100, bank, value, None)
    values = np.array([value, value, value + 0.5, np.nan])
    said = channel.evidence(context_of(values), 0).evidence
    np.testing.assert_allclose(said, [0.0, 0.0, np.log(101), np.nan])


def test_a_binary_channel_counts_a_third_value_only() -> None:
    bank = np.array([-1, 1] * 50, dtype=np.float32)
    values = np.array([1.0, -1.0, 0.0, 1.001, 3.0, np.nan])
    said = BinaryChannel("valve", 100, bank).evidence(context_of(values), 0).evidence
    third = np.log(101)
    np.testing.assert_allclose(said, [0.0, 0.0, third, 0.0, third, np.nan])


def test_a_silent_channel_says_nothing_of_what_was_observed() -> None:
    channel = SilentChannel("dark", 3, np.zeros(3, dtype=np.float32))
    said = channel.evidence(context_of(np.array([7.0, np.nan, 1e9]), first=1), 0).evidence
    np.testing.assert_array_equal(said, [np.nan, 0.0])
