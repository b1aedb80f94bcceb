"""The memory of the own series finds what training never did, and is not fooled by itself."""

import json

import numpy as np
import pytest

from caps.errors import ArtifactError
from caps.neighbours.index import FORMS, Bank, Form, bank_of, in_forms, summed_up, summed_up_alone
from caps.neighbours.overlap import TrainingOverlap, training_rows
from caps.scoring import memory as module
from caps.scoring.memory import Memory, Part, Usual, joined, put_together, soft_maximum, spread_out

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


def naive_nearest(
    wanted: np.ndarray, bank: np.ndarray, starts: np.ndarray, place: int | None, length: int
) -> float:
    best = np.inf
    for stretch, start in zip(bank, starts, strict=True):
        if place is None or abs(start - place) >= length:
            best = min(best, float(np.sqrt(np.mean((wanted - stretch) ** 2))))
    return best


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", [0.0, 60.0])
def test_lookups_equal_loops_over_all_stretches(form: Form, level: float) -> None:
    values, length = beats(300) + level, 64
    values[200:280] = level + 0.01 * values[200:280]  # too flat to be blown up
    bank = bank_of(values, length)
    assert bank is not None
    places = np.arange(0, 237, 17)
    stretches = summed_up(values, places, length)
    shifted = stretches[:3] + np.float32(0.1)
    stored = bank.forms.in_form(form)
    inside = bank.look(stretches, bank.around(places))[form].distance
    outside = bank.look(shifted)[form].distance
    for found, wanted, here in [(inside, stretches, places), (outside, shifted, [None] * 3)]:
        for row, place in enumerate(here):
            mine = in_forms(wanted).in_form(form)[row]
            expected = naive_nearest(mine, stored, bank.starts, place, length)
            assert found[row] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_long_stretches_are_summed_up_by_means() -> None:
    values = beats(600)
    stretches = summed_up(values, np.array([0, 7]), 256)
    assert stretches.shape == (2, 64)
    np.testing.assert_allclose(stretches[1, 3], values[19:23].mean(), rtol=1e-5)
    np.testing.assert_allclose(summed_up_alone(values[None, 7:263]), stretches[1:], rtol=1e-5)


def test_a_stretch_with_nothing_to_compare_with_is_unknown() -> None:
    starts = np.arange(3)
    bank = Bank(4, starts, np.zeros((3, 4), np.float32))
    found = bank.look(np.zeros((1, 4), np.float32), bank.around(starts[:1]))
    assert all(np.isnan(each.distance[0]) for each in found.values())


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
    evidence = remembered.evidence(values)
    assert abs(int(evidence.argmax()) - EVENT) <= 64
    elsewhere = np.delete(evidence, slice(EVENT - 300, EVENT + 300))  # no stretch reaches it
    assert evidence.max() > 1.5 * elsewhere.max()


def test_training_is_compared_with_the_rest_of_itself(remembered: Memory) -> None:
    new = beats(TRAINING, seed=2)
    whole = np.concatenate([beats(TRAINING), new])
    overlap = remembered.find_overlap(whole)
    assert overlap == training_rows(0, TRAINING)
    assert remembered.find_overlap(new) == TrainingOverlap()
    learned = remembered.evidence(whole, overlap)[:TRAINING]
    naive = remembered.evidence(whole)[:TRAINING]
    unseen = remembered.evidence(new)
    assert abs(np.median(learned) - np.median(unseen)) < 0.5
    assert np.median(naive) < np.median(learned) - 1  # self-matches would look all too usual


def test_causal_evidence_equals_feeding_rows_one_at_a_time(remembered: Memory) -> None:
    values = with_gaps(beats(700, seed=3))
    whole = remembered.causal_evidence(values)
    context = remembered.context
    for row in [0, 5, 16, 200, 420, 455, 480, 699]:
        alone = remembered.causal_evidence(values[max(0, row - context) : row + 1], last=1)
        np.testing.assert_allclose(alone, whole[row : row + 1], rtol=0, atol=1e-6)


def test_causal_evidence_of_training_is_not_about_itself(remembered: Memory) -> None:
    learned = remembered.causal_evidence(
        beats(TRAINING), last=500, overlap=training_rows(0, TRAINING)
    )
    unseen = remembered.causal_evidence(beats(TRAINING, seed=2), last=500)
    naive = remembered.causal_evidence(beats(TRAINING), last=500)
    assert abs(np.median(learned) - np.median(unseen)) < 0.5
    assert np.median(naive) < np.median(learned) - 1


def test_causal_evidence_does_not_know_the_future(remembered: Memory) -> None:
    values = beats(500, seed=3)
    changed = values.copy()
    changed[300:] += 5
    before = remembered.causal_evidence(values)[:300]
    np.testing.assert_array_equal(remembered.causal_evidence(changed)[:300], before)


def test_evidence_is_known_exactly_where_rows_were_observed(remembered: Memory) -> None:
    values = with_gaps(beats(900, seed=4))
    for evidence in (remembered.evidence(values), remembered.causal_evidence(values)):
        np.testing.assert_array_equal(np.isfinite(evidence), np.isfinite(values))


