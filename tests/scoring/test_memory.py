"""The memory of the own series finds what training never did, and is not fooled by itself."""

import json

import numpy as np
import pytest

from caps.errors import ArtifactError
from caps.neighbours.config import NeighbourConfig
from caps.neighbours.overlap import TrainingOverlap, overlap_by_values, training_rows
from caps.scoring.config import ModelConfig, ScoringConfig
from caps.scoring.context import NEW, ScoringContext
from caps.scoring.memory import (
    Memory,
    Part,
    combine_parts,
    combine_with_detector,
    of_rows,
    soft_maximum,
)
from caps.scoring.standardiser import Standardiser

CONFIG = ScoringConfig()
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


def recalled(
    memory: Memory,
    values: np.ndarray,
    overlap: TrainingOverlap = NEW,
    *,
    causal: bool = False,
    last: int | None = None,
) -> np.ndarray:
    """The evidence of one channel as a score asks for it."""
    column, first = values[:, None], 0 if last is None else len(values) - last
    remembered, config = len(memory.rows), memory.config.scoring
    context = ScoringContext(column, column, causal, overlap, remembered, config, first)
    return memory.evidence(context).evidence


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
    assert evidence.max() > 1.5 * elsewhere.max()


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
    assert np.median(naive) < np.median(learned) - 1  # self-matches would look all too usual


def test_causal_evidence_equals_feeding_rows_one_at_a_time(remembered: Memory) -> None:
    values = with_gaps(beats(700, seed=3))
    whole = recalled(remembered, values, causal=True)
    context = remembered.context
    for row in [0, 5, 16, 200, 420, 455, 480, 699]:
        alone = recalled(remembered, values[max(0, row - context) : row + 1], last=1, causal=True)
        np.testing.assert_allclose(alone, whole[row : row + 1], rtol=0, atol=1e-6)


def test_causal_evidence_of_training_is_not_about_itself(remembered: Memory) -> None:
    own = training_rows(0, TRAINING)
    learned = recalled(remembered, beats(TRAINING), own, last=500, causal=True)
    unseen = recalled(remembered, beats(TRAINING, seed=2), last=500, causal=True)
    naive = recalled(remembered, beats(TRAINING), last=500, causal=True)
    assert abs(np.median(learned) - np.median(unseen)) < 0.5
    assert np.median(naive) < np.median(learned) - 1


def test_causal_evidence_does_not_know_the_future(remembered: Memory) -> None:
    values = beats(500, seed=3)
    changed = values.copy()
    changed[300:] += 5
    before = recalled(remembered, values, causal=True)[:300]
    np.testing.assert_array_equal(recalled(remembered, changed, causal=True)[:300], before)


def test_evidence_is_known_exactly_where_rows_were_observed(remembered: Memory) -> None:
    values = with_gaps(beats(900, seed=4))
    for evidence in (recalled(remembered, values), recalled(remembered, values, causal=True)):
        np.testing.assert_array_equal(np.isfinite(evidence), np.isfinite(values))


@pytest.mark.parametrize("rows", [1, 15, 16, 100])
def test_short_series_are_scored_by_the_subsequences_that_fit(
    remembered: Memory, rows: int
) -> None:
    values = beats(rows, seed=6)
    assert np.isfinite(recalled(remembered, values)).all()
    assert np.isfinite(recalled(remembered, values, causal=True)).all()


def test_more_noise_from_now_on_is_not_an_anomaly_everywhere(remembered: Memory) -> None:
    values = beats(TRAINING, seed=7)
    values += 0.3 * np.random.default_rng(8).standard_normal(TRAINING)
    adapted = recalled(remembered, values)
    strict = recalled(remembered, values[: TRAINING - 1])
    assert np.median(adapted) < 0.7
    assert np.median(strict) > 1


def test_a_standardiser_is_never_narrowed_by_what_is_scored() -> None:
    standardiser = Standardiser(0.0, 1.0)
    assert standardiser.adapted(np.full(50, -3.0), CONFIG) == standardiser
    wide = standardiser.adapted(np.linspace(0, 10, 101), CONFIG)
    assert wide.mean == 4.5  # half a std of training is chance
    assert wide.std == pytest.approx(2.5 / 0.6745 / 1.5)


def test_rows_closer_than_in_training_do_not_adapt_the_standardiser() -> None:
    """Rows that were compared with themselves unnoticed must not hide the others."""
    standardiser = Standardiser(-1.5, 0.5)
    noise = np.random.default_rng(0).normal(-1.5, 0.5, 1000)
    themselves = np.full(900, -5.8)
    assert standardiser.adapted(np.concatenate([themselves, noise]), CONFIG) == standardiser


def test_a_part_too_short_or_hardly_observed_leaves_no_memory() -> None:
    assert Memory.fit(beats(40)) is None
    assert Memory.fit(np.full(500, np.nan)) is None


def test_only_the_last_rows_of_a_long_training_part_are_kept() -> None:
    values = beats(TRAINING)
    memory = Memory.fit(values, ModelConfig(NeighbourConfig(rows=500)))
    assert memory is not None
    assert (memory.first, len(memory.rows)) == (TRAINING - 500, 500)
    (span,) = overlap_of(memory, values).spans
    assert span == (TRAINING - 500, TRAINING, TRAINING - 500)
    assert np.isfinite(recalled(memory, values, training_rows(0, TRAINING))).all()


