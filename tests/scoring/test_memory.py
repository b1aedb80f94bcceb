"""The memory of the own series finds what training never did, and is not fooled by itself."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from caps.errors import ArtifactError
from caps.neighbours.config import NeighbourConfig
from caps.neighbours.index import FORMS
from caps.neighbours.overlap import TrainingOverlap, overlap_by_values, training_rows
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import NEW, ScoringContext
from caps.scoring.following import Follower
from caps.scoring.measures import Part
from caps.scoring.memory import Memory, Recall
from caps.scoring.spans import EventRules, event_spans

TRAINING = 1500
EVENT = 600


def beats(rows: int, seed: int = 0) -> np.ndarray:
    """A wave with a little noise; seeds differ in noise and phase."""
    rng = np.random.default_rng(seed)
    phase = (np.arange(rows) + 7 * seed) * 2 * np.pi / 40
    return np.sin(phase) + 0.3 * np.sin(3 * phase) + 0.05 * rng.standard_normal(rows)


def with_gaps(values: np.ndarray, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = values.copy()
    values[rng.random(len(values)) < 0.05] = np.nan
    values[400:470] = np.nan
    return values


@pytest.fixture(scope="module")
def remembered() -> Memory:
    memory = Memory.fit(beats(TRAINING))
    assert memory is not None
    return memory


@pytest.fixture(scope="module")
def live() -> Memory:
    memory = Memory.fit(beats(TRAINING), causal=True)
    assert memory is not None
    return memory


def recall(
    memory: Memory,
    values: np.ndarray,
    overlap: TrainingOverlap = NEW,
    *,
    last: int | None = None,
    follows: bool = False,
    follower: Follower | None = None,
) -> Recall:
    """What is said of one channel as a score asks for it."""
    column, first = values[:, None], 0 if last is None else len(values) - last
    context = ScoringContext(
        column,
        column,
        memory.causal,
        overlap,
        memory.config.scoring,
        first,
        follows,
        None if follower is None else {0: follower},
    )
    return memory.evidence(context)


def recalled(memory: Memory, values: np.ndarray, *others: Any, **options: Any) -> np.ndarray:
    """The evidence alone."""
    return recall(memory, values, *others, **options).evidence


def overlap_of(memory: Memory, values: np.ndarray) -> TrainingOverlap:
    training = memory.rows.astype(np.float64)[:, None]
    return overlap_by_values(training, values[:, None], memory.first)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.where(np.arange(len(x)) == EVENT, x + 3, x),
        lambda x: np.where(abs(np.arange(len(x)) - EVENT) < 30, x[::-1], x),
        lambda x: np.where(abs(np.arange(len(x)) - EVENT) < 25, 0.2, x),
        lambda x: np.where(abs(np.arange(len(x)) - EVENT) < 60, x + 1.5, x),
    ],
    ids=["spike", "reversed", "flat", "shifted"],
)
def test_what_training_never_did_stands_out(remembered: Memory, change: object) -> None:
    values = change(beats(1200, seed=1))  # type: ignore[operator]
    evidence = recalled(remembered, values)
    assert abs(int(evidence.argmax()) - EVENT) <= 64
    elsewhere = np.delete(evidence, slice(EVENT - 300, EVENT + 300))  # no subsequence reaches it
    assert evidence.max() > elsewhere.max() + 0.5


def test_training_is_compared_with_the_rest_of_itself(remembered: Memory) -> None:
    new = beats(TRAINING, seed=2)
    whole = np.concatenate([beats(TRAINING), new])
    overlap = overlap_of(remembered, whole)
    assert overlap == training_rows(0, TRAINING)
    assert overlap_of(remembered, new) == TrainingOverlap()
    learned = recalled(remembered, whole, overlap)[:TRAINING]
    naive = recalled(remembered, whole)[:TRAINING]
    unseen = recalled(remembered, new)
    assert abs(np.median(learned) - np.median(unseen)) < 0.5
    assert np.median(naive) < np.median(learned) - 0.4  # self-matches would look all too usual


def test_causal_evidence_equals_feeding_rows_one_at_a_time(live: Memory) -> None:
    values = with_gaps(beats(700, seed=3))
    whole = recalled(live, values)
    for row in [0, 5, 16, 200, 420, 455, 480, 699]:
        alone = recalled(live, values[max(0, row - live.context) : row + 1], last=1)
        np.testing.assert_allclose(alone, whole[row : row + 1], rtol=0, atol=1e-6)


def test_a_follower_goes_on_with_what_is_usual_from_one_piece_to_the_next(live: Memory) -> None:
    """More noise from some row on is followed, in a whole file as in its pieces."""
    values = with_gaps(beats(1600, seed=3))
    values[500:] += 0.3 * np.random.default_rng(8).standard_normal(1100)
    whole = recalled(live, values, follows=True)
    follower, pieces = live.follower(), []
    for first, last in pairwise([0, 1, 2, 50, 417, 460, 1000, 1001, 1600]):
        rows = values[max(0, first - live.context) : last]
        pieces.append(recalled(live, rows, last=last - first, follows=True, follower=follower))
    np.testing.assert_allclose(np.concatenate(pieces), whole, rtol=0, atol=1e-6)
    assert not np.allclose(whole[1000:], recalled(live, values)[1000:], equal_nan=True)


def test_training_rows_fed_first_do_not_make_a_live_memory_blind(live: Memory) -> None:
    """They match themselves: as near as nothing new ever is, which is no reason to expect more."""
    new = beats(900, seed=1)
    new[EVENT : EVENT + 10] += 3
    alone = recalled(live, new, follows=True)
    behind = recalled(live, np.concatenate([beats(TRAINING), new]), follows=True)[TRAINING:]
    odd = slice(EVENT, EVENT + 10)
    assert behind[odd].max() > 0.8 * alone[odd].max() > 1


def test_causal_evidence_of_training_is_not_about_itself(live: Memory) -> None:
    own = training_rows(0, TRAINING)
    learned = recalled(live, beats(TRAINING), own, last=500)
    unseen = recalled(live, beats(TRAINING, seed=2), last=500)
    naive = recalled(live, beats(TRAINING), last=500)
    assert abs(np.median(learned) - np.median(unseen)) < 0.5
    assert np.median(naive) < np.median(learned) - 0.4


def test_causal_evidence_does_not_know_the_future(live: Memory) -> None:
    values = beats(500, seed=3)
    changed = values.copy()
    changed[300:] += 5
    for follows in (False, True):
        before = recalled(live, values, follows=follows)[:300]
        np.testing.assert_array_equal(recalled(live, changed, follows=follows)[:300], before)


def test_evidence_is_known_exactly_where_rows_were_observed(
    remembered: Memory, live: Memory
) -> None:
    values = with_gaps(beats(900, seed=4))
    for memory in (remembered, live):
        evidence = recalled(memory, values)
        np.testing.assert_array_equal(np.isfinite(evidence), np.isfinite(values))


@pytest.mark.parametrize("rows", [1, 3, 15, 16, 100])
@pytest.mark.parametrize("follows", [False, True])
def test_short_series_are_scored_by_the_subsequences_that_fit(
    remembered: Memory, live: Memory, rows: int, follows: bool
) -> None:
    values = beats(rows, seed=6)
    for memory in (remembered, live):
        assert np.isfinite(recalled(memory, values, follows=follows)).all()


@pytest.mark.parametrize("causal", [False, True])
def test_more_noise_from_now_on_is_not_an_anomaly_everywhere(
    remembered: Memory, live: Memory, causal: bool
) -> None:
    memory, rows = live if causal else remembered, 3 * TRAINING
    values = beats(rows, seed=7)
    values += 0.3 * np.random.default_rng(8).standard_normal(rows)
    followed = recalled(memory, values, follows=True)[2 * TRAINING :]
    still = ModelConfig(scoring=ScoringConfig(slack_mean=1e6, slack_std=1e6))
    of_training = Memory.fit(beats(TRAINING), still, causal=causal)
    assert of_training is not None
    strict = recalled(of_training, values, follows=True)[2 * TRAINING :]
    normal = recalled(memory, beats(rows, seed=7))
    assert np.quantile(followed, 0.9) < np.quantile(normal, 0.99)
    assert np.median(followed) < np.median(strict) - 0.1


def test_a_part_too_short_or_hardly_observed_leaves_no_memory() -> None:
    assert Memory.fit(beats(9)) is None
    assert Memory.fit(np.full(500, np.nan)) is None


def test_only_the_last_rows_of_a_long_training_part_are_kept() -> None:
    values = beats(TRAINING)
    memory = Memory.fit(values, ModelConfig(NeighbourConfig(rows=500)))
    assert memory is not None
    assert (memory.first, len(memory.rows)) == (TRAINING - 500, 500)
    (span,) = overlap_of(memory, values).spans
    assert span == (TRAINING - 500, TRAINING, TRAINING - 500)
    assert np.isfinite(recalled(memory, values, training_rows(0, TRAINING))).all()


def test_a_memory_survives_its_file(remembered: Memory, live: Memory) -> None:
    for memory in (remembered, live):
        facts = json.loads(json.dumps(memory.to_dict()))
        again = Memory.from_dict(facts, memory.rows, memory.config)
        assert again.causal == memory.causal
        values = beats(600, seed=9)
        np.testing.assert_array_equal(recalled(again, values), recalled(memory, values))


def test_a_damaged_memory_is_refused(remembered: Memory) -> None:
    facts = json.loads(json.dumps(remembered.to_dict()))
    for damage in (
        {"first": "soon"},
        {"causal": True},
        {"standardisers": {}},
        {"standardisers": {**facts["standardisers"], "new 16 raw": [0.0, -1.0]}},
        {"more": 1},
    ):
        with pytest.raises(ArtifactError, match="fit it again"):
            Memory.from_dict({**facts, **damage}, remembered.rows, remembered.config)
    with pytest.raises(ArtifactError, match="fit it again"):
        Memory.from_dict(facts, remembered.rows[:100], remembered.config)


def test_parts_are_named_for_people() -> None:
    assert Part("ahead", 64, "centred", 16).key == "ahead 64 centred 16"
    assert Part("new", 64, "raw").key == "new 64 raw"


def test_a_causal_row_is_told_from_the_first_context_on(live: Memory) -> None:
    shortest = min(live.bank.indices)
    evidence = recalled(live, beats(40, seed=6))
    assert (evidence[: shortest - 1] == 0).all()
    assert (evidence[shortest:] != 0).all()


def test_rows_remembered_from_later_on_are_left_out_where_they_lie() -> None:
    memory = Memory.fit(beats(TRAINING), ModelConfig(NeighbourConfig(rows=500)))
    assert memory is not None
    row = TRAINING - 300  # the 200th of those remembered
    bank, index = memory.bank, memory.bank.indices[16]
    for beside in (0, 7):
        zone = bank.exclusion_zone(index, np.array([row]), training_rows(0, TRAINING), beside)
        assert zone is not None
        (first,), (last,) = zone
        expected = list(range(185 - beside, 216 + beside))
        assert index.starts[first:last].tolist() == expected
    assert bank.exclusion_zone(index, np.array([row]), NEW) is None


def test_newness_is_the_logarithm_of_a_distance(live: Memory) -> None:
    index, floor = live.bank.indices[16], live.config.scoring.floor
    beside = max(live.config.neighbours.horizons)
    found = index.query(index.subsequences, index.overlapping(index.starts, beside), exact=True)
    for form, distance in zip(FORMS, found.distance, strict=True):
        standardiser = live.standardisers[Part("new", 16, form)]
        measured = np.log(distance + floor)
        assert standardiser.mean == pytest.approx(np.median(measured), rel=0.01, abs=5e-3)


def test_pieces_in_several_threads_give_the_evidence_of_the_whole(
    remembered: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = beats(1200, seed=1)
    values[EVENT] += 3
    whole = recalled(remembered, values)
    monkeypatch.setattr("caps.scoring.measures.PIECE", 100)
    monkeypatch.setattr("caps.scoring.measures.SEVERAL", 1000)
    monkeypatch.setattr("caps.jobs.threads.granted", lambda: 3)
    pieces = recalled(remembered, values)
    assert np.abs(pieces - whole).mean() < 0.01  # near ties may fall otherwise


def test_a_memory_read_again_keeps_its_configuration() -> None:
    config = ModelConfig(NeighbourConfig(lengths=(16, 64)), ScoringConfig(floor=0.1))
    memory = Memory.fit(beats(TRAINING), config)
    assert memory is not None
    again = Memory.from_dict(json.loads(json.dumps(memory.to_dict())), memory.rows, config)
    assert again.config == config
    values = beats(600, seed=9)
    np.testing.assert_array_equal(recalled(again, values), recalled(memory, values))


@pytest.mark.parametrize("causal", [False, True])
def test_a_spike_leaves_no_echo(remembered: Memory, live: Memory, causal: bool) -> None:
    """A subsequence that holds one odd row is odd as a whole, but its other rows are not."""
    values = beats(1200, seed=1)
    values[EVENT] += 3
    found = recall(live if causal else remembered, values)
    assert abs(int(found.evidence.argmax()) - EVENT) <= 2
    assert found.local.argmax() == EVENT
    beside = np.r_[found.local[EVENT - 64 : EVENT - 1], found.local[EVENT + 2 : EVENT + 64]]
    assert beside.max() < 0.75 * found.local[EVENT]
    far = np.r_[found.evidence[EVENT - 64 : EVENT - 24], found.evidence[EVENT + 24 : EVENT + 64]]
    # In hindsight subsequences rank rows whatever forecasts say, but these point at the spike.
    assert far.max() < found.evidence[EVENT] - (1 if causal else 0.15)


def test_the_echo_of_a_spike_in_hindsight_is_no_part_of_its_event(remembered: Memory) -> None:
    values = beats(1200, seed=1)
    values[EVENT] += 3
    found = recall(remembered, values)
    threshold = float(recalled(remembered, beats(1200, seed=1)).max())
    whole = event_spans(found.evidence, threshold, EventRules())
    assert (whole[:, 1] - whole[:, 0]).max() > 64
    cut = event_spans(found.evidence, threshold, EventRules(), found.local).tolist()
    assert cut == [[EVENT, EVENT + 1]]


def test_longer_contexts_foretell_by_the_past_than_in_hindsight(
    remembered: Memory, live: Memory
) -> None:
    config = NeighbourConfig(context_length=16, live_context_length=64)
    assert config.longest_context(causal=False) == 16
    assert config.longest_context(causal=True) == 64
    for memory, longest in ((remembered, 64), (live, 256)):
        assert memory.config.neighbours.longest_context(causal=memory.causal) == longest
        foretelling = {part.length for part in memory.standardisers if part.horizon}
        assert foretelling == {each for each in memory.bank.indices if each <= longest}
    assert max(remembered.bank.indices) > 64  # or both would be the same
    # In hindsight longer subsequences still tell how new they are; by the past they would be late.
    assert Part("new", 256, "raw") in remembered.standardisers
    config = ModelConfig(NeighbourConfig(live_context_length=64))
    shorter = Memory.fit(beats(TRAINING), config, causal=True)
    assert shorter is not None
    assert max(part.length for part in shorter.standardisers) == 64
    assert shorter.context == 64 + max(config.neighbours.horizons) - 1 < live.context


@pytest.fixture(params=["remembered", "live"])
def memory(request: pytest.FixtureRequest) -> Memory:
    """In hindsight, and by the past alone."""
    found: Memory = request.getfixturevalue(request.param)
    return found


def standing_still() -> np.ndarray:
    values = beats(1200, seed=1)
    values[EVENT : EVENT + 300] = values[EVENT]
    return values


def test_a_channel_that_stands_still_stands_out(memory: Memory) -> None:
    evidence = recalled(memory, standing_still())
    normal = np.delete(evidence, slice(EVENT - 300, EVENT + 600))
    assert np.median(evidence[EVENT + 100 : EVENT + 300]) > np.quantile(normal, 0.99)


def test_a_channel_that_stands_still_is_never_the_strongest_evidence(memory: Memory) -> None:
    quiet = np.asarray(recall(memory, standing_still()).quiet)
    assert quiet.max() == memory.config.scoring.quiet_most
    assert quiet[EVENT + 100 : EVENT + 300].min() == memory.config.scoring.quiet_most
    assert quiet[: EVENT - 64].max() < 0.5


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "times"), [(1, 3), (25, 3), (75, 1)])
def test_anomalies_of_training_do_not_hide_new_ones(length: int, times: int, causal: bool) -> None:
    """Up to 5% of the training rows: new anomalies, and single ones of training, stand out."""
    training = beats(TRAINING)
    for row in (700, 300, 1200)[:times]:
        training[row : row + length] += 3
    memory = Memory.fit(training, causal=causal)
    assert memory is not None
    values = beats(1200, seed=1)
    values[EVENT] -= 3
    evidence = recalled(memory, values)
    usual = np.quantile(np.delete(evidence, slice(EVENT - 64, EVENT + 64)), 0.99)
    assert evidence[EVENT] > usual + 1
    if times == 1:
        own = recalled(memory, training, training_rows(0, TRAINING))
        assert own[700 : 700 + length].max() > usual + 1


def test_rows_before_anything_can_be_compared_are_no_evidence(
    remembered: Memory, live: Memory
) -> None:
    for memory in (remembered, live):
        for rows in (1, 3, 4, 7, 20):
            found = recall(memory, beats(rows, seed=6))
            assert np.abs(found.evidence).max() < 10
            assert np.abs(found.local).max() < 10