@pytest.mark.parametrize("rows", [1, 15, 16, 100])
def test_short_series_are_scored_by_the_stretches_that_fit(remembered: Memory, rows: int) -> None:
    values = beats(rows, seed=6)
    assert np.isfinite(remembered.evidence(values)).all()
    assert np.isfinite(remembered.causal_evidence(values)).all()


def test_more_noise_from_now_on_is_not_an_anomaly_everywhere(remembered: Memory) -> None:
    values = beats(TRAINING, seed=7)
    values += 0.3 * np.random.default_rng(8).standard_normal(TRAINING)
    adapted = remembered.evidence(values)
    strict = remembered.evidence(values[: TRAINING - 1])
    assert np.median(adapted) < 0.7
    assert np.median(strict) > 1


def test_usual_is_never_narrowed_by_what_is_scored() -> None:
    usual = Usual(0.0, 1.0)
    assert usual.widened(np.full(50, -3.0)) == usual
    wide = usual.widened(np.linspace(0, 10, 101))
    assert wide.mean == 4.5  # half a spread of training is chance
    assert wide.spread == pytest.approx(2.5 / 0.6745 / 1.5)


def test_rows_closer_than_usual_do_not_widen_what_is_usual() -> None:
    """Rows that were compared with themselves unnoticed must not hide the others."""
    usual = Usual(-1.5, 0.5)
    noise = np.random.default_rng(0).normal(-1.5, 0.5, 1000)
    themselves = np.full(900, -5.8)
    assert usual.widened(np.concatenate([themselves, noise])) == usual


def test_a_part_too_short_or_hardly_observed_leaves_no_memory() -> None:
    assert Memory.fit(beats(40)) is None
    assert Memory.fit(np.full(500, np.nan)) is None


def test_only_the_last_rows_of_a_long_training_part_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROWS", 500)
    values = beats(TRAINING)
    memory = Memory.fit(values)
    assert memory is not None
    assert (memory.first, len(memory.rows)) == (TRAINING - 500, 500)
    (span,) = memory.find_overlap(values).spans
    assert span == (TRAINING - 500, TRAINING, TRAINING - 500)
    assert np.isfinite(memory.evidence(values, training_rows(0, TRAINING))).all()


def test_a_memory_survives_its_file(remembered: Memory) -> None:
    facts = json.loads(json.dumps(remembered.to_dict()))
    again = Memory.from_dict(facts, remembered.rows)
    values = beats(600, seed=9)
    np.testing.assert_array_equal(again.evidence(values), remembered.evidence(values))
    np.testing.assert_array_equal(again.causal_evidence(values), remembered.causal_evidence(values))


def test_a_damaged_memory_is_refused(remembered: Memory) -> None:
    facts = json.loads(json.dumps(remembered.to_dict()))
    for damage in (
        {"first": "soon"},
        {"usual": {}},
        {"usual": {**facts["usual"], "16 as-is distance": [0.0, -1.0]}},
        {"more": 1},
    ):
        with pytest.raises(ArtifactError, match="fit it again"):
            Memory.from_dict({**facts, **damage}, remembered.rows)
    with pytest.raises(ArtifactError, match="fit it again"):
        Memory.from_dict(facts, remembered.rows[:100])


def test_rows_get_the_mean_of_the_stretches_that_hold_them() -> None:
    told = np.array([1.0, np.nan, 3.0])
    spread = spread_out(told, np.array([0, 1, 2]), 2, 4)
    np.testing.assert_array_equal(spread, [1.0, 1.0, 3.0, 3.0])


def test_the_soft_maximum_lies_between_mean_and_maximum() -> None:
    parts = [np.array([0.0, 1.0, np.nan]), np.array([3.0, 1.0, np.nan])]
    value = soft_maximum(parts, 0.6)
    assert 1.5 < value[0] < 3
    assert value[1] == pytest.approx(1)
    assert np.isnan(value[2])


def test_one_loud_length_counts_more_than_one_loud_part_of_each() -> None:
    """An anomaly has one scale, and what sees it there should agree."""
    one_length = {(64, "distance"): 3.0, (64, "relative"): 3.0}
    scattered = {(64, "distance"): 3.0, (256, "relative"): 3.0}
    value = {}
    for name, loud in (("one", one_length), ("scattered", scattered)):
        parts = {
            Part(length, "centred", measure): np.array([loud.get((length, measure), 0.0), np.nan])
            for length in (64, 256)
            for measure in ("distance", "relative")
        }
        value[name], unknown = put_together(parts, 2)
        assert unknown == 0
    assert value["one"] > value["scattered"] > 0
    np.testing.assert_array_equal(put_together({}, 2), [0.0, 0.0])


def test_a_loud_detector_is_heard_beside_a_quiet_memory() -> None:
    memory, detector = np.array([0.0, 0.0, 3.0]), np.array([0.0, 4.0, 0.0])
    both = joined(memory, detector)
    assert both[0] == pytest.approx(0)
    assert 1 < both[1] < 4
    assert 2.5 < both[2] < 3


def test_parts_are_named_for_people() -> None:
    assert Part(64, "centred", "relative").key == "64 centred relative"
