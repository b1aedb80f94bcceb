"""Lines keep spikes and show gaps, however many rows they stand for."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from caps.plots import Line, Timeline, thin_line, thin_range


def line_of(values: np.ndarray, points: int = 100, time: np.ndarray | None = None) -> Line:
    return thin_line(values, points, Timeline(len(values), time))


def strokes(line: Line) -> list[list[int]]:
    """The rows of each stroke of the pen."""
    found: list[list[int]] = [[]]
    for row, value in zip(line.rows.tolist(), line.values, strict=True):
        if np.isnan(value):
            found.append([])
        else:
            found[-1].append(row)
    return [stroke for stroke in found if stroke]


def test_a_spike_of_one_row_in_a_million_stays() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000)
    values[[123_456, 765_432]] = 40, -40
    line = line_of(values, points=2_000)
    assert len(line.rows) <= 2_000
    assert {123_456, 765_432} <= set(line.rows.tolist())


def test_a_spike_between_scattered_missing_values_stays_on_a_stroke() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=200_000)
    values[rng.random(len(values)) < 0.3] = np.nan
    values[[99_999, 100_001]] = np.nan
    values[100_000] = 40
    assert any(100_000 in stroke and len(stroke) > 1 for stroke in strokes(line_of(values, 1000)))


def test_a_missing_value_lifts_the_pen() -> None:
    values = np.arange(8.0)
    values[[2, 5, 6]] = np.nan
    line = line_of(values)
    assert strokes(line) == [[0, 1], [3, 4], [7]]
    assert line.rows[line.lonely].tolist() == [7]


def test_infinite_values_are_not_drawn() -> None:
    assert strokes(line_of(np.array([1.0, np.inf, 2.0, 3.0]))) == [[0], [2, 3]]


def test_rows_that_were_left_out_lift_the_pen() -> None:
    minutes = np.array([0, 1, 2, 7, 8]).astype("datetime64[m]")
    assert strokes(line_of(np.ones(5), time=minutes)) == [[0, 1, 2], [3, 4]]


def test_long_gaps_show_in_a_thinned_line_with_their_exact_edges() -> None:
    values = np.sin(np.arange(100_000) / 50)
    values[40_000:60_000] = np.nan
    seconds = np.arange(100_000)
    seconds[80_000:] += 5_000
    first, second, third = strokes(line_of(values, 500, seconds.astype("datetime64[s]")))
    assert (first[-1], second[0], second[-1], third[0]) == (39_999, 60_000, 79_999, 80_000)


def test_a_series_that_was_never_observed_has_no_stroke() -> None:
    assert strokes(line_of(np.full(1000, np.nan))) == []


def test_a_part_of_the_series_keeps_its_row_numbers() -> None:
    values = np.arange(50.0)
    line = thin_line(values[20:30], 100, Timeline(50), start=20)
    assert line.rows.tolist() == list(range(20, 30))


measured = st.one_of(st.floats(-1e6, 1e6), st.just(np.nan))


@settings(max_examples=60)
@given(arrays(np.float64, st.integers(1, 400), elements=measured), st.sampled_from([10, 64, 1000]))
def test_every_line_tells_the_truth(values: np.ndarray, points: int) -> None:
    line = line_of(values, points)
    drawn = ~np.isnan(line.values)
    np.testing.assert_array_equal(line.values[drawn], values[line.rows[drawn]])
    assert (np.diff(line.rows) >= 0).all()
    known = values[~np.isnan(values)]
    if known.size:
        assert known.min() == line.values[drawn].min()
        assert known.max() == line.values[drawn].max()
    if len(values) <= points:
        whole = [row for stroke in strokes(line) for row in stroke]
        assert whole == np.flatnonzero(~np.isnan(values)).tolist()
        assert all(np.diff(stroke).max(initial=1) == 1 for stroke in strokes(line))


@pytest.mark.parametrize("points", [1000, 2000])
def test_the_number_of_points_is_bounded_whatever_is_missing(points: int) -> None:
    rng = np.random.default_rng(0)
    for share in (0.01, 0.5, 0.99):
        values = rng.normal(size=100_000)
        values[rng.random(len(values)) < share] = np.nan
        assert len(line_of(values, points).rows) <= 3 * points


@pytest.mark.parametrize(
    ("step", "written", "hover"),
    [
        ("1D", "2024-03-02", "%Y-%m-%d"),
        ("10min", "2024-03-01 00:10", "%Y-%m-%d %H:%M"),
        ("90s", "2024-03-01 00:01:30", "%Y-%m-%d %H:%M:%S"),
        ("15s", "2024-03-01 00:00:15", "%Y-%m-%d %H:%M:%S"),
        ("250ms", "2024-03-01 00:00:00.250", "%Y-%m-%d %H:%M:%S.%L"),
    ],
)
def test_moments_are_told_as_finely_as_rows_lie_apart(step: str, written: str, hover: str) -> None:
    times = pd.date_range("2024-03-01", periods=9, freq=step).to_numpy()
    timeline = Timeline(9, times)
    assert (timeline.moment(1), timeline.hover) == (written, hover)


def test_times_without_a_step_keep_their_seconds() -> None:
    times = np.array(["2024-03-01T00:00:07", "2024-03-01T09:30:00"], dtype="datetime64[ns]")
    assert Timeline(2, times).moment(0) == "2024-03-01 00:00:07"


@settings(max_examples=50)
@given(st.integers(1, 700), st.integers(2, 100))
def test_a_thinned_range_holds_every_row_of_it(rows: int, points: int) -> None:
    rng = np.random.default_rng(rows)
    lower = rng.normal(size=rows)
    upper = lower + rng.uniform(size=rows)
    found = thin_range(lower, upper, points, Timeline(rows))
    assert len(found.rows) <= points
    assert found.rows[0] == 0
    assert found.rows[-1] == rows - 1
    assert found.lower.min() == lower.min()
    assert found.upper.max() == upper.max()
    if rows <= points:
        np.testing.assert_array_equal(found.lower, lower)


def test_a_range_is_drawn_around_each_run_of_rows_that_has_one() -> None:
    lower = np.array([0.0, 1.0, np.nan, np.nan, 2.0, 3.0])
    outline = thin_range(lower, lower + 10, 100, Timeline(6)).outline
    assert outline.rows.tolist() == [0, 1, 1, 0, 0, 4, 5, 5, 4, 4]
    known = np.isfinite(outline.values)
    assert outline.values[known].tolist() == [10, 11, 1, 0, 12, 13, 3, 2]
    assert np.flatnonzero(~known).tolist() == [4, 9]
    assert len(thin_range(np.empty(0), np.empty(0), 10, Timeline(0)).outline.rows) == 0


def test_a_range_breaks_where_rows_were_left_out() -> None:
    time = np.datetime64("2024-01-01") + np.array([0, 1, 2, 3, 40, 41, 42]) * np.timedelta64(1, "h")
    found = thin_range(np.zeros(7), np.ones(7), 100, Timeline(7, time))
    assert np.flatnonzero(np.isnan(found.lower)).tolist() == [4]
    assert strokes(found.outline) == [[0, 1, 2, 3, 3, 2, 1, 0], [4, 5, 6, 6, 5, 4]]
