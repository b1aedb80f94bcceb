"""Training rows are found wherever they stand in what is scored, whole or in part."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from caps import CAPS
from caps.neighbours.overlap import Span, TrainingOverlap, overlap_at, overlap_by_values
from incident_file import FIRST, INCIDENTS, LAST, WAYS, incident_frame, incidents_found, scored_in

TRAINING = np.random.default_rng(0).standard_normal((400, 2)).cumsum(axis=0)
NEW = TRAINING[:200] + 7.5


@pytest.fixture(scope="module")
def model() -> CAPS:
    return CAPS().fit(incident_frame().iloc[FIRST:LAST])


@pytest.mark.parametrize("way", WAYS)
def test_incidents_are_found_wherever_the_scored_data_begin(model: CAPS, way: str) -> None:
    found = model.analyze(scored_in(way, incident_frame()))
    spans = [(event.start, event.end) for event in found.events]
    assert incidents_found(way, spans) == len(INCIDENTS)
    if way != "new rows only":
        assert found.scores.overlap.spans[-1].stop == LAST - WAYS[way][0]


@pytest.mark.parametrize("way", ["from training", "without times"])
def test_an_incident_is_as_strong_wherever_the_scored_data_begin(model: CAPS, way: str) -> None:
    frame, first = incident_frame(), WAYS[way][0]
    # In powers of ten of p-values: scores near 1 hardly differ, whatever they are made of.
    whole, other = (
        -np.log2(1 - model.decision_function(each)) for each in (frame, scored_in(way, frame))
    )
    for start, end in INCIDENTS:
        there = other[start - first : end - first].max()
        assert whole[start:end].max() == pytest.approx(there, abs=0.3)


def test_a_saved_model_finds_its_training_rows_by_time(
    model: CAPS, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("saved") / "model"
    model.save(folder)
    again = CAPS.load(folder)
    found = again.analyze(incident_frame().iloc[100:3000])
    assert found.scores.overlap == TrainingOverlap((Span(0, LAST - 100, 100 - FIRST),))
    assert again.fitted_.training_time(0) == np.datetime64("2024-03-01T05:40", "ns")


def test_other_values_at_the_times_of_training_are_new_rows(model: CAPS) -> None:
    other = incident_frame(seed=1)
    assert model.analyze(other).scores.overlap == TrainingOverlap()


def test_the_same_values_at_another_time_are_new_rows(model: CAPS) -> None:
    """Two weeks that repeat to the digit are two weeks; without times nobody can tell."""
    frame = incident_frame().assign(time=lambda x: x["time"] + pd.Timedelta("365D"))
    assert model.analyze(frame).scores.overlap == TrainingOverlap()
    assert model.analyze(frame[["load"]]).scores.overlap


@given(first=st.integers(0, 300), rows=st.integers(64, 400), before=st.integers(0, 150))
def test_any_part_of_training_is_found_by_its_values(first: int, rows: int, before: int) -> None:
    part = TRAINING[first : first + rows]
    overlap = overlap_by_values(TRAINING, np.concatenate([NEW[:before], part, NEW]))
    assert overlap == TrainingOverlap((Span(before, before + len(part), first),))


def test_training_rows_out_of_order_are_found_piece_by_piece() -> None:
    values = np.concatenate([TRAINING[200:400], NEW[:50], TRAINING[:150]])
    assert overlap_by_values(TRAINING, values).spans == (Span(0, 200, 200), Span(250, 400, 0))


@pytest.mark.parametrize("change", [lambda x: x.astype(np.float32), lambda x: np.round(x, 4)])
def test_rounded_copies_are_still_the_same_rows(change: object) -> None:
    copy = np.asarray(change(TRAINING), dtype=np.float64)  # type: ignore[operator]
    (span,) = overlap_by_values(TRAINING, copy[30:]).spans
    assert span.training - span.start == 30
    assert span.stop - span.start > 320
    assert overlap_at(TRAINING, copy[30:], 30) == TrainingOverlap((Span(0, 370, 30),))


def test_known_anomalies_that_were_taken_out_of_training_do_not_hide_the_rest() -> None:
    cleaned = TRAINING.copy()
    cleaned[180:200] = np.nan
    assert overlap_by_values(cleaned, TRAINING).spans == (Span(0, 400, 0),)
    assert overlap_at(cleaned, TRAINING, 0).spans == (Span(0, 400, 0),)


def test_what_repeats_in_training_tells_nothing() -> None:
    beat = np.tile(np.sin(np.arange(40) * np.pi / 20), 20)[:, None]
    still = np.zeros((500, 1))
    assert overlap_by_values(beat, beat[40:400]) == TrainingOverlap()
    assert overlap_by_values(still, still) == TrainingOverlap()


def test_only_the_remembered_rows_of_a_long_training_part_count() -> None:
    assert overlap_at(TRAINING[100:], TRAINING, 0, first=100).spans == (Span(100, 400, 100),)
    assert overlap_by_values(TRAINING[100:], TRAINING, first=100).spans == (Span(100, 400, 100),)
    assert overlap_at(TRAINING, NEW, 500) == TrainingOverlap()


def test_subsequences_that_reach_beyond_a_span_begin_where_training_would() -> None:
    overlap = TrainingOverlap((Span(10, 20, 100),))
    ((index, training),) = overlap.touching(np.array([0, 5, 15, 20]), 8)
    assert (index.tolist(), training.tolist()) == ([1, 2], [95, 105])


def test_subsequences_beside_a_span_do_not_touch_it() -> None:
    overlap = TrainingOverlap((Span(10, 20, 100),))
    ((index, training),) = overlap.touching(np.array([2, 3, 19, 20]), 8)
    assert (index.tolist(), training.tolist()) == ([1, 2], [93, 109])


def test_gaps_say_nothing_about_whether_rows_agree() -> None:
    gappy = TRAINING.copy()
    gappy[np.arange(len(gappy)) % 3 > 0] = np.nan
    assert overlap_at(TRAINING, gappy, 0) == TrainingOverlap((Span(0, 400, 0),))