def test_a_memory_survives_its_file(remembered: Memory) -> None:
    facts = json.loads(json.dumps(remembered.to_dict()))
    again = Memory.from_dict(facts, remembered.rows, remembered.config)
    values = beats(600, seed=9)
    np.testing.assert_array_equal(recalled(again, values), recalled(remembered, values))
    np.testing.assert_array_equal(
        recalled(again, values, causal=True), recalled(remembered, values, causal=True)
    )


def test_a_damaged_memory_is_refused(remembered: Memory) -> None:
    facts = json.loads(json.dumps(remembered.to_dict()))
    for damage in (
        {"first": "soon"},
        {"standardisers": {}},
        {"standardisers": {**facts["standardisers"], "16 raw distance": [0.0, -1.0]}},
        {"more": 1},
    ):
        with pytest.raises(ArtifactError, match="fit it again"):
            Memory.from_dict({**facts, **damage}, remembered.rows, remembered.config)
    with pytest.raises(ArtifactError, match="fit it again"):
        Memory.from_dict(facts, remembered.rows[:100], remembered.config)


def test_rows_get_the_mean_of_the_subsequences_that_hold_them() -> None:
    measured = np.array([1.0, np.nan, 3.0])
    means = of_rows(measured, np.array([0, 1, 2]), 2, 4, sided=False)
    np.testing.assert_array_equal(means, [1.0, 1.0, 3.0, 3.0])


def test_the_soft_maximum_lies_between_mean_and_maximum() -> None:
    parts = [np.array([0.0, 1.0, np.nan]), np.array([3.0, 1.0, np.nan])]
    value = soft_maximum(parts, 0.6)
    assert 1.5 < value[0] < 3
    assert value[1] == pytest.approx(1)
    assert np.isnan(value[2])


def test_one_loud_length_counts_more_than_one_loud_part_of_each() -> None:
    """An anomaly has one scale, and what sees it there should agree."""
    one_length = {(64, "distance"): 3.0, (64, "density_ratio"): 3.0}
    scattered = {(64, "distance"): 3.0, (256, "density_ratio"): 3.0}
    value = {}
    for name, loud in (("one", one_length), ("scattered", scattered)):
        parts = {
            Part(length, "centred", measure): np.array([loud.get((length, measure), 0.0), np.nan])
            for length in (64, 256)
            for measure in ("distance", "density_ratio")
        }
        value[name], unknown = combine_parts(parts, 2, CONFIG)
        assert unknown == 0
    assert value["one"] > value["scattered"] > 0
    np.testing.assert_array_equal(combine_parts({}, 2, CONFIG), [0.0, 0.0])


def test_a_loud_detector_is_heard_beside_a_quiet_memory() -> None:
    memory, detector = np.array([0.0, 0.0, 3.0]), np.array([0.0, 4.0, 0.0])
    both = combine_with_detector(memory, detector, CONFIG)
    assert both[0] == pytest.approx(0)
    assert 1 < both[1] < 4
    assert 2.5 < both[2] < 3


def test_parts_are_named_for_people() -> None:
    assert Part(64, "centred", "density_ratio").key == "64 centred density_ratio"


def test_long_subsequences_count_by_the_quieter_of_their_sides() -> None:
    measured = np.array([0.0] * 4 + [5.0] * 3)
    found = of_rows(measured, np.arange(7), 4, 10, sided=True)
    np.testing.assert_allclose(found, [0.0] * 6 + [2.5] + [5.0] * 3)


def test_a_causal_row_is_told_from_the_first_whole_subsequence_on(remembered: Memory) -> None:
    evidence = recalled(remembered, beats(40, seed=6), causal=True)
    assert (evidence[:15] == 0).all()
    assert (evidence[15:] != 0).all()


def test_rows_remembered_from_later_on_are_left_out_where_they_lie() -> None:
    memory = Memory.fit(beats(TRAINING), ModelConfig(NeighbourConfig(rows=500)))
    assert memory is not None
    row = TRAINING - 300  # the 200th of those remembered
    zone = memory.exclusion_zone(memory.indices[16], np.array([row]), training_rows(0, TRAINING))
    assert zone is not None
    (first,), (last,) = zone
    assert memory.indices[16].starts[first:last].tolist() == list(range(185, 216))


def test_both_measures_are_logarithms_of_distances(remembered: Memory) -> None:
    index = remembered.indices[16]
    found = index.query(index.subsequences, index.overlapping(index.starts))
    for form, each in found.items():
        distance = each.distance + CONFIG.floor
        ratio = distance / distance[each.index]
        for measure, values in (("distance", distance), ("density_ratio", ratio)):
            standardiser = remembered.causal_standardisers[Part(16, form, measure)]  # type: ignore[arg-type]
            assert standardiser.mean == pytest.approx(np.log(values).mean(), rel=0.01, abs=5e-3)
            assert standardiser.std == pytest.approx(np.log(values).std(), rel=0.01)


def test_pieces_in_several_threads_give_the_evidence_of_the_whole(
    remembered: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = beats(1200, seed=1)
    values[EVENT] += 3
    whole = recalled(remembered, values)
    monkeypatch.setattr("caps.scoring.memory.PIECE", 100)
    monkeypatch.setattr("caps.scoring.memory.SEVERAL", 1000)
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
