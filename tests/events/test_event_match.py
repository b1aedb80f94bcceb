"""An event names the subsequence of training that comes nearest to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caps.events.events import Event
from caps.events.match import Match, nearest_match
from caps.neighbours.config import NeighbourConfig
from caps.neighbours.index import FORMS, Form
from caps.neighbours.overlap import training_rows
from caps.scoring.config import ModelConfig
from caps.scoring.memory import Memory
from handmade_analysis import TRAIN, analysed, daily

EVENT = slice(1400, 1440)


def memory_of(values: np.ndarray, *, causal: bool = False) -> Memory:
    memory = Memory.fit(values, causal=causal)
    assert memory is not None
    return memory


def match_at(memory: Memory, values: np.ndarray, peak: int, **options: Any) -> Match | None:
    return nearest_match(memory, values, Event(1, peak, peak + 1, peak, 0.9), **options)


def flat(rows: int = 2000) -> np.ndarray:
    values = daily(rows)
    values[EVENT] = 5.0
    return values


def only(memory: Memory, form: str, length: int) -> Memory:
    """The same memory to which all distances are usual but for one form and length: it is loud."""
    usual = {
        part: standardiser
        if (part.form, part.length) == (form, length)
        else replace(standardiser, mean=standardiser.mean + 1000)
        for part, standardiser in memory.standardisers.items()
    }
    return replace(memory, standardisers=usual)


def compared(memory: Memory) -> list[tuple[int, Form]]:
    """The lengths and forms of which a memory knows what is usual."""
    parts = [part for part in memory.standardisers if part.what == "new"]
    return [(part.length, part.form) for part in parts if part.form is not None]


@pytest.mark.parametrize("length", [64, 256])
def test_the_nearest_subsequence_is_found_where_it_lies_in_training(length: int) -> None:
    training = np.random.default_rng(0).standard_normal(1200).cumsum() / 5
    memory = memory_of(training)
    starts = memory.bank.indices[length].starts
    start = int(starts[len(starts) // 2])
    values = np.zeros(600)
    values[100 : 100 + length] = training[start : start + length]
    peak = 100 + length // 2
    event = Event(1, peak, peak + 1, peak, 0.9)
    match = nearest_match(only(memory, FORMS[0], length), values, event)
    assert match is not None
    assert (match.start, match.row, len(match.values)) == (start, 100, length)
    assert match.distance < 1e-3
    assert match.values == pytest.approx(training[start : start + length], abs=1e-5)


def test_no_subsequence_of_training_is_its_own_match() -> None:
    training = daily(TRAIN)
    own = training_rows(0, TRAIN)
    match = match_at(memory_of(training), training, peak=600, overlap=own)
    assert match is not None
    assert abs(match.start - match.row) >= len(match.values)


@pytest.mark.parametrize("form", FORMS)
def test_the_past_is_laid_over_the_event_as_its_form_allows(form: str) -> None:
    """As it was, moved to the level here, or moved and stretched to the size here."""
    training, length = daily(TRAIN) - 5, 64
    memory = memory_of(training)
    values = 2 * (daily(400, seed=1) - 5) - 7
    match = match_at(only(memory, form, length), values, peak=200)
    assert match is not None
    here = values[match.row : match.row + length]
    past = training[match.start : match.start + length]
    level, size = {
        FORMS[0]: (past.mean(), past.std()),
        FORMS[1]: (here.mean(), past.std()),
        FORMS[2]: (here.mean(), here.std()),
    }[form]
    assert match.values.mean() == pytest.approx(level, abs=1e-4)
    assert match.values.std() == pytest.approx(size, rel=1e-4)
    assert np.corrcoef(match.values, past)[0, 1] > 0.9999
    assert abs(here.mean() - past.mean()) > 5  # or levels would tell nothing
    assert here.std() > 1.8 * past.std()


def test_where_too_little_was_observed_there_is_no_match() -> None:
    values = daily(400)
    values[100:300] = np.nan
    assert match_at(memory_of(daily(TRAIN)), values[100:300], peak=100) is None
    assert match_at(memory_of(daily(TRAIN)), values[:10], peak=5) is None


def test_causal_events_are_compared_over_short_subsequences_only() -> None:
    match = match_at(memory_of(daily(TRAIN), causal=True), flat(), peak=1420)
    assert match is not None
    assert len(match.values) <= 64


def test_an_explanation_says_where_the_past_is_nearest() -> None:
    frame = pd.DataFrame({"load": flat(), "heat": daily(2000, seed=1)})
    frame.index = pd.date_range("2024-05-01", periods=2000, freq="10min", tz="Europe/Berlin")
    analysis = analysed(frame, {"load": EVENT}, memory=True)
    (explained,) = analysis.explanations()
    nearest = explained.nearest
    assert nearest is not None
    assert nearest.channel == "load"
    assert 0 <= nearest.start < nearest.end <= TRAIN
    assert nearest.times > 2
    assert nearest.start_time == analysis.series.time[nearest.start]
    assert nearest.end_time == analysis.series.time[nearest.end - 1]
    assert len(nearest.rows) == len(nearest.values) == nearest.end - nearest.start
    assert explained.peak in nearest.rows
    assert 2 < np.nanmin(nearest.values) < np.nanmax(nearest.values) < 8  # units of the data
    local = frame.index[nearest.start].strftime("%Y-%m-%d %H:%M")
    assert f"from {local} Europe/Berlin on" in explained.reason
    assert "No subsequence of training looks like this" in explained.reason


def test_an_event_inside_training_matches_neither_itself_nor_the_rest_of_itself() -> None:
    """Two rows of one long event are alike: neither is a past of the other."""
    training = daily(TRAIN)
    event = Event(1, 300, 600, 320, 0.9)
    training[event.start : event.end] = 9 + 0.1 * daily(300)
    memory = memory_of(training)
    match = nearest_match(memory, training, event, training_rows(0, TRAIN))
    assert match is not None
    assert match.start >= event.end or match.start + len(match.values) <= event.start


@pytest.mark.parametrize("peak", [302, 450, 597])
def test_no_length_and_no_form_matches_an_event_with_itself(peak: int) -> None:
    training = daily(TRAIN) - 5
    event = Event(1, 300, 600, peak, 0.9)
    training[event.start : event.end] += 9
    memory = memory_of(training)
    assert len(compared(memory)) > 1
    for length, form in compared(memory):
        loud = only(memory, form, length)
        match = nearest_match(loud, training, event, training_rows(0, TRAIN))
        assert match is not None
        assert len(match.values) == length
        assert match.start >= event.end or match.start + length <= event.start


def test_a_match_is_a_row_of_training_also_where_its_last_rows_are_remembered() -> None:
    training = np.random.default_rng(0).standard_normal(1200).cumsum() / 5
    memory = Memory.fit(training, ModelConfig(NeighbourConfig(rows=700)))
    assert memory is not None
    values = np.zeros(300)
    values[100:164] = training[800:864]
    event = Event(1, 132, 133, 132, 0.9)
    match = nearest_match(only(memory, "raw", 64), values, event)
    assert match is not None
    assert match.start == 800
    np.testing.assert_allclose(match.values, training[800:864], atol=1e-5)


def test_times_as_far_is_told_by_what_is_usual_in_training() -> None:
    memory, values = memory_of(daily(TRAIN)), flat()
    strict = match_at(memory, values, peak=1420)
    farther = {
        part: replace(standardiser, mean=standardiser.mean + np.log(2))
        for part, standardiser in memory.standardisers.items()
    }
    lenient = match_at(replace(memory, standardisers=farther), values, peak=1420)
    assert strict is not None
    assert lenient is not None
    assert strict.times == pytest.approx(2 * lenient.times)


def test_without_the_training_part_times_of_the_match_are_those_of_training() -> None:
    frame = pd.DataFrame({"load": flat()})
    frame.index = pd.date_range("2024-05-01", periods=2000, freq="10min")
    part = analysed(frame, {"load": EVENT}, memory=True, first=1200).explain(1).nearest
    assert part is not None
    assert part.start_time == frame.index[part.start].to_datetime64()
    assert part.end_time == frame.index[part.end - 1].to_datetime64()


def test_without_times_the_match_is_told_by_its_row() -> None:
    whole = analysed(flat(), {"value": EVENT}, memory=True)
    part = analysed(flat(), {"value": EVENT}, memory=True, first=1200)
    before, after = whole.explain(1).nearest, part.explain(1).nearest
    assert before is not None
    assert after is not None
    assert (after.start, after.end) == (before.start, before.end)
    assert np.array_equal(after.rows + 1200, before.rows)
    assert after.start_time is None
    assert f"row {after.start:,} of training" in part.explain(1).reason


def test_a_model_without_memory_says_nothing_of_the_past() -> None:
    (explained,) = analysed(flat(), {"value": EVENT}).explanations()
    assert explained.nearest is None
    assert "training" not in explained.reason


def test_the_plot_draws_the_nearest_subsequence_beside_its_event() -> None:
    pytest.importorskip("matplotlib")
    from caps.plots.drawing import draw
    from caps.plots.style import LIGHT

    analysis = analysed(flat(), {"value": EVENT}, memory=True)
    nearest = analysis.nearest(1)
    assert nearest is not None
    drawn = [line for line in draw(analysis).axes[0].lines if line.get_color() == LIGHT["--past"]]
    assert len(drawn) == 1
    np.testing.assert_allclose(drawn[0].get_ydata(), nearest.values)
